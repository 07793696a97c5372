"""What the agent wrote about its positions, what it predicted, and how that turned out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.accounting.order import natural_key
from retro.evaluate.audit.citations import resolve
from retro.evaluate.columns import column
from retro.evaluate.position.retrospective import AgentWords
from retro.evaluate.position.summary import ENTRY_ACTIONS, EXIT_ACTIONS, cites_of
from retro.kernels import accuracy as kernel
from retro.periods import format_instant
from retro.report import Accuracy
from retro.report import EntryPrediction as PredictionRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retro.accounting.track import PositionHistory
    from retro.model import Prediction, Resolution

__all__ = ["accuracy", "words_of"]


def words_of(
    track: PositionHistory,
    predictions: Mapping[str, Prediction],
    resolutions: Mapping[str, Resolution],
    claims: Mapping[str, str],
) -> AgentWords:
    """What the agent wrote about a position: cites by role, reasoning, the predictions that justified entry."""
    decisions = sorted(track.decisions, key=lambda d: (d.at, natural_key(d.id)))
    entry = [d for d in decisions if d.action in ENTRY_ACTIONS]
    left = [d for d in decisions if d.action in EXIT_ACTIONS]
    entry_ids = {d.id for d in entry}
    told = [
        p
        for p in predictions.values()
        if p.decision in entry_ids or (p.decision is None and p.position == track.position.position)
    ]
    told.sort(key=lambda p: (p.at, natural_key(p.id)))
    return AgentWords(
        entry=list(resolve((cite for d in entry for cite in cites_of(d)), claims)),
        exit=list(resolve((cite for d in left for cite in cites_of(d)), claims)),
        reasoning=next((d.reasoning for d in entry if d.reasoning), None),
        exit_reasoning=next((d.reasoning for d in reversed(left) if d.reasoning), None),
        predictions=[_prediction_row(p, resolutions.get(p.id)) for p in told],
    )


def _prediction_row(told: Prediction, outcome: Resolution | None) -> PredictionRow:
    return PredictionRow(
        id=told.id,
        category=told.category,
        item=told.item,
        at=format_instant(told.at),
        predicted=told.predicted,
        low=told.low,
        high=told.high,
        unit=told.unit,
        actual=None if outcome is None else outcome.actual,
        hit=None if outcome is None else _hit(told, outcome),
    )


def _hit(told: Prediction, outcome: Resolution) -> bool | None:
    judged = _accuracy_of([(told, outcome)])
    return judged.hits == 1 if judged.judged else None


def accuracy(predictions: Mapping[str, Prediction], resolutions: Sequence[Resolution]) -> Accuracy:
    """The predictions resolved in the period."""
    pairs = [(predictions[r.prediction], r) for r in resolutions if r.prediction in predictions]
    pairs.sort(key=lambda pair: (pair[1].at, natural_key(pair[1].id)))
    return _accuracy_of(pairs)


def _accuracy_of(pairs: Sequence[tuple[Prediction, Resolution]]) -> Accuracy:
    """Accuracy over pairs of prediction and resolution."""
    resolved = kernel.Resolved(
        predicted=column(p.predicted for p, _ in pairs),
        low=column(p.low for p, _ in pairs),
        high=column(p.high for p, _ in pairs),
        actual=column(r.actual for _, r in pairs),
        correct=column(None if r.correct is None else float(r.correct) for _, r in pairs),
    )
    found = kernel.accuracy(resolved)
    by_category = kernel.accuracy_by([p.category or "uncategorised" for p, _ in pairs], resolved)
    reasons = {}
    if found.hit_rate is None:
        reasons["hit_rate"] = "no resolved prediction can be judged right or wrong"
    if found.mean_residual is None:
        reasons["mean_residual"] = reasons["mean_abs_residual"] = (
            "no resolved prediction has both a figure and an actual"
        )
    if found.interval_coverage is None:
        reasons["interval_coverage"] = "no resolved prediction has an interval"
    return Accuracy(
        total=found.total,
        hits=found.hits,
        judged=found.judged,
        hit_rate=found.hit_rate,
        mean_residual=found.mean_residual,
        mean_abs_residual=found.mean_absolute_residual,
        interval_coverage=found.interval_coverage,
        sample_sufficient=found.sample_sufficient,
        by_category={
            name: {"total": row.total, "hits": row.hits, "hit_rate": row.hit_rate}
            for name, row in by_category.items()
        },
        reasons=reasons,
    )
