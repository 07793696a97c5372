"""What a review says of an experiment and of a hypothesis: the one home of these words on our side. Pure.

`Verdict` grades an experiment by how likely its gain was luck; `Status` settles a hypothesis, by the evidence of the
audit. Whether a merged proposal was right is another question, by later citations alone: `playbook.judge`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from memory.records.experiment import Verdict
    from memory.records.hypothesis import Status
    from retro.report import HeuristicReport, RetrospectiveReport

__all__ = ["FEW_DECISIONS", "heuristic_verdict", "hypothesis_status", "review_verdict"]

FEW_DECISIONS: Final = 10
"""Fewer resolved decisions than this are no strong signal, whatever their figures."""
_SURE: Final = 0.95


def review_verdict(report: RetrospectiveReport) -> Verdict:
    """`overfit`: one trade carries it; `strong_signal`: it gained, acting beat doing nothing, and luck is unlikely."""
    gained = report.pnl.total > 0 and (report.effectiveness.sum_vs_inaction or 0.0) > 0
    if not gained:
        return "no_signal"
    if (report.breakdowns.concentration or 0.0) >= 1.0:
        return "overfit"
    strong = (report.risk.psr or 0.0) >= _SURE and report.resolved_decisions >= FEW_DECISIONS
    return "strong_signal" if strong else "weak_signal"


def heuristic_verdict(row: HeuristicReport) -> Verdict:
    """What a review's test of one heuristic showed; `overfit`: kept for one trade that carries it."""
    if row.evidence == "supported" and row.gains:
        return "strong_signal"
    if row.recommendation.kind == "keep" and row.recommendation_without_largest in ("demote", "investigate"):
        return "overfit"
    return "weak_signal" if row.evidence == "suggestive" and row.gains else "no_signal"


def hypothesis_status(row: HeuristicReport) -> Status | None:
    """Validated: supported, and it would be kept; refuted: supported, and demoted; neither: inconclusive."""
    if row.evidence != "supported" or row.recommendation.kind == "insufficient_data":
        return None
    if row.recommendation.kind == "keep" and row.gains is not False:
        return "validated"
    if row.recommendation.kind == "demote" and row.gains is not True:
        return "refuted"
    return "inconclusive"
