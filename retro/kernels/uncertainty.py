"""How sure a mean, a rate or a family of p-values is.

Outcomes of one entry day move together, so the uncertainty of a mean counts days, not outcomes: everything about
a mean works on `DaySums` and costs the same however many outcomes a day had. Randomness is an argument.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retro.kernels.special import beta_quantile, normal_cdf, normal_quantile, t_quantile, t_two_sided

Floats = NDArray[np.float64]

BOOTSTRAP_FROM = 10  # days; below, resampling has too few distinct samples and the t interval covers better
NO_SPREAD = 1e-12  # a standard error below this is rounding, not spread
_MOST_CELLS = 500_000  # numbers drawn for one bootstrap or permutation
_MOST_SIGNS = 20  # outcomes whose 2^n signs are still enumerated
_MOST_SPLITS = 20_000  # regroupings that are still enumerated
_LARGE_POOL, _LARGE_GROUP = 1_000, 200  # outcomes beyond which regroupings are not permuted one by one


@dataclass(frozen=True, slots=True, eq=False)
class DaySums:
    """Outcomes added up by entry day: `sums` and `counts`, one element a day, in the order of the days."""

    sums: Floats
    counts: Floats

    @property
    def days(self) -> int:
        """Number of days with an outcome."""
        return len(self.sums)

    @property
    def n(self) -> int:
        """Number of outcomes."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float | None:
        """Mean outcome; None without any."""
        return math.fsum(self.sums.tolist()) / self.n if self.days else None


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean with its standard error, two-sided p of mean = 0 and interval; what is absent has its `reason`."""

    n: int
    days: int
    mean: float | None = None
    standard_error: float | None = None
    p: float | None = None
    interval: tuple[float, float] | None = None
    method: Literal["t", "bca"] | None = None
    reason: Literal["too_few_days", "no_spread"] | None = None


def by_day(values: ArrayLike, days: ArrayLike) -> DaySums:
    """Add up `values` (n,) by their entry `days` (n,), integers of any epoch.

    The order of the input does not matter, not even for the last bit.
    """
    value, day = np.asarray(values, dtype=np.float64), np.asarray(days)
    if len(value) == 0:
        return DaySums(np.empty(0), np.empty(0))
    order = np.lexsort((value, day))
    first = np.flatnonzero(np.diff(day[order], prepend=day[order[0]] - 1))
    counts = np.diff(first, append=len(value)).astype(np.float64)
    return DaySums(np.add.reduceat(value[order], first), counts)


def mean_estimate(sample: DaySums, rng: np.random.Generator, confidence: float = 0.95) -> MeanEstimate:
    """Mean of a sample with the interval its number of days deserves: t below 10 days, BCa from there.

    p is always the clustered t's. Fewer than 2 days: neither interval nor p. All days alike: the interval is the
    mean itself and p is 0, or both are absent when that mean is 0.
    """
    estimate = clustered_t(sample, confidence)
    if estimate.interval is None or estimate.days < BOOTSTRAP_FROM:
        return estimate
    return replace(estimate, interval=bca_interval(sample, rng, confidence), method="bca")


def clustered_t(sample: DaySums, confidence: float = 0.95) -> MeanEstimate:
    """Day-clustered t interval and p: Var(mean) = G/(G-1) * sum of squared day residual sums / n^2, G-1 degrees.

    With one outcome a day it is the ordinary t interval. Too few days or no spread: as `mean_estimate` says.
    """
    n, days, mean = sample.n, sample.days, sample.mean
    if mean is None or days < 2:
        return MeanEstimate(n, days, mean, reason="too_few_days")
    residuals = sample.sums - sample.counts * mean
    error = math.sqrt(days / (days - 1) * math.fsum((residuals * residuals).tolist())) / n
    if error <= NO_SPREAD * max(1.0, abs(mean)):
        if abs(mean) <= NO_SPREAD:
            return MeanEstimate(n, days, mean, 0.0, reason="no_spread")
        return MeanEstimate(n, days, mean, 0.0, 0.0, (mean, mean), "t")
    reach = t_quantile((1 + confidence) / 2, days - 1) * error
    p = t_two_sided(mean / error, days - 1)
    return MeanEstimate(n, days, mean, error, p, (mean - reach, mean + reach), "t")


def bca_interval(
    sample: DaySums, rng: np.random.Generator, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Bias-corrected and accelerated bootstrap interval of the mean, resampling whole days (Efron 1987).

    9,999 resamples, fewer beyond 50 days so that the cost stays bounded, never under 499. None below 2 days;
    the mean itself when all resamples agree.
    """
    if sample.days < 2:
        return None
    means = np.sort(_resampled_means(sample, rng))
    mean = float(sample.sums.sum()) / sample.n
    tie = NO_SPREAD * max(1.0, float(np.abs(sample.sums).sum()) / sample.n)
    if means[-1] - means[0] <= tie:
        return mean, mean
    below, upto = np.searchsorted(means, (mean - tie, mean + tie))
    edge = 0.5 / len(means)
    bias = normal_quantile(min(1 - edge, max(edge, (below + upto) / (2 * len(means)))))
    acceleration = _acceleration(sample)
    tail = normal_quantile((1 + confidence) / 2)
    low, high = (_accelerated_level(bias, acceleration, z) for z in (-tail, tail))
    return float(np.quantile(means, low)), float(np.quantile(means, high))


def _resampled_means(sample: DaySums, rng: np.random.Generator) -> Floats:
    """Return the means of samples of days drawn with replacement, in blocks that stay in the cache."""
    days = sample.days
    resamples = max(499, min(9999, _MOST_CELLS // days))
    even = bool((sample.counts == sample.counts[0]).all())
    block = max(1, 2**18 // days)
    means = np.empty(resamples)
    for start in range(0, resamples, block):
        stop = min(start + block, resamples)
        drawn = rng.integers(days, size=(stop - start, days))
        weight = sample.counts[0] * days if even else sample.counts[drawn].sum(axis=1)
        means[start:stop] = sample.sums[drawn].sum(axis=1) / weight
    return means


def _acceleration(sample: DaySums) -> float:
    """Return a sixth of the skewness of the leave-one-day-out means."""
    left_out = (sample.sums.sum() - sample.sums) / (sample.counts.sum() - sample.counts)
    gap = left_out.mean() - left_out
    spread = float((gap * gap).sum())
    return float((gap**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0


def _accelerated_level(bias: float, acceleration: float, z: float) -> float:
    shrink = 1 - acceleration * (bias + z)
    if shrink <= 0:  # the correction has lost its meaning: take the extreme resample
        return float(z > 0)
    return normal_cdf(bias + (bias + z) / shrink)


def shrunk_mean(total: float, n: int, prior_mean: float, prior_weight: float = 5.0) -> float:
    """Mean of `n` outcomes adding up to `total`, drawn towards `prior_mean` as if by 5 outcomes more."""
    return (total + prior_weight * prior_mean) / (n + prior_weight)


def jeffreys_interval(wins: int, n: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Equal-tailed Jeffreys interval of a rate, quantiles of Beta(wins + 1/2, n - wins + 1/2); None for n = 0."""
    if n == 0:
        return None
    a, b = wins + 0.5, n - wins + 0.5
    return beta_quantile((1 - confidence) / 2, a, b), beta_quantile((1 + confidence) / 2, a, b)


def wilson_interval(wins: int, n: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson score interval of a rate (Wilson 1927); None for n = 0."""
    if n == 0:
        return None
    z = normal_quantile((1 + confidence) / 2)
    rate, square = wins / n, z * z
    centre = (rate + square / (2 * n)) / (1 + square / n)
    reach = z / (1 + square / n) * math.sqrt(rate * (1 - rate) / n + square / (4 * n * n))
    low = 0.0 if wins == 0 else centre - reach
    return low, 1.0 if wins == n else centre + reach


def sign_flip_p(
    values: ArrayLike, alternative: Literal["two_sided", "greater"] = "two_sided"
) -> float | None:
    """Exact p of mean = 0 when every sign was a coin flip: share of all 2^n signings as extreme as `values` (n,).

    None for n = 0 or n > 20. To respect days, pass day sums.
    """
    value = np.asarray(values, dtype=np.float64)
    if not 0 < len(value) <= _MOST_SIGNS:
        return None
    sums = np.zeros(1)
    for size in np.abs(value):
        sums = np.concatenate((sums + size, sums - size))
    observed, tie = float(value.sum()), NO_SPREAD * float(np.abs(value).sum())
    if alternative == "greater":
        return float(np.mean(sums >= observed - tie))
    return float(np.mean(np.abs(sums) >= abs(observed) - tie))


def permutation_p(first: ArrayLike, second: ArrayLike, rng: np.random.Generator) -> float | None:
    """Two-sided p that two samples have one mean: share of regroupings whose means differ as much.

    All regroupings when there are at most 20,000 of them, else up to 9,999 random ones, so that the cost stays
    bounded; two samples of hundreds: the normal limit (Hoeffding 1951). None when a sample is empty.
    """
    a, b = (np.sort(np.asarray(sample, dtype=np.float64)) for sample in (first, second))
    small, large = (a, b) if len(a) <= len(b) else (b, a)
    if len(small) == 0:
        return None
    pool, size = np.sort(np.concatenate((small, large))), len(small)
    expected = size * float(pool.mean())
    shift = abs(float(small.sum()) - expected)
    tie = NO_SPREAD * max(1.0, float(np.abs(pool).sum()))
    if size <= 8 and math.comb(len(pool), size) <= _MOST_SPLITS:  # 9 of 18 are more already
        return float(np.mean(np.abs(_all_group_sums(pool, size) - expected) >= shift - tie))
    if len(pool) > _LARGE_POOL and size > _LARGE_GROUP:
        spread = float(pool.std()) * math.sqrt(size * (len(pool) - size) / (len(pool) - 1))
        return 2 * normal_cdf(-shift / spread) if spread > tie else 1.0
    drawn = np.abs(_random_group_sums(pool, size, rng) - expected)
    return (1 + int(np.sum(drawn >= shift - tie))) / (len(drawn) + 1)


def _random_group_sums(pool: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Return the sums of random groups of `size` elements of `pool`."""
    if len(pool) <= _LARGE_POOL:
        draws = max(499, min(9999, _MOST_CELLS // len(pool)))
        return np.asarray(rng.permuted(np.tile(pool, (draws, 1)), axis=1)[:, :size].sum(axis=1))
    # from a large pool a few elements are drawn with replacement, the spread corrected for it
    draws = min(9999, _MOST_CELLS // size)
    sums = pool[rng.integers(len(pool), size=(draws, size))].sum(axis=1)
    expected = size * float(pool.mean())
    return np.asarray(expected + (sums - expected) * math.sqrt((len(pool) - size) / (len(pool) - 1)))


def _all_group_sums(pool: Floats, size: int) -> Floats:
    """Return the sums of all groups of `size` elements of `pool`, by adding one element at a time."""
    sums = [np.zeros(1)] + [np.empty(0)] * size
    for value in pool:
        for count in range(size, 0, -1):
            sums[count] = np.concatenate((sums[count], sums[count - 1] + value))
    return sums[size]


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Adjusted p (q-values) of a family (m,) by Benjamini and Hochberg 1995: false discovery rate."""
    return _step_up(np.asarray(p, dtype=np.float64), 1.0)


def benjamini_yekutieli(p: ArrayLike) -> Floats:
    """Adjusted p of a family (m,) by Benjamini and Yekutieli 2001: as above, under any dependence."""
    value = np.asarray(p, dtype=np.float64)
    return _step_up(value, math.fsum(1 / k for k in range(1, len(value) + 1)))


def holm(p: ArrayLike) -> Floats:
    """Adjusted p of a family (m,) by Holm 1979: family-wise error, stepping down."""
    value = np.asarray(p, dtype=np.float64)
    order = np.argsort(value, kind="stable")
    weight = np.arange(len(value), 0, -1)
    adjusted = np.empty_like(value)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(value[order] * weight))
    return adjusted


def bonferroni(p: ArrayLike) -> Floats:
    """Adjusted p of a family (m,) by Bonferroni: m times p, at most 1."""
    value = np.asarray(p, dtype=np.float64)
    return np.minimum(1.0, value * len(value))


def _step_up(p: Floats, penalty: float) -> Floats:
    order = np.argsort(-p, kind="stable")
    rank = np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(p[order] * penalty * len(p) / rank))
    return adjusted
