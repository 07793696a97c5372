"""The same trade at another moment: how much of a result was being there, and how much choosing when.

A twin has the side, size and holding time of its position and enters at another moment of the same instrument's known
past. The past is a circle: a twin that reaches its end goes on from its beginning, by returns and not by prices, so
that every moment is as likely to be lived through as any other and paths without drift give uniform percentiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retro.kernels.uncertainty import Floats, Integers

TWINS = 999
HISTORY = 20  # holding times of marks that there must be
_MOST_CELLS = 2_000_000  # twins looked up at once


@dataclass(frozen=True, slots=True, eq=False)
class HeldPositions:
    """Closed positions of one instrument, arrays (n,): entry instant, holding time, side +1 or -1, money put in, fee rate."""

    at: Integers
    duration: Integers
    side: Floats
    notional: Floats
    fee_rate: Floats


def is_covered(first: int, last: int, positions: HeldPositions) -> NDArray[np.bool_]:
    """Which positions (n,) have 20 holding times of marks between `first` and `last`."""
    return np.asarray((positions.duration > 0) & (last - first >= HISTORY * positions.duration))


def twin_results(at: Integers, price: Floats, positions: HeldPositions, drawn: Floats) -> Floats:
    """PnL of the twins of each position, (n, t): side x notional x return, less fees on both ways.

    `at`, `price` (m,) are the instrument's marks known by K, in order, m >= 2, prices above 0; `drawn` (n, t), in
    [0, 1), are how far round the circle each twin enters after its position.
    """
    begin, span = int(at[0]), int(at[-1] - at[0])
    result = np.empty_like(drawn)
    level = np.log(price)
    lap = float(level[-1] - level[0])
    step = max(1, _MOST_CELLS // drawn.shape[1])
    for first in range(0, len(drawn), step):
        rows = slice(first, first + step)
        entry = (positions.at[rows, None] - begin + (drawn[rows] * span).astype(np.int64)) % span
        end = entry + positions.duration[rows, None]
        laps = end // span
        moved = _level(at, level, begin + end % span) + laps * lap - _level(at, level, begin + entry)
        growth = np.expm1(moved)
        fees = positions.fee_rate[rows, None] * (2 + growth)
        result[rows] = positions.notional[rows, None] * (positions.side[rows, None] * growth - fees)
    return result


def percentiles(pnl: Floats, twins: Floats) -> Floats:
    """The share of twins (n, t) below each result (n,); half of those equal to it."""
    below = (twins < pnl[:, None]).sum(axis=1)
    equal = (twins == pnl[:, None]).sum(axis=1)
    return np.asarray((below + equal / 2) / twins.shape[1])


def _level(at: Integers, level: Floats, instants: Integers) -> Floats:
    """The level as of each instant: the newest mark at or before it."""
    newest = np.searchsorted(at, instants.ravel(), "right") - 1
    return np.asarray(level[newest].reshape(instants.shape))
