"""What the evaluators answer, as pages of their own: calibration, what if, luck, learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import DASH, count, money_of, odds, percent, ratio
from retro.present.page.blocks import (
    Cell,
    Column,
    Diagrams,
    Figure,
    FigureList,
    Headline,
    Page,
    Prose,
    Section,
    Table,
    TableRow,
    tone_of,
)
from retro.present.page.diagrams import (
    HistogramDiagram,
    RangeDiagram,
    RangeRow,
    ReliabilityDiagram,
    StepDiagram,
)
from retro.present.page.evaluators.claims import key_name, points_of
from retro.present.page.labels import reason_text, short_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.figures import MoneyStyle
    from retro.present.page.blocks import Block
    from retro.report.evaluators.claims import CalibrationRow
    from retro.report.evaluators.learning import LearningReport
    from retro.report.evaluators.luck import LuckReport, LuckTotal, RuleLuck
    from retro.report.evaluators.whatif import RuleWhatIf, WhatIfReport

__all__ = ["page_of_calibration", "page_of_learning", "page_of_luck", "page_of_what_if"]

_DRAWN: Final = 12
_PARTS: Final = 10
"""Parts of the percentiles from 0 to 1 that a histogram counts."""
_SEARCHED: Final = 0.05
"""A search's p at or above this leaves its best among what luck would find."""
_HINDSIGHT: Final = "Hindsight: every price was known. It moves no rule, and proposes none."


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
    columns = (
        Column("Claims", right=False, cut=14),
        Column("n"),
        Column("Off by"),
        Column("Corrected"),
        Column("95 %", right=False),
        Column("Brier", spare=1),
    )
    cells = tuple(
        TableRow(
            (
                Cell(key_name(row.category, row.regime), "strong"),
                Cell(f"{row.n:,}"),
                Cell(percent(row.ece_raw, 1)),
                Cell(percent(row.ece_calibrated, 1)),
                Cell(
                    DASH
                    if row.ece_band is None
                    else f"{percent(row.ece_band[0])} to {percent(row.ece_band[1])}"
                ),
                Cell(ratio(row.brier_raw, 3)),
            ),
            faint=not row.active,
        )
        for row in rows
    )
    note = "Off by: mean distance of stated confidence from the share that came true; corrected: by the curve in force then; 95 %: of the one in use."
    blocks: tuple[Block, ...] = (Table(columns, cells, note=note), *((Diagrams(drawn),) if drawn else ()))
    head = Headline(
        "Calibration",
        agent,
        "what its stated confidence was worth",
        _widest(rows),
        "Each claim is judged by what had resolved before it was made.",
        "plain",
        (),
        alarms,
    )
    return Page(head, (Section("calibration", "Stated and come true", blocks),))


def _widest(rows: Sequence[CalibrationRow]) -> str:
    """What the confidence of the category with most samples was worth, in a few words."""
    row = max(rows, key=lambda each: each.n, default=None)
    if row is None or row.ece_raw is None:
        return "Nothing stated"
    error, how = (row.ece_calibrated, "corrected") if row.calibrated else (row.ece_raw, "as stated")
    return f"Off by {percent(error)} {how}"


def page_of_what_if(agent: str, report: WhatIfReport, currency: str) -> Page:
    """Each rule's difference with its interval, the best first, and how good the best of so many looks by luck."""
    rules = sorted(report.rules, key=lambda row: (-row.difference, row.rule))
    money = money_of(currency, [row.difference for row in rules])
    best, search = report.search.best, report.search
    title, luck = "Nothing changes", "no rule changes anything"
    if best is not None and search.p_max is not None:
        change = money.signed(next(row.difference for row in rules if row.rule == best))
        title = best if search.p_max < _SEARCHED else "Nothing beyond luck"
        luck = f"{best}, {change} {currency}: best of {search.tried:,} tried; p {ratio(search.p_max)} once the search is counted"
    drawn = tuple(
        RangeRow(
            row.rule,
            row.difference,
            None if row.interval is None else row.interval[0],
            None if row.interval is None else row.interval[1],
            money.signed(row.difference),
        )
        for row in [row for row in rules if row.touched][:_DRAWN]
    )
    blocks: list[Block] = [
        Diagrams((RangeDiagram("What each would have changed, with 95 %", drawn, currency),))
    ] * bool(drawn)
    blocks += [_rules_table(rules, money)]
    blocks += [Prose(f"{report.reasons[name]}.") for name in ("positions", "marks") if name in report.reasons]
    blocks.append(Prose(_HINDSIGHT, tone="faint"))
    head = Headline(
        "What if",
        agent,
        f"{count(report.positions, 'position')}, {currency}",
        title,
        f"{luck}.",
        "plain",
    )
    return Page(head, (Section("whatif", "One rule changed at a time", tuple(blocks)),))


def _rules_table(rules: Sequence[RuleWhatIf], money: MoneyStyle) -> Table:
    columns = (
        Column("What if", right=False, cut=18),
        Column("Touched"),
        Column("Real"),
        Column("Instead"),
        Column("Change"),
        Column("p"),
    )
    cells = tuple(
        TableRow(
            (
                Cell(row.rule, "strong"),
                Cell(f"{row.touched:,}" + (f" ({row.skipped:,} skipped)" if row.skipped else "")),
                Cell(money.signed(row.real)),
                Cell(money.signed(row.counterfactual)),
                Cell(money.signed(row.difference), tone_of(row.difference)),
                Cell(ratio(row.p, 3)),
            ),
            faint=not row.touched,
        )
        for row in rules
    )
    return Table(columns, cells)


def page_of_luck(agent: str, report: LuckReport, currency: str) -> Page:
    """Where real results stand among their twins: the distribution of percentiles with their mean, and each rule's."""
    percentiles = [row.percentile for row in report.positions if row.percentile is not None]
    money = money_of(currency, [row.pnl for row in report.positions])
    blocks: list[Block] = []
    if report.total is not None:
        blocks.append(FigureList(tuple(_luck_figures(report.total, money))))
    drawn: list[HistogramDiagram | RangeDiagram] = []
    if percentiles:
        drawn.append(_percentiles(percentiles))
    if report.heuristics:
        rows = tuple(_rule_range(row) for row in report.heuristics[:_DRAWN])
        drawn.append(RangeDiagram("Each rule's mean percentile, less 50", rows))
    if drawn:
        blocks.append(Diagrams(tuple(drawn), _LUCK_NOTE, _in_words(percentiles)))
    if report.heuristics:
        blocks.append(_rules_of_luck(report.heuristics))
    if "positions" in report.reasons:
        blocks.append(Prose(f"{report.reasons['positions']}.", tone="faint"))
    total = report.total
    head = Headline(
        "Luck",
        agent,
        f"{count(len(percentiles), 'position')} beside 999 twins each",
        "Too little is known" if total is None else f"Choosing when: {money.change(total.selection)}",
        reason_text(report.reasons, "total")
        if total is None
        else f"Being there made {money.change(total.luck)}; {_sure(total, money) or 'no interval yet'}.",
        tone_of(total.selection) if total is not None and _is_sure(total) else "plain",
    )
    return Page(head, (Section("luck", "Being there, and choosing when", tuple(blocks)),))


_LUCK_NOTE: Final = "The dashed line is what chance alone would give: as many positions in each tenth."


def _sure(total: LuckTotal, money: MoneyStyle) -> str:
    """The interval of what choosing made."""
    if total.interval is None:
        return ""
    low, high = map(money.signed, total.interval)
    return f"of the choosing 95 % {low} to {high}, at this look alone"


def _is_sure(total: LuckTotal) -> bool:
    """Whether its interval lies on one side of 0: only then is choosing drawn as good or bad."""
    return total.interval is not None and (total.interval[0] > 0 or total.interval[1] < 0)


def _luck_figures(total: LuckTotal, money: MoneyStyle) -> list[Figure]:
    return [
        Figure("Being there: luck", money.change(total.luck), "what their twins made on average"),
        Figure("Choosing when: selection", money.change(total.selection), _sure(total, money)),
        Figure("Made", money.change(total.pnl), "", tone_of(total.pnl)),
    ]


def _percentiles(values: Sequence[float]) -> HistogramDiagram:
    mean = sum(values) / len(values)
    return HistogramDiagram(
        "Where its results stand among their twins",
        _tenths(values),
        0.0,
        1.0,
        "worse than every twin",
        "better than every twin",
        mean,
        f"mean {percent(mean)}",
        len(values) / _PARTS,
    )


def _tenths(values: Sequence[float]) -> tuple[int, ...]:
    counts = [0] * _PARTS
    for value in values:
        counts[min(int(value * _PARTS), _PARTS - 1)] += 1
    return tuple(counts)


def _in_words(values: Sequence[float]) -> str:
    if not values:
        return ""
    return f"Positions by tenths of their twins, worst first: {', '.join(map(str, _tenths(values)))}."


def _rule_range(row: RuleLuck) -> RangeRow:
    low, high = (None, None) if row.interval is None else row.interval
    return RangeRow(
        short_name(row.heuristic),
        100 * row.mean_percentile - 50,
        None if low is None else 100 * low - 50,
        None if high is None else 100 * high - 50,
        f"{100 * row.mean_percentile:.0f}, n {row.n:,}",
    )


def _rules_of_luck(rows: Sequence[RuleLuck]) -> Table:
    columns = (
        Column("Rule", right=False, cut=14),
        Column("n"),
        Column("Percentile"),
        Column("Better"),
        Column("Worse"),
        Column("Evidence", right=False),
    )
    cells = tuple(
        TableRow(
            (
                Cell(row.heuristic, "strong"),
                Cell(f"{row.n:,}"),
                Cell(f"{100 * row.mean_percentile:.0f}"),
                Cell(odds(row.e_for)),
                Cell(odds(row.e_against)),
                Cell(row.evidence),
            )
        )
        for row in rows
    )
    note = "Percentile: how many of 100 random moments made less, on average; 50 is chance."
    return Table(columns, cells, note=note)


def page_of_learning(agent: str, report: LearningReport) -> Page:
    """The groups of the last complete week, and how long rules live."""
    groups = {name: getattr(report.groups, name) for name in type(report.groups).model_fields}
    figures = [
        Figure(
            name,
            DASH if value is None else f"{value:+.2f}",
            reason_text(report.reasons, f"groups.{name}"),
            tone_of(value),
        )
        for name, value in groups.items()
    ]
    half = report.half_life_days
    figures.append(
        Figure(
            "Half-life of a rule",
            DASH if half is None else f"{half:.0f} days",
            reason_text(report.reasons, "half_life_days"),
        )
    )
    points = tuple((point.days, point.share) for point in report.survival)
    blocks: list[Block] = [FigureList(tuple(figures))]
    if points:
        words = "; ".join(f"after {days:.0f} days {percent(share)} of rules stand" for days, share in points)
        end = points[-1][0] * 1.25
        blocks.append(Diagrams((StepDiagram("How long rules stand", points, end),), words=f"{words}."))
    head = Headline(
        "Learning",
        agent,
        report.week or "no complete week yet",
        "Not known" if report.score is None else f"{report.score:+.2f}",
        reason_text(report.reasons, "score")
        or "From -1, much worse than the week before, to +1, much better.",
        tone_of(report.score),
    )
    return Page(head, (Section("learning", "This week against the one before", tuple(blocks)),))
