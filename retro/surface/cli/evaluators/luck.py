"""`retro luck`: what choosing the moment was worth."""

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
    parent.command("luck")(luck)


def luck(
    agent: AgentName = None, as_of: AsOf = None, form: PageFormat = "text", output: PageOutput = None
) -> None:
    """What choosing the moment was worth: each closed spot and perp position beside 999 twins at random moments.

    A twin has its side, size, holding time and fee rate, on the same instrument's known marks: what twins make on
    average is luck, being there; the rest is selection, choosing when.

    Example: retro luck --agent sample
    """
    from retro.app.questions.evaluators.luck import LuckQuestion
    from retro.app.questions.evaluators.luck import luck as luck_of
    from retro.present.page.evaluators.answers import page_of_luck
    from retro.safe import clean

    record = call.agent(agent)
    settings = call.settings(record)
    report = luck_of(LuckQuestion(call.store, record.name, settings, instant_of(as_of)))
    nothing = "no spot or perp position that is believed has been closed yet (`retro positions` marks implausible ones)"
    answer(
        report.model_dump(mode="json"),
        lambda: page_of_luck(record.name, clean(report), settings.base_currency),
        form,
        output,
        "" if report.positions else nothing,
    )
