"""A position's way in 24 bytes: small enough to stand in every row of a list, whole enough to be drawn in a line of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retro.evaluate.position.excursions import Hindsight
    from retro.evaluate.position.life import PositionPath

__all__ = ["POINTS", "spark"]

POINTS: Final = 24
_TOP: Final = 255


def spark(
    life: PositionPath, times: NDArray[np.int64], gross: NDArray[np.float64], ending: Hindsight
) -> bytes | None:
    """Where its gross pnl stood at the end of each 24th of its life, from 0, its `mae`, to 255, its `mfe`.

    `times` (n,) in microseconds and `gross` (n,) base currency are the marks inside it. The last one before counts, never
    one between two; before the first it stood at its entry costs, and it ends where it left. None where nothing was seen
    inside, or where it stood still.
    """
    if not len(times) or ending.mfe is None or ending.mae is None or ending.mfe <= ending.mae:
        return None
    closes = life.closes(gross)
    if closes is not None:  # a low and a high stand before each close: a line draws the closes
        times, gross = times[2::3], closes
    entry, length = life.track.opened_at, life.exit_at - life.track.opened_at
    ends = entry + length * np.arange(1, POINTS) // POINTS
    last = np.searchsorted(times, ends, side="right") - 1
    pnl = np.where(last < 0, -life.entry_fees, gross[np.maximum(last, 0)])
    path = np.append(pnl, life.final + life.exit_costs)
    share = (path - ending.mae) / (ending.mfe - ending.mae)
    return bytes(np.rint(np.clip(share, 0.0, 1.0) * _TOP).astype(np.uint8))
