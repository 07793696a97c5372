"""Returns from levels of equity: chained at the owner's flows, drawn as a curve, weighted by money; and of the market.

A level is what an agent is worth at an instant before the events of that instant, a flow what its owner put in (> 0)
or took out (< 0) there, both in base currency; between two levels lies a stretch that the owner did not touch.
Definitions: docs/numbers.md section 4. Modified Dietz: GIPS 2020, calculation methodology. Market change: freqtrade's
`calculate_market_change`, the mean over the pairs of last close / first close - 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_DUST = 1e-12
"""A level below this share of the largest one is what rounding left of nothing."""


@dataclass(frozen=True, slots=True)
class Stretches:
    """What each stretch between two levels began with, and how it grew.

    `base` (n - 1,) the level before plus its flow, `growth` (n - 1,) the level after over it, less 1: 0 where nothing was
    there at either end, NaN where something came of a base at 0 or below. `funded` (n - 1,): whether it began above 0.
    """

    base: Floats
    growth: Floats
    funded: NDArray[np.bool_]


def stretches(levels: ArrayLike, flows: ArrayLike) -> Stretches:
    """The stretches between `levels` (n,), each before its own of the `flows` (n,), in order of time."""
    level, flow = np.asarray(levels, dtype=np.float64), np.asarray(flows, dtype=np.float64)
    base, after = level[:-1] + flow[:-1], level[1:]
    dust = _DUST * float(np.max(np.abs(level) + np.abs(flow), initial=0.0))
    funded = base > dust
    growth = np.where(~funded & (np.abs(base) <= dust) & (np.abs(after) <= dust), 0.0, np.nan)
    np.divide(after - base, base, out=growth, where=funded)
    return Stretches(base, growth, funded)


def chained(parts: Stretches, edges: Integers) -> Floats:
    """Time-weighted return of each day, (d,): the growth of its stretches, compounded.

    `edges` (d + 1,) are the indices of the levels that bound the days. NaN for a day without money, or with a stretch that
    began at 0 or below.
    """
    out = np.full(max(len(edges) - 1, 0), np.nan)
    for day, (start, end) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        if parts.funded[start:end].any():
            out[day] = compounded(parts.growth[start:end])
    return out


def ruin(parts: Stretches) -> int | None:
    """Index of the first level at 0 or below that something above 0 had come to; None where there is none.

    0 where the first stretch begins below 0 already. From there on no growth is one of money that was there.
    """
    if len(parts.base) and parts.base[0] < 0 and not parts.funded[0] and np.isnan(parts.growth[0]):
        return 0
    # a growth of exactly -1 is written with the last digit of the base
    lost = np.flatnonzero(parts.funded & (parts.growth <= _DUST - 1.0))
    return int(lost[0]) + 1 if lost.size else None


def compounded(growths: ArrayLike) -> float:
    """Growth of several stretches in a row, (n,): 0 for none; of one exactly its own."""
    total = 0.0
    for growth in np.asarray(growths, dtype=np.float64).tolist():
        total += growth + total * growth
    return total


def deepest_fall(parts: Stretches, between: ArrayLike, stretch: Integers) -> float:
    """Deepest fall of the compounded curve from its peak, a fraction <= 0; the curve starts at 1 where money first is.

    `between` (m,) are levels inside stretches, in order of time, `stretch` (m,) the stretch each lies in. Stretches
    without a return leave the curve where it is.
    """
    inside = np.asarray(between, dtype=np.float64)
    grown = 1.0 + np.where(np.isnan(parts.growth), 0.0, parts.growth)
    start = np.concatenate(([1.0], np.cumprod(grown)))
    counts = parts.funded[stretch]
    points = start[stretch[counts]] * inside[counts] / parts.base[stretch[counts]]
    # a stretch's end stands after all levels inside it
    where = np.searchsorted(stretch[counts], np.arange(len(grown)), side="right")
    curve = np.concatenate(([1.0], np.insert(points, where, start[1:])))
    return float(np.min(curve / np.maximum.accumulate(curve)) - 1.0)


def modified_dietz(first: float, last: float, flows: ArrayLike, weights: ArrayLike) -> float | None:
    """Money-weighted return: the gain over the money that was there on average.

    (last - first - sum of flows) / (first + sum of weight x flow); `weights` (n,) are the shares of the time that was left
    when each of the `flows` (n,) came. None where the average is 0 or below.
    """
    flow, weight = np.asarray(flows, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    average = first + float((flow * weight).sum())
    dust = _DUST * (abs(first) + abs(last) + float(np.abs(flow).sum()))
    return (last - first - float(flow.sum())) / average if average > dust else None


def market_change(first: Sequence[float], last: Sequence[float]) -> float | None:
    """Share gained (> 0) or lost by a basket of pairs; `first` and `last` (n,) are their prices at both ends, above 0.

    None without a pair.
    """
    gains = [end / start - 1.0 for start, end in zip(first, last, strict=True)]
    return math.fsum(gains) / len(gains) if gains else None


def over_holding(made: float, put_in: Sequence[float], prices: Sequence[float], end: float) -> float:
    """What a position made (base currency) beyond its pair, bought with each amount `put_in` (n,) at its price (n,) and kept.

    > 0: better than the pair. `prices` and `end` in base currency per unit, above 0; holding costs no fee.
    """
    growths_held = (amount * (end / price - 1.0) for amount, price in zip(put_in, prices, strict=True))
    return made - math.fsum(growths_held)
