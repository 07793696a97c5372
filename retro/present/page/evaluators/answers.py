"""What the evaluators answer of a whole life, as pages of their own: what if, luck, learning."""

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
    Notes,
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
    StepDiagram,
)
from retro.present.page.labels import reason_text, short_name
from retro.present.references import PositionReference

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from retro.figures import MoneyStyle
    from retro.present.page.blocks import Block
    from retro.report.evaluators.learning import LearningReport
    from retro.report.evaluators.luck import LuckReport, LuckTotal, PositionLuck, RuleLuck
    from retro.report.evaluators.whatif import RuleWhatIf, WhatIfReport

__all__ = ["page_of_learning", "page_of_luck", "page_of_what_if"]

_DRAWN: Final = 12
_PARTS: Final = 10
"""Parts of the percentiles from 0 to 1 that a histogram counts."""
_SEARCHED: Final = 0.05
"""A search's p at or above this leaves its best among what luck would find."""
_HINDSIGHT: Final = "Hindsight: every price was known. It moves no rule, and proposes none."
_LARGEST: Final = 10


def page_of_what_if(agent: str, report: WhatIfReport, currency: str) -> Page:
    """Each rule's difference with its interval, the best first, and how good the best of so many looks by luck."""
    rules = sorted(report.rules, key=lambda row: -row.difference)  # equal ones in the order asked
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
    blocks.append(_rules_table(rules, money, _what_if_note(report, currency)))
    head = Headline(
        "What if",
        agent,
        f"{count(report.positions, 'position')}, {currency}",
        title,
        f"{luck}.",
        "plain",
    )
    return Page(head, (Section("whatif", "One rule changed at a time", tuple(blocks)),))


def _rules_table(rules: Sequence[RuleWhatIf], money: MoneyStyle, note: str) -> Table:
    columns = (
        Column("What if", right=False, cut=12),
        Column("Touched"),
        Column("Real", spare=1),
        Column("Instead", spare=2),
        Column("Change"),
        Column("95 %", right=False),
        Column("p"),
    )
    cells = tuple(
        TableRow(
            (
                Cell(row.rule, "strong"),
                Cell(f"{row.touched:,}"),
                Cell(money.signed(row.real)),
                Cell(money.signed(row.counterfactual)),
                Cell(money.signed(row.difference), tone_of(row.difference)),
                Cell(
                    DASH
                    if row.interval is None
                    else f"{money.signed(row.interval[0])} .. {money.signed(row.interval[1])}"
                ),
                Cell(ratio(row.p, 3)),
            ),
            faint=not row.touched,
        )
        for row in rules
    )
    return Table(columns, cells, note=note)


def _what_if_note(report: WhatIfReport, currency: str) -> str:
    """What a reader must know beside the figures: how many, what the search is worth, and that it is hindsight."""
    search, skipped = report.search, max((row.skipped for row in report.rules), default=0)
    if search.p_max is None:
        luck = report.reasons.get("search", "")
    else:
        tried = f"best of {search.tried} tried" if search.tried > 1 else "one tried"
        luck = f"{tried}; p {ratio(search.p_max)} once the search is counted ({search.best or ''})"
    parts = [
        f"{count(report.positions, 'position')}, {currency}; {luck}.",
        "95 %: bootstrap over days. p: that turning the signs of days improves as much.",
    ]
    if skipped:
        parts.append(f"Rules in R skip {count(skipped, 'position')} without a stated risk.")
    notes = (report.reasons.get("positions"), report.reasons.get("marks"))
    parts += [f"{note[0].upper()}{note[1:]}." for note in notes if note]
    return " ".join([*parts, _HINDSIGHT])


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
    if percentiles:
        blocks.append(_largest_selections(agent, report.positions, money))
    if "positions" in report.reasons:
        text = f"{report.reasons['positions']}. They are in no figure here; --json tells why, one by one."
        blocks.append(Prose(text, tone="faint"))
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
        Column("95 %", right=False),
        Column("Better"),
        Column("Worse"),
        Column("Evidence", right=False),
    )
    cells = [
        (
            Cell(row.heuristic, "strong"),
            Cell(f"{row.n:,}"),
            Cell(f"{100 * row.mean_percentile:.0f}"),
            Cell(
                DASH if row.interval is None else f"{100 * row.interval[0]:.0f}..{100 * row.interval[1]:.0f}"
            ),
            Cell(odds(row.e_for)),
            Cell(odds(row.e_against)),
            Cell(row.evidence),
        )
        for row in rows
    ]
    note = (
        "Percentile: how many of 100 random moments made less, on average; 50 is chance. 95 %: of one look, by day of"
        " entry. Better, worse: odds against chance, one bet a week of exits."
    )
    return Table.of(columns, cells, note)


def _largest_selections(agent: str, rows: Sequence[PositionLuck], money: MoneyStyle) -> Table:
    """The positions whose moment made or lost most."""
    judged = [row for row in rows if row.twins]
    largest = sorted(judged, key=lambda row: (-abs(row.selection or 0.0), row.position))[:_LARGEST]
    columns = (
        Column("Position", right=False, cut=16),
        Column("PnL"),
        Column("Luck"),
        Column("Selection"),
        Column("Percentile"),
    )
    cells = [
        (
            Cell(row.position, "strong", PositionReference(agent, row.position)),
            Cell(money.signed(row.pnl), tone_of(row.pnl)),
            Cell(money.signed(row.luck)),
            Cell(money.signed(row.selection), tone_of(row.selection)),
            Cell(DASH if row.percentile is None else f"{100 * row.percentile:.0f}"),
        )
        for row in largest
    ]
    left_out = len(judged) - len(largest)
    note = f"Money in {money.currency}."
    if left_out:
        note += f" The {_LARGEST} largest by selection; --json has {left_out:,} more."
    return Table.of(columns, cells, note)


_COMPARED: Final = {
    "corrector": "error after correction, and of the confidence in use",
    "memory": "recalled episodes that ended as the decision did",
    "attention": "good decisions among those that cited something",
    "heuristics": "active rules that earn, and their half-life",
    "generations": "decisions to competence, against the predecessor's",
}


def page_of_learning(agent: str, report: LearningReport) -> Page:
    """The groups of the last complete week, how long rules live, and when it was competent."""
    blocks: list[Block] = [_groups(report), Notes(tuple(_lives(report)))]
    points = tuple((point.days, point.share) for point in report.survival)
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


def _groups(report: LearningReport) -> Table:
    columns = (Column("Group", right=False), Column("Change"), Column("", right=False))
    cells = [
        (Cell(name), _change(getattr(report.groups, name)), Cell(compared, "faint"))
        for name, compared in _COMPARED.items()
    ]
    cells.append(
        (Cell("score", "strong"), _change(report.score), Cell(report.reasons.get("score", ""), "faint"))
    )
    compared = (
        "No week is over yet: nothing can be compared."
        if report.week is None
        else f"{report.week}, against the week before: from -1, much worse, to 1, much better."
    )
    note = (
        f"{compared} {count(report.negative_weeks, 'week')} below 0 in a row: ageing x {report.ageing_multiplier:.2f},"
        f" epistemic x {report.epistemic_multiplier:.2f}. Numbers for the agent to read; nothing acts on them."
    )
    return Table.of(columns, cells, note)


def _change(value: float | None) -> Cell:
    return Cell(DASH if value is None else f"{value:+.2f}", tone_of(value))


def _lives(report: LearningReport) -> Iterator[str]:
    """How long its rules live, when it was competent, and what it took over from the one before it."""
    life, why = report.half_life_days, report.reasons.get("survival")
    rules = (
        f"half die within {life:.0f} days"
        if life is not None
        else reason_text(report.reasons, "half_life_days")
    )
    yield f"Rules: {rules}." if why is None else f"Rules: {rules}; {why}."
    reached = report.competence
    if reached.decisions is None:
        yield f"Competent: {reason_text(report.reasons, 'competence')}."
    else:
        yield f"Competent: from decision {reached.decisions:,} on, {reached.at}."
    descent = report.generations
    if descent is not None:
        share = descent.reasons.get("ratio")
        if descent.ratio is not None:
            share = f"{descent.ratio:.2f} of its decisions"
        yield f"After {descent.predecessor}: {share}; {descent.inherited} rules inherited, {descent.kept} kept."
