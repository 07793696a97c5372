"""`retro evaluations`: what was seen of an agent's claims, epoch by epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.surface.cli.context import call
from retro.surface.cli.memory import AgentName, AsOf, instant_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer

    from retro.evaluate.claims.summaries import KeySummary
    from retro.present.page.blocks import Cell
    from retro.report.evaluators.summaries import EvaluationStatistics, EvaluationSummary

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("evaluations")(evaluations)


def evaluations(agent: AgentName = None, as_of: AsOf = None) -> None:
    """List what was seen of its forecasts and its confidence in each epoch; statistics that add up to those of its life.

    Example: retro evaluations --agent sample
    """
    from retro.app.questions.evaluators.evaluations import EvaluationsQuestion, of_the_life
    from retro.app.questions.evaluators.evaluations import evaluations as evaluations_of

    record = call.agent(agent)
    question = EvaluationsQuestion(call.store, record.name, call.settings(record), instant_of(as_of))
    rows = evaluations_of(question)
    if call.json:
        call.out_json([row.model_dump(mode="json", by_alias=True) for row in rows])
    elif rows:
        _print(rows, of_the_life(question))
    else:
        call.say("no prediction has been resolved yet; docs/journal.md says how to tell of one")


def _print(rows: Sequence[EvaluationSummary], life: Sequence[KeySummary]) -> None:
    from retro.present.page.blocks import Cell, Column
    from retro.surface.cli.screen import print_table

    columns = [
        Column("Epoch", right=False),
        Column("Of", right=False),
        Column("Category", right=False, cut=8),
        Column("Regime", right=False, cut=8),
        Column("n"),
        Column("Right"),
        Column("Mean"),
        Column("Spread"),
    ]
    cells = [
        [Cell(row.start[:10]), *_cells(row.evaluator, row.key, row.n, row.statistics)] for row in rows
    ] + [[Cell("all", "strong"), *_cells(row.evaluator, row.key, row.n, row.statistics)] for row in life]
    note = (
        "Mean and spread of what came less what was forecast; of calibration, of the squared distance of confidence from"
        " outcome. Epochs are named by their first day; the last one may still run."
    )
    print_table(columns, cells, note)


def _cells(evaluator: str, key: tuple[str, str], n: int, statistics: EvaluationStatistics) -> list[Cell]:
    from retro.figures import DASH, percent
    from retro.present.page.blocks import Cell

    judged, m2 = statistics.judged, statistics.m2
    spread = None if m2 is None or statistics.count < 2 else (m2 / (statistics.count - 1)) ** 0.5
    return [
        Cell(evaluator),
        Cell(key[0]),
        Cell(key[1]),
        Cell(f"{n:,}"),
        Cell(percent(statistics.right / judged if judged else None)),
        Cell(DASH if statistics.mean is None else f"{statistics.mean:+.2g}"),
        Cell(DASH if spread is None else f"{spread:.2g}"),
    ]
