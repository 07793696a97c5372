"""`retro shadows`: strategies that run beside the real one."""

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
    parent.command("shadows")(shadows)


def shadows(
    agent: AgentName = None, as_of: AsOf = None, form: PageFormat = "text", output: PageOutput = None
) -> None:
    """What-if rules run forward beside the real trades: shadows.

    Those of [[shadow]] tables from their first day on, and those an agent tells of; each is judged after its days, beside
    the real result of the same days, and never applied.

    Example: retro shadows --agent sample
    """
    from retro.app.questions.evaluators.shadows import ShadowQuestion
    from retro.app.questions.evaluators.shadows import shadows as rows_of
    from retro.present.page.evaluators.decisions import page_of_shadows

    record = call.agent(agent)
    settings = call.settings(record)
    rows = rows_of(ShadowQuestion(call.store, record.name, settings, instant_of(as_of)))
    answer(
        [row.model_dump(mode="json") for row in rows],
        lambda: page_of_shadows(record.name, rows, settings.base_currency),
        form,
        output,
        "" if rows else "no shadow runs: write a [[shadow]] table, or tell `shadow` events (docs/journal.md)",
    )
