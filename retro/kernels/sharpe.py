"""The Sharpe ratio of daily returns, how sure it is to be above luck, and how long a record that takes.

Returns are daily and simple, (n,), oldest first; ratios and their errors are a day, not a year, where nothing else is
said. Sources: Bailey and Lopez de Prado 2012 (The Sharpe Ratio Efficient Frontier) and 2014 (The Deflated Sharpe Ratio).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retro.kernels import ratio_errors
from retro.kernels.special import normal_cdf, normal_quantile

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
"""The probability that a track record is long enough for."""
_NO_VOLATILITY = 1e-12
_EULER = 0.5772156649015329


@dataclass(frozen=True, slots=True)
class TrackRecord:
    """What a Sharpe ratio is worth: probabilities, and days; None where it has no standard error.

    `minimum_days` is None too where the ratio is not above 0: no record of it is ever long enough.
    """

    psr: float | None
    deflated_sharpe: float | None
    minimum_days: float | None


def varies(values: Floats) -> bool:
    """Tell whether `values` (n >= 2,) vary at all: equal floats still have a standard deviation of some 1e-17."""
    return float(values.std(ddof=1)) >= _NO_VOLATILITY * max(1.0, abs(float(values.mean())))


def sharpe(returns: Floats, annualisation_days: float = 365.0) -> float | None:
    """Mean over standard deviation (ddof 1) of daily returns, annualised. None below 2 days or without variation."""
    if len(returns) < 2 or not varies(returns):
        return None
    return float(returns.mean() / returns.std(ddof=1)) * math.sqrt(annualisation_days)


def track_record(returns: Floats, trials: int = 1) -> TrackRecord:
    """What the Sharpe ratio of daily returns (n,) is worth, by its standard error (`ratio_errors`).

    `trials` is how many strategies were tried on these days, this one among them; their ratios are taken to scatter as
    far as this one's error, as those of worthless ones do. With one trial the deflated ratio is the PSR.
    """
    none = TrackRecord(None, None, None)
    if len(returns) < ratio_errors.FEWEST or not varies(returns):
        return none
    influence = ratio_errors.sharpe_influence(returns)
    error = ratio_errors.standard_error(influence)
    if not error:
        return none
    ratio = float(returns.mean() / returns.std(ddof=1))
    return TrackRecord(
        psr(ratio, error),
        deflated_sharpe(ratio, error, trials, error**2),
        minimum_track_record(ratio, ratio_errors.long_run_variance(influence)),
    )


def psr(sharpe_ratio: float, error: float, benchmark: float = 0.0) -> float:
    """Probabilistic Sharpe ratio: probability that the true one is above `benchmark`; its standard error is above 0.

    Of n independent returns the error is sqrt((1 - skew SR + (kurtosis - 1)/4 SR^2)/(n - 1)) (Bailey and Lopez de Prado
    2012); that of `ratio_errors` also knows days that move together.
    """
    return normal_cdf((sharpe_ratio - benchmark) / error)


def expected_max_sharpe(trials: int, variance: float) -> float:
    """Sharpe ratio that the best of `trials` worthless strategies is expected to show (0 for one).

    `variance` of their ratios. Source: Bailey and Lopez de Prado 2014.
    """
    if trials < 2:
        return 0.0
    first, second = normal_quantile(1 - 1 / trials), normal_quantile(1 - 1 / (trials * math.e))
    return math.sqrt(variance) * ((1 - _EULER) * first + _EULER * second)


def deflated_sharpe(sharpe_ratio: float, error: float, trials: int, variance: float) -> float:
    """PSR against the best of `trials` worthless strategies whose ratios have this variance (2014)."""
    return psr(sharpe_ratio, error, expected_max_sharpe(trials, variance))


def minimum_track_record(
    sharpe_ratio: float, variance: float, benchmark: float = 0.0, confidence: float = CONFIDENCE
) -> float | None:
    """Periods until the PSR reaches `confidence`, as a float. None when the ratio is not above the benchmark.

    `variance` is that of the ratio times the number of periods: 1 - skew SR + (kurtosis - 1)/4 SR^2 of independent ones.
    """
    if sharpe_ratio <= benchmark:
        return None
    return 1 + variance * (normal_quantile(confidence) / (sharpe_ratio - benchmark)) ** 2
