"""A review in brief, for an agent that asks through MCP: what came of it, what to look at, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from retro.report import RetrospectiveReport
from retro.surface.mcp.size import brief, fitted

if TYPE_CHECKING:
    from retro.report import HeuristicReport, PositionRetrospective
    from retro.report.document import Document

__all__ = ["review_in_brief", "without_paths"]

_DRAWN: Final = ("path", "pnl_trajectory", "post_exit_trajectory")
"""What a position keeps to be drawn: most of the bytes of a review."""
_ORDER: Final = ("demote", "investigate", "keep", "insufficient_data")
_POSITION: Final = (
    "position_id", "instrument", "side", "entry_at", "exit_at", "open", "final_pnl", "period_pnl", "pnl_r", "mfe", "mae",
    "regret", "vs_inaction", "hold_on", "exit_reason", "flags", "lesson",
)  # fmt: skip


def without_paths(document: dict[str, Any]) -> dict[str, Any]:
    """A stored review without what is there to be drawn."""
    document = {name: value for name, value in document.items() if name not in _DRAWN}
    positions = document.get("positions")
    if isinstance(positions, list):
        document["positions"] = [without_paths(position) for position in positions]
    return document


def review_in_brief(review: Document) -> dict[str, Any]:
    """At most 4 KB of a review: its figures, the positions and rules that matter most, its words."""
    if isinstance(review, RetrospectiveReport):
        return fitted(lambda items, characters: _report(review, items, characters))
    return fitted(lambda items, characters: _position(review, items, characters))


def _position(position: PositionRetrospective, items: int, characters: int) -> dict[str, Any]:
    document = without_paths(position.model_dump(mode="json"))
    document["attribution"] = _told(document["attribution"])
    short: dict[str, Any] = brief(document, items, characters)
    return short


def _report(report: RetrospectiveReport, items: int, characters: int) -> dict[str, Any]:
    positions = sorted(report.positions, key=_weight, reverse=True)
    rules = [row for row in report.heuristic_performance if row.citation_count or row.evidence_n]
    rules.sort(key=lambda row: (_ORDER.index(row.recommendation.kind), -row.evidence_n))
    document = {
        "id": report.id,
        "agent": report.agent,
        "period_start": report.period_start,
        "period_end": report.period_end,
        "revision": report.revision,
        "base_currency": report.base_currency,
        "pnl": _told(report.pnl.model_dump(mode="json")),
        "risk": {
            name: getattr(report.risk, name)
            for name in ("days", "noisy", "max_drawdown", "sharpe", "sharpe_interval", "time_weighted_return")
        },
        "effectiveness": {
            name: getattr(report.effectiveness, name)
            for name in (
                "closed_positions",
                "sum_vs_inaction",
                "inaction_superiority_rate",
                "score",
                "alarm_text",
            )
        }
        | {"open_count": report.open_positions.size, "open_pnl": report.open_positions.pnl},
        "predictions": {
            name: getattr(report.prediction_accuracy, name)
            for name in ("total", "judged", "hits", "hit_rate")
        },
        "what_worked": report.what_worked,
        "what_failed": report.what_failed,
        "hindsight": report.hindsight,
        "confidence": report.confidence,
        "positions": [_part(position.model_dump(mode="json"), _POSITION) for position in positions],
        "heuristics": [_rule(row) for row in rules],
        "proposals": [_part(proposal, ("op", "heuristic", "new")) for proposal in report.playbook_proposals],
        "warnings": report.data_quality.warnings,
    }
    short: dict[str, Any] = brief(document, items, characters)
    counts = {name: len(document[name]) for name in ("positions", "heuristics", "proposals", "warnings")}  # type: ignore[arg-type]
    left_out = {name: count - items for name, count in counts.items() if count > items}
    return short | ({"left_out": left_out} if left_out else {})


def _weight(position: PositionRetrospective) -> float:
    """How much a position moved the period: by what it was worth against doing nothing, else by its result."""
    return abs(position.final_pnl or 0.0 if position.vs_inaction is None else position.vs_inaction)


def _told(figures: dict[str, Any]) -> dict[str, Any]:
    """The figures that are there and not 0; the total always."""
    return {name: value for name, value in figures.items() if name == "total" or value}


def _part(document: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: document.get(name) for name in names}


def _rule(row: HeuristicReport) -> dict[str, Any]:
    return {
        "heuristic_id": row.heuristic_id,
        "role": row.role,
        "recommendation": row.recommendation.kind,
        "reason": row.recommendation.reason,
        "n": row.evaluated_count,
        "win_rate": row.win_rate,
        "evidence": row.evidence,
        "evidence_n": row.evidence_n,
        "e_against": row.e_against,
        "e_for": row.e_for,
        "interval": row.interval,
        "threshold_unit": row.threshold_unit,
    }
