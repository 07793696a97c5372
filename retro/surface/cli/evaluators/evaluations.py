"""`retro evaluations`: what was seen of an agent's claims, epoch by epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.surface.cli.context import call
from retro.surface.cli.memory import AgentName, AsOf, instant_of
from retro.surface.cli.pages import PageFormat, PageOutput, answer

if TYPE_CHECKING:
    import typer

    from retro.present.page.blocks import Page

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("evaluations")(evaluations)


def evaluations(
    agent: AgentName = None, as_of: AsOf = None, form: PageFormat = "text", output: PageOutput = None
) -> None:
    """List what was seen of its forecasts and its confidence in each epoch; statistics that add up to those of its life.

    Example: retro evaluations --agent sample
    """
    from retro.app.questions.evaluators.evaluations import EvaluationsQuestion, of_the_life
    from retro.app.questions.evaluators.evaluations import evaluations as evaluations_of
    from retro.present.page.evaluators.forecasts import EpochLine, page_of_evaluations

    record = call.agent(agent)
    question = EvaluationsQuestion(call.store, record.name, call.settings(record), instant_of(as_of))
    rows = evaluations_of(question)

    def page() -> Page:
        epochs = [EpochLine(row.start[:10], row.evaluator, row.key, row.n, row.statistics) for row in rows]
        life = of_the_life(question)
        whole = [EpochLine("", row.evaluator, row.key, row.n, row.statistics) for row in life]
        return page_of_evaluations(record.name, epochs + whole)

    answer(
        [row.model_dump(mode="json", by_alias=True) for row in rows],
        page,
        form,
        output,
        "" if rows else "no prediction has been resolved yet; docs/journal.md says how to tell of one",
    )
