"""The parts of a page that judge claims: the heuristic citation audit and the predictions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from retro.figures import DASH, count, day_text, odds, percent, ratio
from retro.present.page.blocks import (
    Cell,
    Column,
    Figure,
    FigureList,
    Prose,
    Section,
    Table,
    TableRow,
    Verdict,
    Verdicts,
)
from retro.present.page.labels import VERDICTS, reason_text, verdict_tone
from retro.present.page.odds import (
    break_even_in_words,
    every_look,
    odds_chart,
    odds_in_words,
    one_look,
    ripeness_in_words,
    stopped_in_words,
    uncounted_in_words,
)
from retro.present.references import RuleReference
from retro.report.life import LifeReport

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from retro.figures import MoneyStyle
    from retro.report import Accuracy, HeuristicReport, RetrospectiveReport

__all__ = ["audit_section", "average_in_words", "carried", "doubt", "predictions_section", "wanting"]

_SHOWN: Final = 20
_WEAK: Final = 5
"""Rows that no evidence carries, beyond which they are counted: what may be noise does not fill screens."""
_ORDER: Final = ("demote", "investigate", "keep", "insufficient_data")
_UNITS: Final = {"r": "R", "bps": "bps"}
_ENOUGH: Final = 30  # resolved predictions
_COMPARED: Final = 3  # predictions of a category; fewer are faint


def wanting(rows: Sequence[HeuristicReport]) -> list[HeuristicReport]:
    """The heuristics that want a decision: demote first, then investigate."""
    wanted = [row for row in rows if row.recommendation.kind in {"demote", "investigate"}]
    return sorted(wanted, key=lambda row: _ORDER.index(row.recommendation.kind))


def carried(rows: Sequence[HeuristicReport]) -> list[HeuristicReport]:
    """Of those that want a decision, the ones whose evidence carries it: only they are named in a headline."""
    return [row for row in wanting(rows) if row.is_conclusive and not row.contradicted]


def average_in_words(row: HeuristicReport, money: MoneyStyle) -> str:
    """The average outcome as it stands beside a verdict: of an exit it is what was avoided after it, no result."""
    average = row.avg_pnl_per_citation
    if average is None:
        return ""
    if row.role == "exit":
        return f"{money.amount(abs(average))} {'avoided' if average >= 0 else 'missed'}"
    return money.change(average)


def doubt(row: HeuristicReport, zone: str) -> str:
    """How far a recommendation can be trusted: weak (2 to 1): 3 citations, 95 % -11.3..+7.1 at every look, n 15.

    The interval is of all outcomes since the text stands; since when and how many is said where they are not the period's
    alone: its average, which stands beside it, may lie outside. Where
    too few of the period are known for a verdict there is none to trust, and no grade.
    """
    grade = "no evidence" if row.evidence == "none" else row.evidence
    strength = f"{grade} against it" if row.contradicted else grade
    if row.e is not None:
        strength += f" ({odds(row.e)})"
    parts = [count(row.citation_count, "citation")]
    if bounds := every_look(row) or one_look(row):
        if row.evidence_n == row.evaluated_count:
            parts.append(bounds)
        else:
            since = "" if row.evidence_since is None else f" since {day_text(row.evidence_since, zone)}"
            parts += [f"{bounds}{since}", f"n {row.evidence_n:,}"]
    if row.recommendation.kind == "insufficient_data":
        return ", ".join(parts)
    return f"{strength}: {', '.join(parts)}"


def audit_section(report: RetrospectiveReport, money: MoneyStyle) -> Section | None:
    """The citation audit: decisions wanted first; heuristics nobody cited in one line."""
    rows = report.heuristic_performance
    if not rows:
        return None
    judged = [row for row in rows if _is_judged(row)]
    untouched = [row.heuristic_id for row in rows if not _is_judged(row)]
    visible, hidden = _divided(sorted(judged, key=lambda row: _ORDER.index(row.recommendation.kind)))
    unit = _drawn_unit(visible)
    block = Verdicts(
        tuple(_verdict(row, money, report, unit) for row in visible),
        unit or money.currency,
        _left_out(hidden),
        tuple(untouched[:_SHOWN]),
        max(0, len(untouched) - _SHOWN),
    )
    chart = odds_chart(judged, whole_life=isinstance(report, LifeReport))
    blocks = (block,) if chart is None else (block, chart)
    return Section("audit", "Heuristic audit", blocks, "outcomes resolved in the period")


def _drawn_unit(rows: Sequence[HeuristicReport]) -> str:
    """What the chart of averages counts in: R or bps where the intervals do; else money, which has no word here."""
    return next(
        (_UNITS[row.threshold_unit] for row in rows if row.interval and row.threshold_unit != "usd"), ""
    )


def _is_judged(row: HeuristicReport) -> bool:
    """Whether there is anything to say of a row: it was cited, or something it was cited for resolved."""
    return bool(row.citation_count or row.evaluated_count or row.evidence_n)


def _divided(ranked: Sequence[HeuristicReport]) -> tuple[list[HeuristicReport], list[HeuristicReport]]:
    """The rows that a page shows, and all others, in their order.

    Visible are those that their evidence carries or that stopped working, and the first few of the weak ones.
    """
    visible: list[HeuristicReport] = []
    hidden: list[HeuristicReport] = []
    weak = 0
    for row in ranked:
        is_weak = not row.is_conclusive and not stopped_in_words(row)
        weak += is_weak
        fits = len(visible) < _SHOWN and not (is_weak and weak > _WEAK)
        (visible if fits else hidden).append(row)
    return visible, hidden


def _left_out(rows: Sequence[HeuristicReport]) -> str:
    """How many rows are not shown, by their recommendations, and where they are; nothing where all are shown."""
    if not rows:
        return ""
    kinds = Counter(row.recommendation.kind for row in rows)
    verdicts = ", ".join(f"{kinds[kind]} {VERDICTS[kind]}" for kind in _ORDER if kind in kinds)
    weak = "" if any(row.is_conclusive for row in rows) else ", on weak evidence or none"
    return f"{len(rows):,} more ({verdicts}){weak}: retro playbook audit and the JSON document have them all."


def _verdict(row: HeuristicReport, money: MoneyStyle, report: RetrospectiveReport, unit: str) -> Verdict:
    low, high = row.interval or (None, None)
    bounds = None if unit else row.interval_one_look  # that one is always of money
    kind = row.recommendation.kind
    return Verdict(
        name=row.heuristic_id,
        role=row.role,
        kind=kind,
        verdict=VERDICTS[kind],
        doubt=doubt(row, report.time_zone),
        figures=tuple(_figures(row, money, report)),
        text=row.heuristic_text or "",
        average=row.avg_in_unit if unit else row.avg_pnl_per_citation,
        average_text=average_in_words(row, money),
        low=low,
        high=high,
        tone=verdict_tone(kind),
        n=row.evidence_n,
        one_look=None if bounds is None else (bounds[0], bounds[1]),
        ref=RuleReference(report.agent, row.heuristic_id),
    )


def _figures(row: HeuristicReport, money: MoneyStyle, report: RetrospectiveReport) -> list[str]:
    """What the recommendation rests on, a sentence at a time."""
    reason = row.recommendation.reason
    if not row.evaluated_count:
        lines = [f"{reason}; {DASH} {reason_text(row.reasons, 'win_rate')}"]
    else:
        shared = f" ({money.signed(row.shared_pnl)} shared)" if row.shared_pnl != row.associated_pnl else ""
        of = f"{percent(row.win_rate)} of {row.evaluated_count:,}"
        total = f"{money.change(row.associated_pnl)}{shared}"
        result = f"won {of}, sum {total}"
        if row.role == "exit":
            if row.associated_pnl is not None and row.associated_pnl < 0:
                total = f"{money.amount(-row.associated_pnl)}{shared} missed"
            else:
                total = f"{total} avoided"
            result = f"right {of}, {total} in all, by what the price did after them"
        lines = [f"{reason}; {result}"]
    if row.result_avg is not None:
        lines.append(
            f"the positions it closed made {money.change(row.result_avg)} on average;"
            f" {percent(row.result_win_rate)} of {row.result_count:,} gained"
        )
    if row.evidence_n:
        text = f"evidence: {count(row.evidence_n, 'outcome')} on {count(row.evidence_days, 'day')}"
        if row.evidence_since is not None:
            text += f" since {day_text(row.evidence_since, report.time_zone)}"
        if bounds := one_look(row, money.currency):
            text += f", {bounds}"
        if row.shrunk_mean is not None:
            text += f", shrunk mean {money.signed(row.shrunk_mean)}"
        if row.told_late is not None:
            text += f", {percent(row.told_late)} told late"
        lines.append(text)
    if row.bound is not None:
        lines.append(f"bets on {count(row.bets, 'week')} of marked money: {odds_in_words(row)}")
    lines += [
        stopped_in_words(row),
        break_even_in_words(row, money),
        uncounted_in_words(row),
        ripeness_in_words(row, report.period_end),
        *_cautions(row, money),
    ]
    return [line for line in lines if line]


def _cautions(row: HeuristicReport, money: MoneyStyle) -> list[str]:
    """What else to know before acting on it."""
    lines = []
    if row.open_count:
        stand = "without a price" if row.open_pnl is None else f"at {money.change(row.open_pnl)}"
        lines.append(f"{count(row.open_count, 'open position')} not counted, {stand}")
    if row.rule_of_three is not None and row.evidence_n:
        lines.append(_one_sign(row))
    if row.after_the_fact_count:
        late = count(row.after_the_fact_count, "citation")
        text = f"{late} left out: dated, or changed, after the fact"
        if row.after_the_fact_pnl is not None:
            verb = "would have helped it by" if row.after_the_fact_pnl >= 0 else "would have cost it"
            text += f"; {verb} {money.signed(abs(row.after_the_fact_pnl))}"
        lines.append(text)
    without = row.recommendation_without_largest
    if without is not None and without != row.recommendation.kind and row.largest_share is not None:
        word = VERDICTS.get(without, without)
        lines.append(f"rests on one outcome ({percent(row.largest_share)} of all): {word} without it")
    if row.inseparable_from:
        partners = ", ".join(f"{p.heuristic_id} ({ratio(p.jaccard)})" for p in row.inseparable_from[:5])
        lines.append(f"cannot be told apart from {partners}: cited together")
    if row.uncited_difference is not None and row.uncited_count:
        text = f"{money.signed(row.uncited_difference)} against {count(row.uncited_count, 'position')} without it"
        lines.append(text + (f", p {ratio(row.uncited_p)}" if row.uncited_p is not None else ""))
    return lines


def _one_sign(row: HeuristicReport) -> str:
    """The rule of three, in words: no spread of signs is not certainty."""
    gained = (row.shrunk_mean or 0.0) > 0 if row.gains is None else row.gains
    was, other = ("gained", "lose") if gained else ("lost", "gain")
    text = f"all {count(row.evidence_n, 'outcome')} {was}"
    if row.rule_of_three is None or row.rule_of_three >= 1:
        return f"{text}: on {count(row.evidence_days, 'day')} that says nothing of the next"
    return f"{text}: up to {percent(row.rule_of_three)} of the next may {other} all the same (rule of three)"


def predictions_section(accuracy: Accuracy) -> Section | None:
    """The predictions resolved in the period; nothing when there were none."""
    if not accuracy.total:
        return None
    facts = FigureList(tuple(_accuracy_figures(accuracy)))
    few = Prose(f"Too few to rely on: {_ENOUGH} are needed.", tone="faint")
    blocks = (facts, *(() if accuracy.sample_sufficient else (few,)), _categories(accuracy))
    return Section("predictions", "Predictions", blocks, count(accuracy.total, "resolved prediction"))


def _accuracy_figures(accuracy: Accuracy) -> Iterator[Figure]:
    """Each measure with what it is out of, or why it is absent."""

    def figure(label: str, name: str, value: str, note: str) -> Figure:
        absent = getattr(accuracy, name) is None
        return Figure(label, value, reason_text(accuracy.reasons, name) if absent else note)

    def residual(value: float | None, sign: str = "") -> str:
        return DASH if value is None else f"{value:{sign}.4g}"

    right = f"{accuracy.hits:,} of {accuracy.judged:,} that can be judged were right"
    if accuracy.after_the_fact:
        right += f"; {accuracy.after_the_fact:,} made after the fact left out"
    yield figure("Prediction accuracy", "hit_rate", percent(accuracy.hit_rate, 1), right)
    text, note = residual(accuracy.mean_residual, "+"), "actual less predicted, in the predictions' own units"
    yield figure("Mean residual", "mean_residual", text, note)
    text = residual(accuracy.mean_abs_residual)
    yield Figure("Mean size of residual", text, reason_text(accuracy.reasons, "mean_abs_residual"))
    text, note = percent(accuracy.interval_coverage), "of the stated intervals held the actual"
    yield figure("Interval coverage", "interval_coverage", text, note)


def _categories(accuracy: Accuracy) -> Table:
    rows = tuple(
        TableRow(
            (
                Cell(name),
                Cell(f"{row.get('total', 0):,}"),
                Cell(f"{row.get('hits', 0):,}"),
                Cell(percent(row.get("hit_rate"))),
            ),
            faint=row.get("total", 0) < _COMPARED,
        )
        for name, row in list(accuracy.by_category.items())[:_SHOWN]
    )
    columns = (Column("Category", right=False, cut=12), Column("n"), Column("Right"), Column("Accuracy"))
    return Table(columns, rows, omitted=max(0, len(accuracy.by_category) - _SHOWN))
