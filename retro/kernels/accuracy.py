"""How predictions turned out: hits, residuals and interval coverage.

Arrays run over the predictions resolved in the period (n,), NaN where something was not told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = NDArray[np.float64]

SUFFICIENT_FROM = 30  # resolved predictions


@dataclass(frozen=True, slots=True, eq=False)
class Resolved:
    """Resolved predictions as columns (n,): what was predicted, its interval, what came, and the agent's verdict.

    `correct` is 1 or 0, NaN when the agent did not say.
    """

    predicted: Floats
    low: Floats
    high: Floats
    actual: Floats
    correct: Floats


@dataclass(frozen=True, slots=True)
class HitCounts:
    """How `total` resolved predictions turned out; `judged` are those that could be hit or missed at all.

    Residuals are actual less predicted. A rate or mean over nothing is None.
    """

    total: int
    judged: int
    hits: int
    hit_rate: float | None
    mean_residual: float | None
    mean_absolute_residual: float | None
    interval_coverage: float | None
    sample_sufficient: bool


def verdicts(resolved: Resolved) -> Floats:
    """Say of each prediction whether it was a hit: 1, 0, or NaN where it can be neither.

    The agent's own verdict comes first; else a prediction with an interval hits when the actual lies in it, ends
    included; else it hits when the actual has the predicted sign. A predicted 0 has none.
    """
    actual, nan = resolved.actual, np.nan
    inside = np.where(_has_interval(resolved), _inside(resolved), nan)
    directed = ~np.isnan(actual) & (np.abs(resolved.predicted) > 0)
    same_sign = np.where(directed, np.sign(actual) == np.sign(resolved.predicted), nan)
    by_interval = np.where(np.isnan(inside), same_sign, inside)
    return np.where(np.isnan(resolved.correct), by_interval, resolved.correct)


def accuracy(resolved: Resolved) -> HitCounts:
    """Sum up resolved predictions; 30 of them make a sufficient sample."""
    hits = _present(verdicts(resolved))
    residuals = _present(resolved.actual - resolved.predicted)
    covered = _inside(resolved)[_has_interval(resolved)]
    total = len(resolved.predicted)
    return HitCounts(
        total=total,
        judged=len(hits),
        hits=int(np.sum(hits)),
        hit_rate=_mean(hits),
        mean_residual=_mean(residuals),
        mean_absolute_residual=_mean(np.abs(residuals)),
        interval_coverage=_mean(covered.astype(np.float64)),
        sample_sufficient=total >= SUFFICIENT_FROM,
    )


def accuracy_by(categories: Sequence[str | None], resolved: Resolved) -> dict[str, HitCounts]:
    """Sum up resolved predictions by category (n,), sorted; those without one belong to none."""
    members: dict[str, list[int]] = {}
    for i, category in enumerate(categories):
        if category is not None:
            members.setdefault(category, []).append(i)
    return {category: accuracy(_select(resolved, members[category])) for category in sorted(members)}


def _select(resolved: Resolved, rows: list[int]) -> Resolved:
    return Resolved(
        predicted=resolved.predicted[rows],
        low=resolved.low[rows],
        high=resolved.high[rows],
        actual=resolved.actual[rows],
        correct=resolved.correct[rows],
    )


def _has_interval(resolved: Resolved) -> NDArray[np.bool_]:
    return ~(np.isnan(resolved.low) | np.isnan(resolved.high) | np.isnan(resolved.actual))


def _inside(resolved: Resolved) -> NDArray[np.bool_]:
    return (resolved.low <= resolved.actual) & (resolved.actual <= resolved.high)


def _present(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def _mean(values: Floats) -> float | None:
    return math.fsum(values.tolist()) / len(values) if len(values) else None
