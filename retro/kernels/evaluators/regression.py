"""A straight line through daily returns, with errors that allow for days that resemble the days before them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from retro.kernels.uncertainty import Floats


@dataclass(frozen=True, slots=True)
class LineFit:
    """y = alpha + beta x, with the Newey-West standard errors of both and the number of lags they allow for."""

    alpha: float
    beta: float
    alpha_error: float
    beta_error: float
    lags: int


def lags_for(n: int) -> int:
    """floor(4 (n / 100)^(2/9)): how many days back errors are taken to be alike (Newey and West, 1994)."""
    return math.floor(4 * math.pow(n / 100, 2 / 9))


def regress(x: Floats, y: Floats) -> LineFit | None:
    """Least squares of y (n,) on x (n,), n >= 3, Bartlett weights; None where x does not move."""
    n, lags = len(x), lags_for(len(x))
    centre, level = float(x.mean()), float(y.mean())
    spread = x - centre
    square = float(np.add.reduce(spread * spread))
    if square <= n * (1e-12 * max(1.0, abs(centre))) ** 2:
        return None
    beta = float(np.add.reduce(spread * (y - level))) / square
    residual = (y - level) - beta * spread
    scores = np.stack((residual, residual * spread))
    meat = np.zeros((2, 2))
    for lag in range(lags + 1):
        weight = (1 - lag / (lags + 1)) * (0.5 if lag == 0 else 1)
        product = np.add.reduce(scores[:, None, lag:] * scores[None, :, : n - lag], axis=2)
        meat += weight * (product + product.T)
    # in the centred regressors (1, x - mean) the two are orthogonal; alpha stands at x = 0, not at the mean
    at_mean, covariance, slope = meat[0, 0] / n**2, meat[0, 1] / (n * square), meat[1, 1] / square**2
    alpha_variance = at_mean - 2 * centre * covariance + centre**2 * slope
    return LineFit(level - beta * centre, beta, math.sqrt(max(0.0, alpha_variance)), math.sqrt(slope), lags)
