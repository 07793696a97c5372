"""What a review says of an experiment and of a hypothesis: the one home of these words on our side. Pure.

`Verdict` grades an experiment and `Status` settles a hypothesis, both by the evidence of the audit: a word that every
week's review may say has to hold however often it is said, and a week's own figures do not. Whether a merged proposal was right is another question, by later citations alone: `playbook.judge`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from memory.records.experiment import Verdict
    from memory.records.hypothesis import Status
    from retro.report import HeuristicReport, RetrospectiveReport

__all__ = [
    "FEW_DECISIONS",
    "heuristic_verdict",
    "hypothesis_status",
    "rests_on_one_outcome",
    "rests_on_one_trade",
    "review_verdict",
]

FEW_DECISIONS: Final = 10
"""Fewer resolved decisions than this are no strong signal, whatever their figures."""


def review_verdict(report: RetrospectiveReport) -> Verdict:
    """`strong_signal`: it gained, acting beat doing nothing, and a rule it tested is supported as gaining.

    Else it is weak, as where one trade carries it: a Sharpe ratio of this period alone looks skilled one time in twenty,
    so every agent has some such weeks a year.
    """
    gained = report.pnl.total > 0 and (report.effectiveness.sum_vs_inaction or 0.0) > 0
    if not gained:
        return "no_signal"
    tested = [row for row in report.heuristic_performance if row.evaluated_count]
    is_supported = any(heuristic_verdict(row) == "strong_signal" for row in tested)
    strong = is_supported and report.resolved_decisions >= FEW_DECISIONS
    return "strong_signal" if strong and not rests_on_one_trade(report) else "weak_signal"


def rests_on_one_trade(report: RetrospectiveReport) -> bool:
    """Whether the largest gain alone is as much as the whole net gain."""
    return (report.breakdowns.concentration or 0.0) >= 1.0


def heuristic_verdict(row: HeuristicReport) -> Verdict:
    """What a review's test of one heuristic showed; nothing, where it would be kept for one outcome that carries it."""
    if row.evidence == "supported" and row.gains:
        return "strong_signal"
    if rests_on_one_outcome(row):
        return "no_signal"
    return "weak_signal" if row.evidence == "suggestive" and row.gains else "no_signal"


def rests_on_one_outcome(row: HeuristicReport) -> bool:
    """Whether it would be kept for one outcome alone."""
    without = row.recommendation_without_largest
    return row.recommendation.kind == "keep" and without in ("demote", "investigate")


def hypothesis_status(row: HeuristicReport) -> Status | None:
    """Validated: supported, and it would be kept; refuted: supported, and demoted; neither: inconclusive."""
    if row.evidence != "supported" or row.recommendation.kind == "insufficient_data":
        return None
    if row.recommendation.kind == "keep" and row.gains is not False:
        return "validated"
    if row.recommendation.kind == "demote" and row.gains is not True:
        return "refuted"
    return "inconclusive"
