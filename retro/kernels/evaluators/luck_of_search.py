"""How good the best of many rules would look by luck: signs of whole days turned, the same for all rules.

White, "A Reality Check for Data Snooping", Econometrica 68 (2000), with sign flips of day sums in place of its bootstrap.
`differences` are sums by day, shape (rules, days): what each rule changed of the positions that left on that day.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from retro.kernels.uncertainty import Floats

DRAWS = 9_999
_RESAMPLES = 2_000
_BLOCK = 2_500  # draws at once: the sums of 24 rules stay in the cache
_EQUAL = 1e-9  # of all that a rule moved: two sums of the same days in another order


def search_p(differences: Floats, rng: np.random.Generator, draws: int = DRAWS) -> tuple[Floats, float]:
    """How often chance alone improves as much: p (rules,) of each, and p of the best against the best of all.

    Each draw turns the signs of whole days, the same for all rules, so that rules that are alike count as one search.
    p = (1 + draws with at least that sum) / (1 + draws), one-sided.
    """
    total = np.add.reduce(differences, axis=1)
    slack = _EQUAL * np.maximum(np.add.reduce(np.abs(differences), axis=1), 1e-300)
    best = int(np.argmax(total))
    reached = np.zeros(len(total), dtype=np.int64)
    topped = 0
    for first in range(0, draws, _BLOCK):
        shape = (differences.shape[1], min(_BLOCK, draws - first))
        sums = _weighted(differences, rng.integers(0, 2, shape, dtype=np.int8) * np.int8(2) - np.int8(1))
        reached += (sums >= (total - slack)[:, None]).sum(axis=1)
        topped += int((sums.max(axis=0) >= total[best] - slack[best]).sum())
    p = (1 + reached) / (1 + draws)
    return p, max((1 + topped) / (1 + draws), float(p[best]))


def sum_intervals(differences: Floats, rng: np.random.Generator) -> Floats:
    """95 % bootstrap intervals (rules, 2) of the sums over days, two or more: whole days drawn with replacement.

    2,000 draws, the same days for all rules; ends by linear interpolation between them.
    """
    days = differences.shape[1]
    chosen = rng.integers(0, days, (_RESAMPLES, days)) + days * np.arange(_RESAMPLES)[:, None]
    times = np.bincount(chosen.ravel(), minlength=_RESAMPLES * days).reshape(_RESAMPLES, days)
    sums = _weighted(differences, np.ascontiguousarray(times.T))
    return np.asarray(np.percentile(sums, (2.5, 97.5), axis=1).T)


def _weighted(differences: Floats, weights: np.ndarray) -> Floats:
    """Sums (rules, draws) of days that count so many times, `weights` (days, draws); added day by day, in order."""
    sums = np.zeros((len(differences), weights.shape[1]))
    part = np.empty_like(sums)
    for weight, day in zip(weights, differences.T, strict=True):
        if day.any():
            sums += np.multiply(day[:, None], weight, out=part)
    return sums
