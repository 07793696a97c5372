"""The narrative that needs no model: short sentences made by code from a report's own figures.

It names figures and what they are out of; it never says why something happened, for the figures do not know. Every
number in it is a figure of the report, rounded; the same report gives the same words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import count, moment, money_of, percent, ratio
from retro.report import Narrative
from retro.report.extremes import extremes_of
from retro.report.lines import counted_lines, main_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from retro.figures import MoneyStyle
    from retro.report import HeuristicReport, PositionRetrospective, RetrospectiveReport
    from retro.report.extremes import Extremes
    from retro.report.lines import SignedLine

__all__ = ["NOT_ASKED", "position_words", "words"]

NOT_ASKED: Final = "no model was asked"

_EVIDENCE: Final = {
    "suggestive": "the evidence is suggestive",
    "supported": "the evidence supports it",
}
_MORE_THAN_LUCK: Final = (
    1.5  # regret ratio from which an exit is said to have left more behind than luck does
)
_TIE: Final = 1e-9
_MAIN: Final = 3  # gains, and losses, that are named
_NAMED: Final = 2  # heuristics of a verdict


def words(report: RetrospectiveReport, *, why: str = NOT_ASKED) -> RetrospectiveReport:
    """The report with its words: what worked, what failed, hindsight, and each position's; numbers stay as they are."""
    money = _money(report)
    extremes = extremes_of(report.positions)
    return report.model_copy(
        update={
            "what_worked": " ".join(_worked(report, extremes, money)),
            "what_failed": " ".join(_failed(report, extremes, money)),
            "hindsight": " ".join(_hindsight(report.believed_positions, money)),
            "positions": [position_words(p, currency=report.base_currency) for p in report.positions],
            "narrative": Narrative(source="plain", why=why),
        }
    )


def position_words(position: PositionRetrospective, *, currency: str = "") -> PositionRetrospective:
    """The position with what went wrong and a lesson, where it lost to doing nothing or left regret; else neither."""
    lost = position.vs_inaction is not None and position.vs_inaction < 0
    tie = _TIE * max(1.0, position.notional or 0.0)
    missed = position.regret is not None and position.regret > tie
    if not position.is_believed or not (lost or missed):
        return position.model_copy(update={"what_went_wrong": None, "lesson": None})
    money = money_of(currency, [position.final_pnl, position.mfe, position.mae])
    return position.model_copy(
        update={
            "what_went_wrong": " ".join(_went_wrong(position, money, lost=lost, missed=missed)),
            "lesson": _lesson(position, lost=lost, missed=missed),
        }
    )


def _money(report: RetrospectiveReport) -> MoneyStyle:
    amounts = [report.pnl.total, *(amount for _, amount in counted_lines(report.pnl))]
    return money_of(report.base_currency, [*amounts, *(p.final_pnl for p in report.positions)])


def _amounts(lines: Iterable[SignedLine], money: MoneyStyle) -> str:
    """LP fees +2.10 USDC, gas -0.20 USDC and data -0.10 USDC."""
    phrases = [f"{line.phrase} {money.change(amount)}" for line, amount in lines]
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _worked(report: RetrospectiveReport, extremes: Extremes | None, money: MoneyStyle) -> list[str]:
    sentences = []
    gains, _ = main_lines(report.pnl, report.last_equity, _MAIN)
    if gains:
        sentences.append(f"What earned: {_amounts(gains, money)}.")
    effectiveness = report.effectiveness
    if effectiveness.sum_vs_inaction is not None and effectiveness.sum_vs_inaction > 0:
        closed = count(effectiveness.closed_positions, "closed position")
        sentences.append(
            f"Acting beat doing nothing{_cash(report)} by {money.amount(effectiveness.sum_vs_inaction)} over"
            f" {closed}{_standing(report, money)}."
        )
    if _over_market(report) > 0:
        sentences.append(_market(report))
    if extremes is not None and (extremes.best.period_pnl or 0.0) > 0:
        amount = money.change(extremes.best.period_pnl)
        sentences.append(f"The best position was {_named(extremes.best)}, {amount} in the period.")
    keep_rows = [row for row in report.heuristic_performance if row.recommendation.kind == "keep"]
    keep_rows.sort(key=lambda row: (-(row.avg_pnl_per_citation or 0.0), row.heuristic_id))
    sentences += _heuristics(keep_rows, "kept", money)
    return sentences or ["Nothing in the period made money."]


def _cash(report: RetrospectiveReport) -> str:
    return ", holding cash," if report.is_in_cash else ""


def _standing(report: RetrospectiveReport, money: MoneyStyle) -> str:
    """What is open, in the same breath as what was closed."""
    return f"; {report.open_positions.words(money)}" if report.open_positions.size else ""


def _over_market(report: RetrospectiveReport) -> float:
    return 0.0 if report.market is None else report.market.over_market or 0.0


def _market(report: RetrospectiveReport) -> str:
    """The agent's return beside that of the pairs it traded or watched."""
    market = report.market
    change = None if market is None else percent(market.change, 2, signed=True)
    returned = percent(report.risk.time_weighted_return, 2, signed=True)
    return f"The agent returned {returned}, the pairs it traded or watched, equally weighted, {change}."


def _failed(report: RetrospectiveReport, extremes: Extremes | None, money: MoneyStyle) -> list[str]:
    sentences = []
    _, losses = main_lines(report.pnl, report.last_equity, _MAIN)
    if losses:
        sentences.append(f"What cost: {_amounts(losses, money)}.")
    effectiveness = report.effectiveness
    if effectiveness.sum_vs_inaction is not None and effectiveness.sum_vs_inaction < 0:
        closed = count(effectiveness.closed_positions, "closed position")
        sentences.append(
            f"Doing nothing{_cash(report)} beat acting by {money.amount(-effectiveness.sum_vs_inaction)} over"
            f" {closed}{_standing(report, money)}."
        )
    if _over_market(report) < 0:
        sentences.append(_market(report))
    if extremes is not None and (extremes.worst.period_pnl or 0.0) < 0:
        amount = money.change(extremes.worst.period_pnl)
        sentences.append(f"The worst position was {_named(extremes.worst)}, {amount} in the period.")
    wanted = [r for r in report.heuristic_performance if r.recommendation.kind in {"demote", "investigate"}]
    wanted.sort(key=lambda row: (row.avg_pnl_per_citation or 0.0, row.heuristic_id))
    sentences += _heuristics(wanted, "demoted or investigated", money)
    accuracy = report.prediction_accuracy
    if accuracy.hit_rate is not None and accuracy.hit_rate < 0.5:
        sentences.append(f"Predictions: {accuracy.hits:,} of {accuracy.judged:,} were right.")
    return sentences or ["No line of the result and no position was negative."]


def _heuristics(rows: list[HeuristicReport], verdict: str, money: MoneyStyle) -> Iterator[str]:
    """Of rows in order of their averages: the first whose evidence says something, and how many it says nothing of."""
    conclusive = [row for row in rows if row.is_conclusive]
    yield from (_heuristic(row, money) for row in conclusive[:_NAMED])
    if number := len(rows) - len(conclusive):
        rules = count(number, "further heuristic" if conclusive else "heuristic")
        yield f"By the thresholds {rules} would be {verdict}, on weak evidence."


def _heuristic(row: HeuristicReport, money: MoneyStyle) -> str:
    verdict = {"keep": "keep it", "demote": "demote it", "investigate": "investigate it"}[
        row.recommendation.kind
    ]
    average, outcomes = row.avg_pnl_per_citation or 0.0, count(row.evaluated_count, "outcome")
    sentence = f"averaged {money.change(average)} over {outcomes}"
    if row.role == "exit":
        sentence = f"{'avoided' if average >= 0 else 'missed'} {money.amount(abs(average))} on average over {outcomes}"
    if row.win_rate is not None:
        sentence += f", {'right' if row.role == 'exit' else 'winning'} {percent(row.win_rate)}"
    return f"{row.heuristic_id} ({row.role}) {sentence}: {verdict}, by the thresholds; {_evidence(row)}."


def _evidence(row: HeuristicReport) -> str:
    """What all outcomes say of the period's verdict; where they say the opposite, that is the news."""
    if not row.contradicted:
        return _EVIDENCE[row.evidence]
    verb = "shows" if row.evidence == "supported" else "suggests"
    outcomes = count(row.evidence_n, "outcome")
    return f"but the evidence of all {outcomes} {verb} that it {'earns' if row.gains else 'loses'}"


def _named(p: PositionRetrospective) -> str:
    return f"{p.position_id} ({p.instrument})"


def _hindsight(believed: list[PositionRetrospective], money: MoneyStyle) -> list[str]:
    """What only the ending shows: the largest regret, the most left behind after an exit."""
    sentences = []
    judged = [p for p in believed if p.regret is not None and p.regret > 0]
    if judged:
        p = max(judged, key=lambda p: (p.regret or 0.0, p.position_id))
        sentences.append(f"Knowing the ending, {_named(p)} is the one to look at. {_best_exit(p, money)}")
    after = [p for p in believed if p.left_on_table is not None and p.left_on_table > 0]
    if after:
        p = max(after, key=lambda p: (p.left_on_table or 0.0, p.position_id))
        text = f"After {_named(p)} was left, holding on would have brought {money.amount(p.left_on_table)} more at best"
        if p.hold_on is not None:
            text += f", and {money.change(p.hold_on)} by the end of as long again"
        sentences.append(f"{text}.")
    if not sentences:
        return [
            "Hindsight has nothing to add: no position of the period can be judged against a better exit."
        ]
    return [*sentences, "None of this could have been known at the time."]


def _best_exit(p: PositionRetrospective, money: MoneyStyle) -> str:
    state = "stands at" if p.open else "was left at"
    text = (
        f"Its best exit, {moment(p.optimal_exit_at)} UTC, stood at {money.change(p.optimal_exit_pnl)}; it {state}"
        f" {money.change(p.final_pnl)}: a regret of {money.amount(p.regret)}"
    )
    if p.regret_ratio is not None:
        text += f", {ratio(p.regret_ratio, 1)} times what luck alone leaves behind"
    return f"{text}."


def _went_wrong(p: PositionRetrospective, money: MoneyStyle, *, lost: bool, missed: bool) -> list[str]:
    sentences = []
    if lost and p.vs_inaction is not None:
        verb = "has made" if p.open else "made"
        sentences.append(
            f"It {verb} {money.change(p.final_pnl)}, which is {money.amount(-p.vs_inaction)} less than doing nothing."
        )
    gains, losses = main_lines(p.attribution, None, 1) if lost else ([], [])
    if losses:
        line, amount = losses[0]
        text = f"the largest line against it is {line.phrase} at {money.change(amount)}"
        if gains:
            text += f", the largest for it {gains[0].line.phrase} at {money.change(gains[0].amount)}"
        sentences.append(_sentence(text))
    if missed:
        sentences.append(_best_exit(p, money))
    judged = [row.hit for row in p.entry_predictions if row.hit is not None]
    if lost and judged:
        rights = "all" if all(judged) else "some" if any(judged) else "none"
        sentences.append(f"Of the predictions made for its entry that can be judged, {rights} came true.")
    return sentences


def _lesson(p: PositionRetrospective, *, lost: bool, missed: bool) -> str:
    """What the figures suggest looking at: the entry, the exit or nothing yet."""
    best, luck = p.optimal_exit_pnl, p.regret_ratio
    if lost and best is not None and best <= 0:
        text = "No moment of its life was in profit, so look at the entry before the exit."
    elif missed and luck is not None and luck >= _MORE_THAN_LUCK:
        text = "It left more behind than luck does, so look at the exit rule."
    elif missed and luck is not None:
        text = "A better exit was there, but no further off than luck leaves: the exit rule stands unjudged."
    elif missed:
        text = (
            "A better exit was there; whether luck or the exit rule missed it cannot be told from its marks."
        )
    else:
        text = "Its exit cannot be judged; against doing nothing the entry did not pay."
    return f"{text} One position is one outcome: the heuristic audit counts them."
