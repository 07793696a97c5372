"""What a stated confidence is worth: an isotonic curve through what came of past ones, and how far off they were.

Samples are (stated confidence p in 0..1, right 1 or 0), in the order in which they became known. The curve is the
monotone least-squares fit (pool adjacent violators; equal p pooled first), straight between the ends of its blocks and
flat beyond them, so that it says what scikit-learn's `IsotonicRegression(out_of_bounds="clip")` says. What it says is
kept 1/(n + 2) away from 0 and 1: no sample is proof of certainty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from retro.kernels.uncertainty import Floats, Integers

BINS = 20
BAND = (2.5, 97.5)  # per cent of the resamples
RESAMPLES = 1_000
_NEAR = 1e-9  # a confidence this little below a bin's edge was written as the edge


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Thresholds of a fit, `stated` and `fitted` (k,), both rising; `n` samples made it."""

    stated: Floats
    fitted: Floats
    n: int

    def at(self, confidence: Floats) -> Floats:
        """What these confidences (m,) are worth: read off the fit, then clipped to [1/(n+2), 1 - 1/(n+2)]."""
        edge = 1 / (self.n + 2)
        return np.clip(np.interp(confidence, self.stated, self.fitted), edge, 1 - edge)


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityBins:
    """The bins [k/20, (k+1)/20) that hold samples, arrays (k,): which, how many, their mean confidence, how many right."""

    index: Integers
    n: Integers
    stated: Floats
    right: Integers

    @property
    def ece(self) -> float:
        """Expected calibration error: the mean distance of stated from true, weighted by samples."""
        gaps = np.abs(self.right / self.n - self.stated) * self.n
        return math.fsum(gaps.tolist()) / int(self.n.sum())


def isotonic(x: Floats, y: Floats, weight: Floats | None = None) -> tuple[Floats, Floats]:
    """Thresholds (k,), (k,) of the monotone fit of y on x, weighted: the ends of each block of equal fitted values.

    What lies between two thresholds is read off the straight line between them.
    """
    weights = np.ones(len(x)) if weight is None else np.asarray(weight, dtype=np.float64)
    points, place = np.unique(x, return_inverse=True)
    mass = np.bincount(place, weights).astype(np.float64)
    mean = np.bincount(place, weights * y) / mass
    value, length = _blocks(mean, mass)
    fitted = np.repeat(value, length)
    inner = (fitted[1:-1] != fitted[:-2]) | (fitted[1:-1] != fitted[2:])
    ends = np.concatenate(([True], inner, [True])) if len(points) > 1 else np.array([True])
    return points[ends], fitted[ends]


def _blocks(mean: Floats, mass: Floats) -> tuple[Floats, Integers]:
    """Values and lengths of the pooled blocks."""
    value: list[float] = []
    load: list[float] = []
    length: list[int] = []
    for level, weight in zip(mean.tolist(), mass.tolist(), strict=True):
        value.append(level)
        load.append(weight)
        length.append(1)
        while len(value) > 1 and value[-2] >= value[-1]:
            level_above, weight_above, length_above = value.pop(), load.pop(), length.pop()
            total = load[-1] + weight_above
            value[-1] = (value[-1] * load[-1] + level_above * weight_above) / total
            load[-1] = total
            length[-1] += length_above
    return np.array(value), np.array(length)


def fit(stated: Floats, right: Floats) -> Curve:
    """The curve of n >= 1 samples (n,)."""
    return Curve(*isotonic(stated, right), len(stated))


def reliability(confidence: Floats, right: Floats, parts: int = BINS) -> ReliabilityBins:
    """Samples (n,) by their bin, one of so many equal parts of 0..1; empty bins are left out."""
    bins = bin_of(confidence, parts)
    count = np.bincount(bins, minlength=parts)
    index = np.flatnonzero(count)
    stated = np.array([math.fsum(confidence[bins == k].tolist()) / count[k] for k in index])
    hits = np.bincount(bins, right, minlength=parts)[index].astype(np.int64)
    return ReliabilityBins(index, count[index], stated, hits)


def bin_of(confidence: Floats, parts: int = BINS) -> Integers:
    """Which bin each confidence (n,) lies in; 1 lies in the last."""
    return np.minimum(np.floor(parts * confidence + _NEAR).astype(np.int64), parts - 1)


def brier(confidence: Floats, right: Floats) -> float:
    """Mean squared distance of confidence from outcome (n,), n >= 1; 0 is best."""
    return math.fsum(((confidence - right) ** 2).tolist()) / len(confidence)


def ece_band(confidence: Floats, right: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """95 % bootstrap band of the ECE of n >= 1 samples: 1,000 samples of n drawn with replacement.

    Equal samples are drawn together, by how many of them come; the order of the samples does not matter.
    """
    stated, counts, gap = [], [], []
    for outcome in (0.0, 1.0):
        values, count = np.unique(confidence[right == outcome], return_counts=True)
        stated.append(values)
        counts.append(count)
        gap.append(outcome - values)
    bins, n = bin_of(np.concatenate(stated)), len(confidence)
    drawn = rng.multinomial(n, np.concatenate(counts) / n, RESAMPLES)
    excess = np.concatenate(gap) * drawn
    gaps = np.zeros(RESAMPLES)
    for k in np.unique(bins):
        gaps += np.abs(np.add.reduce(excess[:, bins == k], axis=1))
    low, high = np.percentile(gaps / n, BAND)
    return float(low), float(high)
