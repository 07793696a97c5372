"""How sure ratios of daily returns are: standard errors that know skew, tails and days that move together.

A ratio is a smooth function of moments, so its error is that of a mean: the mean of its influence, what each day moves
it by. Days in a row are not independent, so the variance of that mean is Newey and West's, never below the one without
autocorrelation. Sources: Lo 2002 (The Statistics of Sharpe Ratios), Mertens 2002, Newey and West 1994 (the lags),
Politis and Romano 1994 (the stationary bootstrap). Returns are daily and simple, (n,), oldest first.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from retro.kernels.special import normal_quantile

Floats = NDArray[np.float64]
Interval = tuple[float, float]

FEWEST = 4
"""Days from which on a ratio has a standard error: that of Student's t with n - 1 degrees is infinite below."""

_RESAMPLES = 999
_MOST_CELLS = 2_000_000  # numbers drawn for one bootstrap


def sharpe_influence(returns: Floats) -> Floats:
    """What each day moves mean / standard deviation by, a day: (x - m)/s - SR/2 ((x - m)^2/s^2 - 1)."""
    standard: Floats = (returns - returns.mean()) / returns.std()
    ratio = float(returns.mean() / returns.std(ddof=1))
    influence: Floats = standard - ratio / 2 * (standard**2 - 1)
    return influence


def sortino_influence(returns: Floats) -> Floats:
    """What each day moves mean / downside deviation by, a day; the deviation is above 0."""
    squares = np.minimum(returns, 0.0) ** 2
    downside = math.sqrt(float(squares.mean()))
    ratio = float(returns.mean()) / downside
    influence: Floats = (returns - returns.mean()) / downside - ratio / 2 * (squares / downside**2 - 1)
    return influence


def long_run_variance(influence: Floats) -> float:
    """Variance of sqrt(n) times the mean of a series that may be autocorrelated, (n,): Bartlett weights over its lags.

    Never below the variance without autocorrelation: days that undo each other earn no narrower interval.
    """
    n = len(influence)
    centred = influence - influence.mean()
    lags = min(int(4 * (n / 100) ** (2 / 9)), n - 1)
    together = sum(
        2 * (1 - lag / (lags + 1)) * float((centred[lag:] * centred[:-lag]).sum()) / n
        for lag in range(1, lags + 1)
    )
    return float((centred * centred).sum()) / n + max(0.0, together)


def standard_error(influence: Floats) -> float | None:
    """Standard error of a ratio from its influence, in its own unit a day; None below 4 days or when it is no number.

    That of Student's t with n - 1 degrees, which is wider than the large-sample one: 8.8 for a week's Sharpe ratio a year.
    """
    n = len(influence)
    if n < FEWEST:
        return None
    error = math.sqrt(long_run_variance(influence) * (n - 1) / (n * (n - 3)))
    return error if math.isfinite(error) else None


def interval(ratio: float | None, error: float | None) -> Interval | None:
    """95 % of a ratio by its standard error, both in one unit; None where one of them is."""
    if ratio is None or error is None:
        return None
    reach = normal_quantile(0.975) * error
    return ratio - reach, ratio + reach


def around(ratio: float, resampled: Interval | None) -> Interval | None:
    """The interval of resampled lives where the ratio lies inside; one that leaves it out says nothing of it, None.

    A fall that only this order of days has is in hardly any life made of shuffled blocks.
    """
    inside = resampled is not None and resampled[0] <= ratio <= resampled[1]
    return resampled if inside else None


def calmar_interval(returns: Floats, annualisation_days: float, seed: int) -> Interval | None:
    """95 % of the Calmar ratio: percentiles over resampled lives, blocks of days kept together.

    None where more than one life in forty has no drawdown at all.
    """
    n = len(returns)
    count = min(_RESAMPLES, max(99, _MOST_CELLS // n))
    random = np.random.default_rng(seed)
    fresh = random.random((count, n)) < 1 / max(1.0, n ** (1 / 3))
    fresh[:, 0] = True
    start = np.where(fresh, random.integers(n, size=(count, n)), 0)
    began = np.maximum.accumulate(np.where(fresh, np.arange(n), 0), axis=1)
    days = (np.take_along_axis(start, began, axis=1) + np.arange(n) - began) % n
    with np.errstate(all="ignore"):
        curve = np.cumprod(1.0 + np.maximum(returns[days], -1.0), axis=1)
        peak = np.maximum(np.maximum.accumulate(curve, axis=1), 1.0)
        fall = 1.0 - np.min(curve / peak, axis=1)
        yearly = np.maximum(curve[:, -1], 0.0) ** (annualisation_days / n) - 1
        ratios = np.where(fall > 0, yearly / fall, np.inf)
    low, high = np.quantile(ratios, [0.025, 0.975], method="inverted_cdf").tolist()
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None
