"""How sure a mean, a rate or a family of p-values is.

Outcomes of one entry day move together, so the uncertainty of a mean counts days, not outcomes: everything about
a mean works on `DaySums` and costs the same however many outcomes a day had. Randomness is an argument.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retro.kernels.special import beta_quantile, normal_cdf, normal_quantile, t_quantile, t_two_sided

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

POOLED_BELOW = (
    15  # days; below, a sample's own spread is too often much too small, and the role's stands beside it
)
NO_SPREAD = 1e-12  # a standard error below this is rounding, not spread
_MOST_CELLS = 500_000  # numbers drawn for one permutation
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
    method: Literal["t"] | None = None
    reason: Literal["too_few_days", "no_spread"] | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """How outcomes of one sort scatter: their standard deviation (> 0) and, from 0 to 1, how alike those of a day are."""

    deviation: float
    alike: float

    def error(self, counts: Floats) -> float:
        """Standard error of the mean of outcomes with so many on each day: their design effect stands in it."""
        n = float(counts.sum())
        return self.deviation * math.sqrt((1 + self.alike * (float((counts * counts).sum()) / n - 1)) / n)


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


def spread_of(values: ArrayLike, days: ArrayLike) -> Spread | None:
    """Measure how `values` (n,) scatter, with their entry `days` (n,); None for fewer than 2, or where they do not.

    The likeness within a day is the intraclass correlation that makes the day-clustered variance of the mean what it
    is: (clustered variance / ordinary variance - 1) / (mean size of an outcome's day - 1), cut to 0..1.
    """
    value = np.sort(np.asarray(values, dtype=np.float64))
    if len(value) < 2:
        return None
    deviation = float(value.std(ddof=1))
    sample = by_day(values, days)
    error, mean = _clustered_error(sample), sample.mean
    if mean is None or deviation <= NO_SPREAD * max(1.0, abs(mean)):
        return None
    size = float((sample.counts * sample.counts).sum()) / sample.n
    if error is None:
        return Spread(deviation, 1.0)
    if size <= 1:
        return Spread(deviation, 0.0)
    effect = error * error * sample.n / (deviation * deviation)
    return Spread(deviation, min(1.0, max(0.0, (effect - 1) / (size - 1))))


def mean_estimate(sample: DaySums, pooled: Spread | None = None, confidence: float = 0.95) -> MeanEstimate:
    """Mean of a sample with its day-clustered t interval and p, as sure as so few days can be.

    Below 15 days the standard error is the larger of its own and of what the role's outcomes (`pooled`) say of so many
    on such days: a few outcomes are too often alike by luck (stops, targets), and their own spread is then far too small.
    Fewer than 2 days: neither interval nor p. All outcomes alike and no other spread known: no interval, and p is that
    of the days' signs, 2 / 2^days; nor that when they are 0.
    """
    n, days, mean = sample.n, sample.days, sample.mean
    error = _clustered_error(sample)
    if mean is None or error is None:
        return MeanEstimate(n, days, mean, reason="too_few_days")
    if pooled is not None and days < POOLED_BELOW:
        error = max(error, pooled.error(sample.counts))
    if error <= NO_SPREAD * max(1.0, abs(mean)):
        p = None if abs(mean) <= NO_SPREAD else 2.0 ** (1 - days)
        return MeanEstimate(n, days, mean, 0.0, p, reason="no_spread")
    reach = t_quantile((1 + confidence) / 2, days - 1) * error
    p = t_two_sided(mean / error, days - 1)
    return MeanEstimate(n, days, mean, error, p, (mean - reach, mean + reach), "t")


def _clustered_error(sample: DaySums) -> float | None:
    """Sqrt of G/(G-1) * sum of squared day residual sums / n^2; None below 2 days. One outcome a day: sd / sqrt(n)."""
    mean, days = sample.mean, sample.days
    if mean is None or days < 2:
        return None
    residuals = sample.sums - sample.counts * mean
    return math.sqrt(days / (days - 1) * math.fsum((residuals * residuals).tolist())) / sample.n


def rule_of_three(values: ArrayLike, days: ArrayLike) -> float | None:
    """Of outcomes (n,) all of one sign, the share that may yet have the other: 3 / days (95 %), at most 1; else None."""
    value = np.asarray(values, dtype=np.float64)
    if len(value) == 0 or not ((value > 0).all() or (value < 0).all()):
        return None
    return min(1.0, 3 / len(set(np.asarray(days).tolist())))


def shrunk_mean(total: float, n: int, prior_mean: float, prior_weight: float = 5.0) -> float:
    """Mean of `n` outcomes adding up to `total`, drawn towards `prior_mean` as if by 5 outcomes more."""
    return (total + prior_weight * prior_mean) / (n + prior_weight)


def jeffreys_interval(wins: float, n: float, confidence: float = 0.95) -> tuple[float, float] | None:
    """Equal-tailed Jeffreys interval of a rate, quantiles of Beta(wins + 1/2, n - wins + 1/2); None for n = 0."""
    if n == 0:
        return None
    a, b = wins + 0.5, n - wins + 0.5
    return beta_quantile((1 - confidence) / 2, a, b), beta_quantile((1 + confidence) / 2, a, b)


def rate_interval(sample: DaySums, confidence: float = 0.95) -> tuple[float, float] | None:
    """Jeffreys interval of a rate whose cases come in days: `sums` are wins. On n over the design effect; None for n = 0.

    The design effect is the clustered variance of the rate over that of independent cases, at least 1. Where it cannot
    be known (one day; all won, or none) a day counts as one case: n^2 / sum of squared counts are left.
    """
    n, wins = sample.n, float(sample.sums.sum())
    if n == 0:
        return None
    error, rate = _clustered_error(sample), wins / n
    if error is None or not 0 < rate < 1:
        effect = float((sample.counts * sample.counts).sum()) / n
    else:
        effect = max(1.0, error * error * (n - 1) / (rate * (1 - rate)))
    return jeffreys_interval(wins / effect, n / effect, confidence)


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


def permutation_of_days(first: DaySums, second: DaySums, rng: np.random.Generator) -> float | None:
    """`permutation_p` that moves whole days, since outcomes of one day move together.

    What is regrouped are each sample's days, by what they made beyond the mean of all outcomes; with one outcome a day
    it is the ordinary test. None when a sample is empty.
    """
    n = first.n + second.n
    if not (first.days and second.days):
        return None
    mean = math.fsum([*first.sums.tolist(), *second.sums.tolist()]) / n
    return permutation_p(first.sums - first.counts * mean, second.sums - second.counts * mean, rng)


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
    """Return the sums of all groups of `size` elements of `pool`, each added up in its order, one element after the other."""
    sums, last = np.zeros(1), np.array([-1])
    for _ in range(size):
        following = len(pool) - 1 - last  # elements that may yet join each group
        group = np.repeat(np.arange(len(sums)), following)
        start = np.cumsum(following) - following
        last = last[group] + 1 + np.arange(len(group)) - start[group]
        sums = sums[group] + pool[last]
    return sums


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
