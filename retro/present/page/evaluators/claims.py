"""An agent's own claims on the page of a review: forecasts, stated confidence, and the alarm when it misleads."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from retro.figures import DASH, count, percent
from retro.present.page.blocks import Cell, Column, Diagrams, Notes, Prose, Section, Table, TableRow
from retro.present.page.diagrams import RangeDiagram, RangeRow, ReliabilityDiagram, ReliabilityPoint
from retro.present.page.labels import reason_text, short_name
from retro.report.evaluators.claims import ANY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from retro.figures import MoneyStyle
    from retro.present.page.blocks import Block
    from retro.report import CalibrationChange, Evaluators, ForecastChange
    from retro.report.evaluators.claims import ReliabilityBin

__all__ = [
    "claims_section",
    "confidence_alarms",
    "drift_section",
    "key_name",
    "learning_section",
    "points_of",
    "residual",
    "shadows_section",
    "tiers_section",
]

_SHOWN: Final = 12
_DRAWN: Final = 4
_DRAWN_FROM: Final = 30


def key_name(category: str, regime: str) -> str:
    """What a row speaks of: price, price in trending."""
    name = short_name(category)
    return name if regime == ANY else f"{name} in {short_name(regime)}"


def residual(value: float | None, *, signed: bool = False) -> str:
    """A figure in the unit of its claims, four digits."""
    return DASH if value is None else f"{value:{'+' if signed else ''}.4g}"


def points_of(bins: Iterable[ReliabilityBin]) -> tuple[ReliabilityPoint, ...]:
    """Bins of stated confidence as points of a diagram."""
    return tuple(ReliabilityPoint(row.stated, row.right / row.n, row.n) for row in bins)


def confidence_alarms(part: Evaluators | None) -> Iterator[str]:
    """One line a key whose stated confidence misleads; what a mail says of it."""
    for row in () if part is None else part.calibration:
        if row.alarm and row.ece is not None and _speaks(row, part):
            used = ", even as its past corrects it" if row.calibrated else ""
            yield (
                f"Alarm: confidence stated in {key_name(row.category, row.regime)} is off by {percent(row.ece)}"
                f" on average{used}: it says {percent(row.stated)}, {percent(row.right)} came true (n {row.n:,})."
            )


def _speaks(row: CalibrationChange, part: Evaluators | None) -> bool:
    """A regime's alarm is told where that of its whole category is not: one line for one fault."""
    pooled = (
        {other.category for other in part.calibration if other.alarm and other.regime == ANY} if part else ()
    )
    return row.regime == ANY or row.category not in pooled


def claims_section(part: Evaluators | None) -> Section | None:
    """What changed in the period: forecasts by category and regime, then stated confidence. None where nothing did."""
    if part is None:
        return None
    blocks: list[Block] = []
    if part.predictions:
        blocks.append(_forecasts(part.predictions))
        drawn = tuple(_residuals(part.predictions))
        if drawn:
            blocks.append(Diagrams(drawn, _RESIDUALS))
    if part.calibration:
        blocks.append(_calibration(part.calibration))
        reliability = tuple(_reliability(part.calibration))
        if reliability:
            blocks.append(Diagrams(reliability))
    if not blocks:
        return None
    resolved = sum(row.resolved for row in part.predictions if row.regime == ANY)
    blocks.append(Prose(_ADVICE, tone="faint"))
    return Section(
        "evaluators", "What its own claims were worth", tuple(blocks), f"{count(resolved, 'claim')} resolved"
    )


_RESIDUALS: Final = "Dot: what came less what was forecast, on average. Bar: the interval that its past puts around the next forecast."
_ADVICE: Final = "`retro predictions correct` and `retro calibration of` say what to make of the next claim; nothing is changed for the agent."


_TIERS: Final = {"use_T0": "no tier is worth its price", "shift_to_T1": "T1 is enough", "keep": "T2 earns its price", "insufficient": "too few to say"}  # fmt: skip


def tiers_section(part: Evaluators | None) -> Section | None:
    """Verdicts on tiers of inference, a line each; None without any."""
    if part is None or not part.tiers:
        return None
    lines = []
    for row in part.tiers[:_SHOWN]:
        name = key_name(row.category, row.difficulty or ANY)
        before = "" if row.kind_before in (None, row.kind) else f" (before: {_TIERS[row.kind_before]})"
        lines.append(f"{name}: {_TIERS[row.kind]}{before}. {row.reason[:1].upper()}{row.reason[1:]}.")
    omitted = len(part.tiers) - len(lines)
    return Section("tiers", "Its tiers of inference", (Notes(tuple(lines), omitted),))


def learning_section(part: Evaluators | None) -> Section | None:
    """Whether it still learns, a line each: what alarms, and what the period changed; None where neither is so."""
    row = None if part is None else part.learning
    if row is None:
        return None
    lines = []
    if row.alarm and row.score is not None:
        run = f"Worse than the week before for {count(row.negative_weeks, 'week')} in a row"
        lines.append(f"{run}: score {row.score:+.2f}, ageing x {row.ageing_multiplier:.2f}.")
    if row.competence is not None and row.competence.decisions is not None:
        lines.append(
            f"Competent since decision {row.competence.decisions:,}: of the trailing 100 judged forecasts 70 % were right."
        )
    if row.half_life_days != row.half_life_before and row.half_life_days is not None:
        before = "" if row.half_life_before is None else f" (before: {row.half_life_before:.0f})"
        lines.append(f"Half of its rules live no longer than {row.half_life_days:.0f} days{before}.")
    if not lines:
        return None
    note = Prose("`retro learning` says more; nothing acts on these numbers.", tone="faint")
    return Section("learning", "Whether it still learns", (Notes(tuple(lines)), note))


_SHADOWS: Final = {"insufficient": "too few days to say", "promote": "PROMOTE", "less_bad": "loses less", "reject": "REJECT", "keep_running": "keep running"}  # fmt: skip


def shadows_section(part: Evaluators | None, money: MoneyStyle) -> Section | None:
    """Shadows beside the real strategy, a line each; None without any."""
    if part is None or not part.shadows:
        return None
    lines = []
    for row in part.shadows[:_SHOWN]:
        rule = "" if row.rule is None else f" ({row.rule})"
        text = f"{short_name(row.name)}{rule}: {_SHADOWS[row.verdict]}. {money.change(row.shadow)} against"
        text += f" {money.change(row.real)} over {count(row.paired, 'day')} that differ, of {row.days:,}"
        lines.append(f"{text}.")
    note = Prose("Never applied: what it would have made, on the same days.", tone="faint")
    omitted = len(part.shadows) - len(lines)
    return Section("shadows", "Shadows", (Notes(tuple(lines), omitted), note))


def drift_section(part: Evaluators | None, money: MoneyStyle) -> Section | None:
    """Why live was not the backtest, in a line; None without a backtest."""
    drift = None if part is None else part.drift
    if drift is None:
        return None
    name = short_name(drift.agent)
    if drift.difference is None:
        text = f"Against {name}: not known; {reason_text(drift.reasons, 'difference')}."
    else:
        alone = f"{drift.live_only:,} by live alone, {drift.backtest_only:,} by the backtest alone"
        text = f"Live less backtest ({name}): {money.change(drift.difference)}; {count(drift.matched, 'pair')}, {alone}."
        if drift.line is not None:
            text += f" Largest line: {drift.line.replace('_', ' ')}, {money.change(drift.amount)}."
    return Section("drift", "Live and its backtest", (Notes((text,)),))


def _forecasts(rows: Sequence[ForecastChange]) -> Table:
    columns = (
        Column("Forecasts", right=False, cut=14),
        Column("n"),
        Column("New"),
        Column("Right", spare=2),
        Column("Bias"),
        Column("Before", spare=3),
        Column("Error"),
        Column("Corrected"),
    )
    cells = [
        TableRow(
            (
                Cell(key_name(row.category, row.regime), "strong" if row.regime == ANY else "plain"),
                Cell(f"{row.n:,}"),
                Cell(f"+{row.resolved:,}"),
                Cell(percent(row.accuracy)),
                Cell(residual(row.bias, signed=True)),
                Cell(residual(row.bias_before, signed=True)),
                Cell(residual(row.mean_abs)),
                Cell(residual(row.mean_abs_corrected)),
            ),
            faint=not row.active,
        )
        for row in rows
    ]
    note = (
        "Bias: actual less forecast, mean of the newest, and what it was before the period. Error: mean size of it, over"
        " the life; corrected: after what its past said when each was made."
    )
    return Table(columns, tuple(cells[:_SHOWN]), max(0, len(cells) - _SHOWN), note)


def _residuals(rows: Sequence[ForecastChange]) -> Iterator[RangeDiagram]:
    """Each category by regime, where it has regimes: claims of one category share a unit, others do not."""
    drawn = 0
    for category, group in groupby(rows, key=lambda row: row.category):
        of_category = [row for row in group if row.bias is not None][:_SHOWN]
        if len(of_category) > 1 and drawn < _DRAWN:
            drawn += 1
            yield RangeDiagram(
                f"{short_name(category)}: bias by regime",
                tuple(
                    RangeRow(
                        "all regimes" if row.regime == ANY else short_name(row.regime),
                        row.bias,
                        row.low,
                        row.high,
                        f"{residual(row.bias, signed=True)}, n {row.n:,}",
                    )
                    for row in of_category
                ),
            )


def _calibration(rows: Sequence[CalibrationChange]) -> Table:
    columns = (
        Column("Stated confidence", right=False, cut=14),
        Column("n"),
        Column("New"),
        Column("Stated"),
        Column("Came true"),
        Column("Off by"),
        Column("Before", spare=2),
        Column("", right=False),
    )
    cells = [
        TableRow(
            (
                Cell(key_name(row.category, row.regime), "strong" if row.regime == ANY else "plain"),
                Cell(f"{row.n:,}"),
                Cell(f"+{row.resolved:,}"),
                Cell(percent(row.stated)),
                Cell(percent(row.right)),
                Cell(percent(row.ece, 1)),
                Cell(percent(row.ece_before, 1)),
                Cell(
                    "alarm" if row.alarm else "corrected" if row.calibrated else "as stated",
                    "warn" if row.alarm else "plain",
                ),
            ),
            faint=not row.active,
        )
        for row in rows
    ]
    note = "Off by: mean distance of confidence from the share that came true, as its past corrects it once 30 were corrected."
    return Table(columns, tuple(cells[:_SHOWN]), max(0, len(cells) - _SHOWN), note)


def _reliability(rows: Sequence[CalibrationChange]) -> Iterator[ReliabilityDiagram]:
    shown = [row for row in rows if row.n >= _DRAWN_FROM and (row.regime == ANY or row.alarm)]
    for row in shown[:_DRAWN]:
        title = f"{key_name(row.category, row.regime)}: stated and come true, n {row.n:,}"
        yield ReliabilityDiagram(title, points_of(row.bins))
