"""What a finished review came to, noted beside its row: from its document, and from those an older version made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.kinds import WEEKLY
from retro.report import PositionRetrospective
from retro.report.document import read
from retro.store.jobs.results import ReviewSummary, RuleWeek, keep_summaries, unsummed

if TYPE_CHECKING:
    from retro.app.context import WorkContext
    from retro.report import HeuristicReport
    from retro.report.document import Document
    from retro.store.jobs.reviews import Review

__all__ = ["sum_up_earlier", "summary_of"]

_FIRST_HOURS: Final = ("4h", "1h")
"""Checkpoints by which a position looked right or wrong, the later first."""
_AT_ONCE: Final = 100
_A_PASS: Final = 1000
"""Documents of an older version that one pass reads: about three seconds."""


def summary_of(review: Review, document: Document) -> ReviewSummary:
    """What the document of a review's newest revision comes to; of nothing that nobody believes a figure stays."""
    if isinstance(document, PositionRetrospective):
        is_final = document.is_believed and not document.open
        return ReviewSummary(
            review.key,
            review.revision,
            document.final_pnl if is_final else None,
            document.vs_inaction if is_final else None,
            _reversal(document) if is_final else None,
        )
    rules = document.heuristic_performance if review.kind == WEEKLY.name else []
    return ReviewSummary(
        review.key,
        review.revision,
        document.result,
        document.effectiveness.sum_vs_inaction,
        None,
        tuple(map(_week_of, rules)),
    )


def _reversal(position: PositionRetrospective) -> float | None:
    """|result less the PnL of its first hours| / notional, where the one is a gain and the other a loss; else None."""
    early = {point.offset: point.pnl for point in position.pnl_trajectory}
    first = next((early[name] for name in _FIRST_HOURS if early.get(name) is not None), None)
    if first is None or position.final_pnl is None or not position.notional:
        return None
    if first * position.final_pnl >= 0:
        return None
    return abs(position.final_pnl - first) / abs(position.notional)


def _week_of(row: HeuristicReport) -> RuleWeek:
    low, high = row.interval or (None, None)
    return RuleWeek(
        rule=row.heuristic_id,
        role=row.role,
        n=row.evidence_n,
        mean=row.evidence_avg,
        low=low,
        high=high,
        unit=row.threshold_unit,
        verdict=row.recommendation.kind,
        evidence=row.evidence,
        e_against=row.e_against,
        e_for=row.e_for,
        ripe_in=row.weeks_to_verdict,
        unripe=None if row.weeks_to_verdict is not None else row.reasons.get("weeks_to_verdict", "not known"),
    )


def sum_up_earlier(bench: WorkContext) -> None:
    """Note what reviews of an older version came to, a thousand in a pass; one whose text was put away says nothing."""
    for _ in range(0, _A_PASS, _AT_ONCE):
        if bench.stopping():
            return
        with bench.store.read() as conn:
            waiting = unsummed(conn, _AT_ONCE)
        if not waiting:
            return
        summaries = [_summary(bench, review, text) for review, text in waiting]
        with bench.store.write() as conn:
            keep_summaries(conn, summaries)
        bench.beat()


def _summary(bench: WorkContext, review: Review, text: str | None) -> ReviewSummary:
    """What a stored text says; nothing of one that was put away or cannot be read: it stops no knock."""
    try:
        if text is not None:
            return summary_of(review, read(text, review.kind))
    except ValueError as error:
        bench.log("review_not_summed", level="warning", review=review.id, reason=str(error)[:200])
    return ReviewSummary(review.key, review.revision, None, None, None)
