"""A position's way in 24 bytes: small enough to stand in every row of a list, whole enough to be drawn in a line of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from retro.evaluate.position.excursions import Hindsight
    from retro.evaluate.position.life import PositionPath

__all__ = ["POINTS", "spark"]

POINTS: Final = 24
_TOP: Final = 255


def spark(life: PositionPath, ending: Hindsight) -> bytes | None:
    """Where its gross pnl stood at the end of each 24th of its life, from 0, its `mae`, to 255, its `mfe`.

    The last mark inside it before each end counts, never one between two; before the first it stood at its entry costs,
    and it ends where it left. None where nothing was seen inside, or where it stood still.
    """
    times = life.marks_inside
    if not len(times) or ending.mfe is None or ending.mae is None or ending.mfe <= ending.mae:
        return None
    entry, length = life.track.opened_at, life.exit_at - life.track.opened_at
    ends = entry + length * np.arange(1, POINTS) // POINTS
    last = np.searchsorted(times, ends, side="right") - 1
    levels = life.gross_at(times[last[last >= 0]])
    path = np.concatenate(
        [np.full(POINTS - 1 - len(levels), -life.entry_fees), levels, [life.final + life.exit_costs]]
    )
    share = (np.minimum(np.maximum(path, ending.mae), ending.mfe) - ending.mae) / (ending.mfe - ending.mae)
    return bytes(np.rint(share * _TOP).astype(np.uint8))
