"""What a mail answers on its first screen: a question, a short answer, and what stands behind it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from retro.figures import DASH, count, duration, moment, percent, seconds_between
from retro.present.page.amendments import describe_change, evidence_in_words
from retro.present.page.audit import average_in_words, carried, doubt, wanting
from retro.present.page.blocks import tone_of
from retro.present.page.groups import instrument_label
from retro.present.page.labels import VERDICTS, reason_text, verdict_tone
from retro.present.page.market import cash_note, market_note
from retro.report.extremes import extremes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.figures import MoneyStyle
    from retro.present.page.blocks import Tone
    from retro.report import HeuristicReport, PositionRetrospective, RetrospectiveReport

__all__ = [
    "LOST",
    "AnswerLine",
    "HeadlineAnswer",
    "answers_of_life",
    "answers_of_loss",
    "answers_of_position",
    "answers_of_report",
]

LOST: Final = "Which action lost?"
"""What the review of a loss asks first."""
_ACTING: Final = "Did acting beat doing nothing?"
_LINES: Final = 3
_PROPOSALS: Final = 2
_NAMED: Final = 6


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """One thing of several: its name, what is said about it, its figure, why, and its own words."""

    name: str
    verdict: str
    note: str = ""
    tone: Tone = "plain"
    text: str = ""
    figure: str = ""


@dataclass(frozen=True, slots=True)
class HeadlineAnswer:
    """A question with its answer. The best and the worst position stand beside each other."""

    key: Literal["acting", "best", "worst", "decisions", "proposed", "more"]
    question: str
    answer: str
    note: str = ""
    tone: Tone = "plain"
    lines: tuple[AnswerLine, ...] = ()
    omitted: int = 0


def answers_of_report(report: RetrospectiveReport, money: MoneyStyle) -> tuple[HeadlineAnswer, ...]:
    """The four after the result: acting against doing nothing, best and worst, decisions wanted, proposals."""
    return (
        _acting(report, money),
        *_extremes(report.positions, money),
        _decisions(report, money),
        _proposed(report.playbook_proposals, "What is proposed?", report.base_currency),
    )


def answers_of_life(report: RetrospectiveReport, money: MoneyStyle) -> tuple[HeadlineAnswer, ...]:
    """The last review: the life as a whole, what it taught, and what it would change."""
    rows = [row for row in report.heuristic_performance if row.evidence_n or row.evaluated_count]
    retained = [row for row in rows if row.recommendation.kind == "keep"]
    demoted = [row for row in rows if row.recommendation.kind == "demote"]
    losing = [row for row in carried(rows) if row.recommendation.kind == "demote"]
    regrets = sorted(
        (p for p in report.believed_positions if p.regret),
        key=lambda p: (-(p.regret or 0.0), p.position_id),
    )
    return (
        _acting(report, money),
        *_extremes(report.positions, money),
        HeadlineAnswer(
            "more",
            "What did it teach?",
            f"{len(retained)} kept, {len(demoted)} demoted",
            lines=tuple(_decision(row, money, report.time_zone) for row in (*retained, *demoted)[:_NAMED]),
            omitted=max(0, len(retained) + len(demoted) - _NAMED),
        ),
        HeadlineAnswer(
            "more",
            "The largest regrets",
            "" if regrets else "None",
            lines=tuple(
                AnswerLine(
                    p.position_id,
                    money.amount(p.regret),
                    f"{instrument_label(p)}, made {money.change(p.final_pnl)}",
                )
                for p in regrets[:_LINES]
            ),
            omitted=max(0, len(regrets) - _LINES),
        ),
        _would_change(report, losing),
    )


def answers_of_loss(report: RetrospectiveReport, money: MoneyStyle) -> tuple[HeadlineAnswer, ...]:
    """A loss: the action that lost, the last that the period holds, then what any review answers."""
    lost = [action for action in report.actions_taken if (action.realized_pnl or 0.0) < 0]
    last = max(lost, key=lambda action: (action.at, -(action.realized_pnl or 0.0)), default=None)
    if last is None:
        return answers_of_report(report, money)
    parts = [last.action, last.position_id or "", last.instrument or ""]
    note = f"{', '.join(filter(None, parts))}, {moment(last.at, report.time_zone)} {report.time_zone}"
    if last.cites:
        note += f"; cites {', '.join(last.cites[:_LINES])}"
    amount = money.change(last.realized_pnl)
    return (HeadlineAnswer("more", LOST, amount, note, "down"), *answers_of_report(report, money))


def answers_of_position(p: PositionRetrospective, money: MoneyStyle) -> tuple[HeadlineAnswer, ...]:
    """A position: against doing nothing, and how far from the best moment it was left."""
    holding_time = f"open for {duration(p.duration_s)}" if p.open else f"held {duration(p.duration_s)}"
    best = HeadlineAnswer("more", "How far from the best exit?", money.amount(p.regret))
    if p.regret is None:
        best = HeadlineAnswer(best.key, best.question, DASH, reason_text(p.reasons, "regret"))
    elif p.optimal_exit_at is not None:
        after = duration(seconds_between(p.entry_at, p.optimal_exit_at))
        note = f"best exit {money.change(p.optimal_exit_pnl)}, {after} in; {holding_time}; known only in hindsight"
        best = HeadlineAnswer(best.key, best.question, best.answer, note)
    return (_verdict(p.vs_inaction, money, reason_text(p.reasons, "vs_inaction")), best)


def _acting(report: RetrospectiveReport, money: MoneyStyle) -> HeadlineAnswer:
    effectiveness = report.effectiveness
    closed = count(effectiveness.closed_positions, "closed position")
    standing = report.open_positions
    note = f"over {closed}"
    if effectiveness.inaction_superiority_rate is not None:
        note = f"{percent(effectiveness.inaction_superiority_rate)} of {closed} did worse than nothing"
    note = "; ".join(filter(None, (note, standing.words(money), cash_note(report), market_note(report))))
    if not effectiveness.closed_positions:
        note = "; ".join(filter(None, ("no position was closed", standing.words(money))))
        return HeadlineAnswer("acting", _ACTING, "Nothing to compare", note)
    if standing.size:
        sums = standing.beside(effectiveness.sum_vs_inaction, money)
        tone = tone_of(standing.lower(effectiveness.sum_vs_inaction))
        return HeadlineAnswer("acting", _ACTING, sums[0].upper() + sums[1:], note, tone)
    return _verdict(effectiveness.sum_vs_inaction, money, note)


def _verdict(value: float | None, money: MoneyStyle, note: str) -> HeadlineAnswer:
    """Yes, no or neither, and by how much."""
    answer = DASH
    if value is not None:
        answer = f"Yes, by {money.amount(value)}" if value > 0 else f"No, it cost {money.amount(-value)}"
        answer = answer if value else "It came to the same"
    return HeadlineAnswer("acting", _ACTING, answer, note, tone_of(value))


def _extremes(positions: Sequence[PositionRetrospective], money: MoneyStyle) -> tuple[HeadlineAnswer, ...]:
    extremes = extremes_of(positions)
    if extremes is None:
        return (
            HeadlineAnswer("best", "Best and worst position", "None", "there was no position in the period"),
        )
    if extremes.size == 1:
        return (_extreme("best", "Only position", extremes.best, money),)
    if extremes.still:
        return (
            HeadlineAnswer("best", "Best and worst position", "None", f"all {extremes.size:,} stood still"),
        )
    best = _extreme("best", "Best position", extremes.best, money)
    return (best, _extreme("worst", "Worst position", extremes.worst, money))


def _extreme(
    key: Literal["best", "worst"], label: str, p: PositionRetrospective, money: MoneyStyle
) -> HeadlineAnswer:
    holding_time = f"{'open' if p.open else 'held'} {duration(p.duration_s)}"
    note = f"{p.position_id}, {instrument_label(p)}, {holding_time}"
    return HeadlineAnswer(key, label, money.change(p.period_pnl), note, tone_of(p.period_pnl))


def _decisions(report: RetrospectiveReport, money: MoneyStyle) -> HeadlineAnswer:
    rows = report.heuristic_performance
    question = "Which heuristics need a decision?"
    wanted = wanting(rows)
    if not wanted:
        judged = sum(row.recommendation.kind == "keep" for row in rows)
        note = (
            f"{count(judged, 'heuristic')} judged, all to keep" if judged else "too few outcomes to judge any"
        )
        return HeadlineAnswer("decisions", question, "None", note if rows else "no decision cited one")
    named = carried(rows)
    number = len(wanted) - len(named)
    note = f"{number:,} more by the thresholds, on weak evidence" if number else ""
    if not named:
        return HeadlineAnswer("decisions", question, "None yet", note.replace(" more", ""))
    lines = tuple(_decision(row, money, report.time_zone) for row in named[:_LINES])
    omitted = len(named) - len(lines)
    return HeadlineAnswer(
        "decisions", question, f"{len(named)}", note, tone="warn", lines=lines, omitted=omitted
    )


def _decision(row: HeuristicReport, money: MoneyStyle, zone: str) -> AnswerLine:
    kind = row.recommendation.kind
    name = row.heuristic_id if row.role == "entry" else f"{row.heuristic_id} {row.role}"
    text = row.heuristic_text or ""
    figure = average_in_words(row, money)
    figure += " avg" if figure and row.role == "entry" else ""
    return AnswerLine(name, VERDICTS[kind], doubt(row, zone), verdict_tone(kind), text, figure)


def _would_change(report: RetrospectiveReport, demoted: Sequence[HeuristicReport]) -> HeadlineAnswer:
    """What is proposed at the end of a life, else the rules its own figures speak against."""
    question = "What would it change?"
    if report.playbook_proposals or not demoted:
        return _proposed(report.playbook_proposals, question, report.base_currency)
    named = list(dict.fromkeys(row.heuristic_id for row in demoted))
    remainder = f" and {len(named) - _NAMED:,} more" if len(named) > _NAMED else ""
    answer = f"No longer act on {', '.join(named[:_NAMED])}{remainder}"
    return HeadlineAnswer("proposed", question, answer, "by its own figures; no change is proposed")


def _proposed(entries: Sequence[dict[str, Any]], question: str, currency: str) -> HeadlineAnswer:
    if not entries:
        return HeadlineAnswer("proposed", question, "Nothing", "the playbook stays as it is")
    lines = []
    for entry in entries[:_PROPOSALS]:
        change, name = describe_change(entry)
        lines.append(AnswerLine(name, change, evidence_in_words(entry, currency)))
    size = count(len(entries), "change")
    return HeadlineAnswer("proposed", question, size, lines=tuple(lines), omitted=len(entries) - len(lines))
