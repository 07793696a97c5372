"""`retro tiers`: what the tiers of inference were worth, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.surface.cli.context import call
from retro.surface.cli.memory import AgentName, AsOf, instant_of
from retro.surface.cli.pages import PageFormat, PageOutput, answer

if TYPE_CHECKING:
    import typer


__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("tiers")(tiers)


def tiers(
    agent: AgentName = None, as_of: AsOf = None, form: PageFormat = "text", output: PageOutput = None
) -> None:
    """How often each tier of inference was right, for what price, and which questions another tier could take.

    A prediction has the tier of the decision it names; costs of inference name theirs. Nothing is changed by it.

    Example: retro tiers --agent sample
    """
    from retro.app.questions.evaluators.tiers import TierQuestion
    from retro.app.questions.evaluators.tiers import tiers as tiers_of
    from retro.present.page.evaluators.decisions import page_of_tiers

    record = call.agent(agent)
    settings = call.settings(record)
    report = tiers_of(TierQuestion(call.store, record.name, settings, settings.tiers, instant_of(as_of)))
    answer(
        report.model_dump(mode="json"),
        lambda: page_of_tiers(record.name, report, settings.base_currency),
        form,
        output,
        "" if report.rows else f"{report.reasons['rows']}; docs/journal.md says how to tell of one",
    )
