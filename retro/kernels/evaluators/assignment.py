"""Which instant of one list belongs to which of another: the assignment of largest weight, instants no farther apart than a reach.

A pair weighs reach + 1 - distance in whole microseconds, so that one at the edge still weighs something, and leaving both
unmatched weighs nothing. On a line no two pairs of a best assignment need to cross: uncrossing makes neither the sum of
the distances nor the longest of them larger. So the best assignment that keeps the order is the best of all, and it is
found row by row over the band of those within reach (Needleman and Wunsch 1970, with gaps that cost nothing).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retro.kernels.uncertainty import Integers


class _Row(NamedTuple):
    """One instant's band of columns: where it begins; cells (w,) at which it makes the best better, and is paired."""

    first: int
    gains: NDArray[np.bool_]
    paired: NDArray[np.bool_]


def matched(ours: Integers, theirs: Integers, reach: int) -> tuple[Integers, Integers]:
    """Indices (k,) into `ours` and `theirs` of the pairs, ascending in both.

    `ours` (n,) and `theirs` (m,): microseconds, ascending. Assignments that weigh the same are told apart by place alone.
    Time and memory follow the number of candidates, at most n x m (and two bytes each).
    """
    firsts = np.searchsorted(theirs, ours - reach, side="left").tolist()
    ends = np.searchsorted(theirs, ours + reach, side="right").tolist()
    best = np.zeros(len(theirs) + 1, dtype=np.int64)  # at j: of the rows so far, with the first j columns
    rows: list[_Row] = []
    filled = 0  # what no band has reached yet is worth as much as the last column that one has
    for at, first, end in zip(ours.tolist(), firsts, ends, strict=True):
        best[filled + 1 : end + 1] = best[filled]
        filled = max(filled, end)
        before = best[first + 1 : end + 1].copy()
        with_pair = best[first:end] + (reach + 1) - np.abs(theirs[first:end] - at)
        now = np.maximum.accumulate(np.maximum(before, with_pair))
        rows.append(_Row(first, now > before, (with_pair == now) & (with_pair > before)))
        best[first + 1 : end + 1] = now
    return _traced(rows, len(theirs))


def _traced(rows: list[_Row], columns: int) -> tuple[Integers, Integers]:
    """The pairs, from the last row back: where a row makes the best better, its last pair that did so stands in it."""
    pairs: list[tuple[int, int]] = []
    for number in range(len(rows) - 1, -1, -1):
        row = rows[number]
        last = min(columns - row.first, len(row.gains))
        if last > 0 and row.gains[last - 1]:
            columns = row.first + int(np.flatnonzero(row.paired[:last])[-1])
            pairs.append((number, columns))
    both = np.array(pairs[::-1], dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]
