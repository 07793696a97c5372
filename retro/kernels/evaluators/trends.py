"""What a market was like just before an instant: where it had gone in a week, and how far it moved a day.

Both are held against the market's own trailing 90 days, sampled once a day back from the instant. Nothing at the
instant or after it is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retro.kernels.uncertainty import Floats, Integers

_DAY = 86_400_000_000
_BACK = 91  # instants a day apart: 90 days lie between the first and the last
_WEEK = 7
LEAST_WEEKS = 30
"""Trailing weeks (one ends each day) that a market's own past must have, the last one among them."""


@dataclass(frozen=True, slots=True, eq=False)
class MarketStates:
    """Arrays (n,): `trend` -1 falling, 0 flat, 1 rising, by terciles of weekly returns; `is_volatile`, above the median.

    `is_known` False: too little of the past has marks no older than a day.
    """

    trend: NDArray[np.int8]
    is_volatile: NDArray[np.bool_]
    is_known: NDArray[np.bool_]


def market_states(at: Integers, price: Floats, instants: Integers) -> MarketStates:
    """The state just before each of `instants` (n,), microseconds; `at`, `price` (m,) are marks in order, above 0."""
    n = len(instants)
    if not len(at) or not n:
        nothing = np.zeros(n, np.bool_)
        return MarketStates(np.zeros(n, np.int8), nothing, nothing)
    asked = instants[:, None] - 1 - np.arange(_BACK) * _DAY
    newest = np.searchsorted(at, asked.ravel(), "right").reshape(asked.shape) - 1
    fresh = (newest >= 0) & (asked - at[np.maximum(newest, 0)] <= _DAY)
    level = np.where(fresh, np.log(price)[np.maximum(newest, 0)], np.nan)
    weekly = level[:, :-_WEEK] - level[:, _WEEK:]
    squares = np.square(level[:, :-1] - level[:, 1:])
    volatility = np.sqrt(np.lib.stride_tricks.sliding_window_view(squares, _WEEK, axis=1).mean(axis=2))
    whole = ~np.isnan(weekly) & ~np.isnan(volatility)
    is_known = whole[:, 0] & (whole.sum(axis=1) >= LEAST_WEEKS)
    trend, is_volatile = np.zeros(n, np.int8), np.zeros(n, np.bool_)
    complete = whole.all(axis=1)  # most often all; those with holes are taken one by one
    groups = [(np.flatnonzero(is_known & complete), np.ones(whole.shape[1], np.bool_))]
    groups += [(np.array([row]), whole[row]) for row in np.flatnonzero(is_known & ~complete).tolist()]
    for rows, past in groups:
        if len(rows):
            week, size = weekly[rows], volatility[rows]
            low, high = np.quantile(week[:, past], (1 / 3, 2 / 3), axis=1)
            trend[rows] = (week[:, 0] > high).astype(np.int8) - (week[:, 0] < low).astype(np.int8)
            is_volatile[rows] = size[:, 0] > np.median(size[:, past], axis=1)
    return MarketStates(trend, is_volatile, is_known)
