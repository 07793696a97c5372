"""An agent's own claims as pages of their own: how far off forecasts were, what stated confidence was worth, epoch by epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from retro.figures import DASH, count, percent, ratio
from retro.present.page.blocks import (
    Cell,
    Column,
    Diagrams,
    Headline,
    Page,
    Section,
    Table,
    TableRow,
    page_of_blocks,
)
from retro.present.page.diagrams import ReliabilityDiagram
from retro.present.page.evaluators.claims import key_name, points_of
from retro.present.page.labels import reason_text
from retro.report.evaluators.claims import ANY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.blocks import Block
    from retro.report.evaluators.claims import CalibrationRow, ForecastRow, HindsightForecast
    from retro.report.evaluators.summaries import EvaluationStatistics

__all__ = [
    "EpochLine",
    "page_of_calibration",
    "page_of_evaluations",
    "page_of_forecasts",
    "page_of_hindsight",
]

_DRAWN: Final = 12


def page_of_forecasts(agent: str, rows: Sequence[ForecastRow]) -> Page:
    """How far off its forecasts were, by category and regime, and what the correction made of them."""
    columns = (
        Column("Category", right=False, cut=10),
        Column("Regime", right=False, cut=8),
        Column("n"),
        Column("Free", spare=3),
        Column("Right"),
        Column("Bias"),
        Column("Error"),
        Column("then"),
        Column("Held", spare=1),
        Column("then", spare=2),
    )
    cells = [
        (
            Cell(row.category, "strong"),
            Cell(row.regime),
            Cell(f"{row.n:,}"),
            Cell(f"{row.effective_n:,}"),
            Cell(percent(row.accuracy)),
            _figure(row.bias, "+"),
            _figure(row.mean_abs),
            _figure(row.mean_abs_corrected),
            Cell(percent(row.coverage)),
            Cell(percent(row.coverage_corrected)),
        )
        for row in rows
    ]
    note = (
        "Free: how many do not overlap in time. Bias: actual less forecast, mean of the newest. Error: mean size of it."
        " Held: intervals that held what came. Then: with the correction in force when each was made."
    )
    pooled = [row for row in rows if row.regime == ANY]
    if late := sum(row.after_the_fact for row in pooled):
        note += f" {count(late, 'prediction')} made after the fact, and held against nothing."
    result = count(sum(row.n for row in pooled), "forecast")
    table = Table.of(columns, cells, note)
    return page_of_blocks("Forecasts", agent, "how far off they were", result, (table,))


def _figure(value: float | None, sign: str = "") -> Cell:
    return Cell(DASH if value is None else f"{value:{sign}.2g}")


def page_of_hindsight(agent: str, rows: Sequence[HindsightForecast]) -> Page:
    """How optimistic forecasts of whole positions were, once these had closed."""
    columns = (
        Column("Kind", right=False),
        Column("Regime", right=False, cut=8),
        Column("Held", right=False),
        Column("n"),
        Column("Forecast"),
        Column("Came"),
        Column("Too high"),
        Column("95 %", right=False),
        Column("Of it"),
        Column("Best", spare=1),
    )
    cells = [
        (
            Cell(row.kind, "strong"),
            Cell(row.regime),
            Cell(row.horizon),
            Cell(f"{row.n:,}"),
            Cell(_share(row.predicted)),
            Cell(_share(row.realised)),
            Cell(_share(row.bias)),
            Cell(DASH if row.interval is None else f"{_share(row.interval[0])} .. {_share(row.interval[1])}"),
            Cell(percent(row.relative_bias)),
            Cell(_share(row.best_exit)),
        )
        for row in rows
    ]
    note = (
        "Means in per cent of what was put in. Held: the last checkpoint reached. Too high: forecast less what came; of it:"
        " the same as a share of the forecasts, from 10 on. Best: the best exit, which nobody can forecast."
    )
    table = Table.of(columns, cells, note)
    subtitle = "forecasts of whole positions, once these had closed"
    return page_of_blocks("Hindsight", agent, subtitle, count(len(rows), "row"), (table,))


def _share(value: float | None) -> str:
    return DASH if value is None else f"{100 * value:+.1f}"


def page_of_calibration(agent: str, rows: Sequence[CalibrationRow]) -> Page:
    """Stated confidence against what came true, a diagram a key with its curve."""
    alarms = tuple(
        f"Alarm: confidence stated in {key_name(row.category, row.regime)} misleads (n {row.n:,})."
        for row in rows
        if row.alarm
    )
    drawn = tuple(
        ReliabilityDiagram(
            f"{key_name(row.category, row.regime)}, n {row.n:,}",
            points_of(row.bins),
            tuple((point.p, point.q) for point in row.curve),
        )
        for row in rows[:_DRAWN]
    )
    blocks: tuple[Block, ...] = (_confidences(rows), *((Diagrams(drawn),) if drawn else ()))
    head = Headline(
        "Calibration",
        agent,
        "what its stated confidence was worth",
        *_widest(rows),
        "plain",
        (),
        alarms,
    )
    return Page(head, (Section("calibration", "Stated and come true", blocks),))


def _confidences(rows: Sequence[CalibrationRow]) -> Table:
    columns = (
        Column("Category", right=False, cut=10),
        Column("Regime", right=False, cut=8),
        Column("n"),
        Column("Off by"),
        Column("after"),
        Column("95 %", right=False),
        Column("Brier", spare=1),
        Column("after", spare=2),
        Column("", right=False),
    )
    cells = tuple(
        TableRow(
            (
                Cell(row.category, "strong"),
                Cell(row.regime),
                Cell(f"{row.n:,}"),
                Cell(ratio(row.ece_raw, 3)),
                Cell(ratio(row.ece_calibrated, 3)),
                Cell(DASH if row.ece_band is None else f"{row.ece_band[0]:.2f} .. {row.ece_band[1]:.2f}"),
                Cell(ratio(row.brier_raw, 3)),
                Cell(ratio(row.brier_calibrated, 3)),
                Cell("alarm" if row.alarm else "", "warn" if row.alarm else "plain"),
            ),
            faint=not row.active,
        )
        for row in rows
    )
    note = (
        "Off by: mean distance of stated confidence from the share that was right. After: by the curve in force then."
        " 95 %: of the one in use (after, once it rests on 30)."
    )
    return Table(columns, cells, note=note)


def _widest(rows: Sequence[CalibrationRow]) -> tuple[str, str]:
    """What the confidence of the category with most samples was worth, in a few words, and what that rests on."""
    row = max(rows, key=lambda each: each.n, default=None)
    if row is None:
        return "Nothing stated", ""
    error, how = (row.ece_calibrated, "corrected") if row.calibrated else (row.ece_raw, "as stated")
    few = reason_text(row.reasons, "alarm")
    title = "Too little is known" if few else f"Off by {percent(error)} {how}"
    name = key_name(row.category, row.regime)
    return (
        title,
        f"{name}: {few or f'n {row.n:,}'}. Each claim is judged by what had resolved before it was made.",
    )


class EpochLine(NamedTuple):
    """What one evaluator saw of one key (category and regime) in the `epoch` that begins on that day; "": in all of them."""

    epoch: str
    evaluator: str
    key: tuple[str, str]
    n: int
    statistics: EvaluationStatistics


def page_of_evaluations(agent: str, lines: Sequence[EpochLine]) -> Page:
    """What was seen of its claims in each epoch, and in its whole life."""
    columns = (
        Column("Epoch", right=False),
        Column("Of", right=False),
        Column("Category", right=False, cut=8),
        Column("Regime", right=False, cut=8),
        Column("n"),
        Column("Right"),
        Column("Mean"),
        Column("Spread"),
    )
    note = (
        "Mean and spread of what came less what was forecast; of calibration, of the squared distance of confidence from"
        " outcome. Epochs are named by their first day; the last one may still run."
    )
    epochs = {row.epoch for row in lines if row.epoch}
    table = Table.of(columns, map(_epoch_cells, lines), note)
    return page_of_blocks(
        "Evaluations", agent, "what was seen of its claims", count(len(epochs), "epoch"), (table,)
    )


def _epoch_cells(line: EpochLine) -> tuple[Cell, ...]:
    judged, m2 = line.statistics.judged, line.statistics.m2
    values, mean = line.statistics.count, line.statistics.mean
    spread = None if m2 is None or values < 2 else (m2 / (values - 1)) ** 0.5
    return (
        Cell(line.epoch) if line.epoch else Cell("all", "strong"),
        Cell(line.evaluator),
        Cell(line.key[0]),
        Cell(line.key[1]),
        Cell(f"{line.n:,}"),
        Cell(percent(line.statistics.right / judged if judged else None)),
        Cell(DASH if mean is None else f"{mean:+.2g}"),
        Cell(DASH if spread is None else f"{spread:.2g}"),
    )
