"""What the agent wrote about its positions, what it predicted, and how that turned out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playbook.citation import resolve
from retro.accounting.order import natural_key
from retro.evaluate.columns import column
from retro.evaluate.position.foresight import ENTRY_ACTIONS, EXIT_ACTIONS, cites_of
from retro.evaluate.position.retrospective import AgentWords
from retro.kernels import accuracy as kernel
from retro.periods import format_instant, parse_instant
from retro.report import Accuracy, EntryPrediction

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from retro.accounting.track import PositionHistory
    from retro.model import Prediction, Resolution

__all__ = ["PredictionIndex", "accuracy", "first_resolutions", "words_of"]


class PredictionIndex:
    """Predictions by what they were made for: an entry decision, or else a position."""

    def __init__(self, predictions: Iterable[Prediction]) -> None:
        self._by_decision: dict[str, list[Prediction]] = {}
        self._by_position: dict[str, list[Prediction]] = {}
        for prediction in predictions:
            if prediction.decision is not None:
                self._by_decision.setdefault(prediction.decision, []).append(prediction)
            elif prediction.position is not None:
                self._by_position.setdefault(prediction.position, []).append(prediction)

    def for_position(self, position: str, decisions: Iterable[str]) -> list[Prediction]:
        """The predictions made for a position or for one of its decisions, in order of time."""
        own = [p for decision in decisions for p in self._by_decision.get(decision, ())]
        return sorted([*own, *self._by_position.get(position, ())], key=lambda p: (p.at, natural_key(p.id)))


def words_of(
    track: PositionHistory,
    predictions: PredictionIndex,
    resolutions: Mapping[str, Resolution],
    claims: Mapping[str, str],
) -> AgentWords:
    """What the agent wrote about a position: cites by role, reasoning, the predictions that justified entry."""
    entry = [d for d in track.decisions if d.action in ENTRY_ACTIONS]  # in order, as they were replayed
    exits = [d for d in track.decisions if d.action in EXIT_ACTIONS]
    entry_ids = {d.id for d in entry}
    own_predictions = predictions.for_position(track.position.position, entry_ids)
    return AgentWords(
        entry=list(resolve((cite for d in entry for cite in cites_of(d)), claims)),
        exit=list(resolve((cite for d in exits for cite in cites_of(d)), claims)),
        reasoning=next((d.reasoning for d in entry if d.reasoning), None),
        exit_reasoning=next((d.reasoning for d in reversed(exits) if d.reasoning), None),
        predictions=[_prediction_row(p, resolutions.get(p.id)) for p in own_predictions],
    )


def _prediction_row(prediction: Prediction, outcome: Resolution | None) -> EntryPrediction:
    return EntryPrediction(
        id=prediction.id,
        category=prediction.category,
        item=prediction.item,
        at=format_instant(prediction.at),
        predicted=prediction.predicted,
        low=prediction.low,
        high=prediction.high,
        unit=prediction.unit,
        actual=None if outcome is None else outcome.actual,
        hit=None if outcome is None else _hit(prediction, outcome),
    )


def _hit(prediction: Prediction, outcome: Resolution) -> bool | None:
    judged = _accuracy_of([(prediction, outcome)])
    return judged.hits == 1 if judged.judged else None


def _is_late(prediction: Prediction, outcome: Resolution) -> bool:
    """Whether a prediction is dated after what it speaks of, or after the outcome it is held against."""
    target = prediction.target_at
    if isinstance(target, str):
        target = parse_instant(target)
    elif target is not None:
        target *= 1000
    return prediction.at > outcome.at or (target is not None and prediction.at > target)


def accuracy(predictions: Mapping[str, Prediction], resolutions: Sequence[Resolution]) -> Accuracy:
    """The predictions resolved in the period; of several resolutions of one the first counts."""
    first = first_resolutions(resolutions)
    return _accuracy_of(
        [(predictions[name], outcome) for name, outcome in first.items() if name in predictions]
    )


def first_resolutions(resolutions: Iterable[Resolution]) -> dict[str, Resolution]:
    """Prediction -> the first that was said of how it came out, in order of (at, id)."""
    first: dict[str, Resolution] = {}
    for outcome in sorted(resolutions, key=lambda each: (each.at, natural_key(each.id))):
        first.setdefault(outcome.prediction, outcome)
    return first


def _accuracy_of(pairs: Sequence[tuple[Prediction, Resolution]]) -> Accuracy:
    """Accuracy over pairs of prediction and resolution; one made after the fact is counted and not judged."""
    early = [not _is_late(p, r) for p, r in pairs]
    resolved = kernel.Resolved(
        predicted=column(p.predicted for p, _ in pairs),
        low=column(p.low for p, _ in pairs),
        high=column(p.high for p, _ in pairs),
        actual=column(r.actual if ok else None for ok, (_, r) in zip(early, pairs, strict=True)),
        correct=column(
            float(r.correct) if ok and r.correct is not None else None
            for ok, (_, r) in zip(early, pairs, strict=True)
        ),
    )
    overall = kernel.accuracy(resolved)
    by_category = kernel.accuracy_by([p.category or "uncategorised" for p, _ in pairs], resolved)
    reasons = {}
    timely = "resolved prediction" if all(early) else "resolved prediction that was made in time"
    if overall.hit_rate is None:
        reasons["hit_rate"] = f"no {timely} can be judged right or wrong"
    if overall.mean_residual is None:
        reasons["mean_residual"] = reasons["mean_abs_residual"] = (
            f"no {timely} has both a figure and an actual"
        )
    if overall.interval_coverage is None:
        reasons["interval_coverage"] = f"no {timely} has an interval"
    return Accuracy(
        total=overall.total,
        hits=overall.hits,
        judged=overall.judged,
        after_the_fact=len(early) - sum(early),
        hit_rate=overall.hit_rate,
        mean_residual=overall.mean_residual,
        mean_abs_residual=overall.mean_absolute_residual,
        interval_coverage=overall.interval_coverage,
        sample_sufficient=sum(early) >= kernel.SUFFICIENT_FROM,
        by_category={
            name: {"total": row.total, "hits": row.hits, "hit_rate": row.hit_rate}
            for name, row in by_category.items()
        },
        reasons=reasons,
    )
