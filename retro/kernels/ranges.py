"""The extreme of many ranges of one long array, and the first place that comes near enough to it.

Blocks of 64 elements, one extreme each, and over the blocks a ladder: rung k holds the extremes of 2^k neighbouring
blocks. The extreme of a range is that of its two ragged ends (`reduceat`) and of two overlapping stretches of one rung.
Where it is, is asked as "the first element that reaches this level": climb past every stretch that does not, then look
at one block. So ties are exact and no index is stored; a ladder takes about one byte for each element.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

if TYPE_CHECKING:
    from retro.kernels.series import BoolArray, FloatArray, IntArray

BLOCK = 64


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges [lo, hi) of an array cut at its blocks: a head, the whole blocks [first, stop), a tail; any may be empty."""

    lo: IntArray
    hi: IntArray
    head_end: IntArray
    first: IntArray
    stop: IntArray
    tail: IntArray


def cut(lo: IntArray, hi: IntArray) -> Ranges:
    """The ranges cut at multiples of the block."""
    first, stop = -(-lo // BLOCK), hi // BLOCK
    head_end = np.minimum(first * BLOCK, hi)
    return Ranges(lo, hi, head_end, first, np.maximum(stop, first), np.maximum(head_end, stop * BLOCK))


@dataclass(frozen=True, slots=True)
class Ladder:
    """Extremes of 2^k neighbouring blocks of `x`, k = 0 .. top, from block `base` on; `peak` is np.maximum or np.minimum."""

    x: FloatArray
    peak: np.ufunc
    base: int
    rungs: list[FloatArray]

    @property
    def nothing(self) -> float:
        """The extreme of no elements."""
        return -np.inf if self.peak is np.maximum else np.inf

    def reaches(self, values: FloatArray, level: FloatArray) -> BoolArray:
        """Whether the values are at or beyond the level."""
        return values >= level if self.peak is np.maximum else values <= level


def ladder(x: FloatArray, ranges: Ranges, peak: np.ufunc) -> Ladder:
    """The rungs that these ranges need."""
    most = int((ranges.stop - ranges.first).max())
    base, stop = int(ranges.first.min()), int(ranges.hi.max()) // BLOCK
    rungs = [peak.reduce(x[base * BLOCK : stop * BLOCK].reshape(-1, BLOCK), axis=1)] if most else []
    for k in range(most.bit_length() - 1):
        rungs.append(peak(rungs[-1][: -(1 << k)], rungs[-1][1 << k :]))
    return Ladder(x, peak, base, rungs)


def first_extreme(
    x: FloatArray,
    lo: IntArray,
    hi: IntArray,
    slack: FloatArray,
    peak: np.ufunc,
    after: FloatArray | None = None,
) -> tuple[FloatArray, IntArray]:
    """Extreme of x[lo:hi] for each range and the first index that comes within `slack` of it; NaN and -1 if empty.

    `peak` is np.maximum or np.minimum; `lo`, `hi`, `slack` (N,). `after` (N,) is one more candidate, behind each range (a
    position's exit fill): the index is then the first within the slack of the better of the two, -1 when only `after` is.
    `x` must be finite. Quickest when `lo` ascends.
    """
    extreme, index = np.full(len(lo), np.nan), np.full(len(lo), -1)
    some = np.flatnonzero(hi > lo)
    if some.size:
        ranges = cut(lo[some], hi[some])
        rungs = ladder(x, ranges, peak)
        head = _ends(rungs, ranges.lo, ranges.head_end)
        value = peak(head, peak(_whole(rungs, ranges), _ends(rungs, ranges.tail, ranges.hi)))
        extreme[some] = value
        goal = value if after is None else peak(value, after[some])
        level = goal - slack[some] if peak is np.maximum else goal + slack[some]
        index[some] = _first(rungs, ranges, level, head)
    return extreme, index


def first_reaching(x: FloatArray, lo: IntArray, hi: IntArray, level: FloatArray, peak: np.ufunc) -> IntArray:
    """First index of x[lo:hi] at or beyond `level`, for each range; -1 where none is. Arguments as `first_extreme`."""
    index = np.full(len(lo), -1)
    some = np.flatnonzero(hi > lo)
    if some.size:
        ranges = cut(lo[some], hi[some])
        rungs = ladder(x, ranges, peak)
        index[some] = _first(rungs, ranges, level[some], _ends(rungs, ranges.lo, ranges.head_end))
    return index


def reduce_ranges(x: FloatArray, lo: IntArray, hi: IntArray, ufunc: np.ufunc) -> FloatArray:
    """ufunc.reduce(x[lo:hi]) for each range, by one `reduceat`; what stands for an empty range means nothing.

    `reduceat` wants one list of boundaries and reduces between our ranges too. Taken in descending order, the way from
    one range's end to the next one's start runs backwards and costs a single element.
    """
    order = np.argsort(lo, kind="stable")[::-1]
    begin, end = int(lo.min()), int(hi.max())
    bounds = np.stack([lo[order], hi[order]], axis=1).ravel() - begin
    spare = (
        x[begin : end + 1] if end < len(x) else np.append(x[begin:], 0.0)
    )  # so that a bound may equal the end
    values = np.empty(len(lo))
    values[order] = ufunc.reduceat(spare, bounds)[::2]
    return values


def _ends(rungs: Ladder, lo: IntArray, hi: IntArray) -> FloatArray:
    return np.where(hi > lo, reduce_ranges(rungs.x, lo, hi, rungs.peak), rungs.nothing)


def _whole(rungs: Ladder, ranges: Ranges) -> FloatArray:
    """Extremes of the whole blocks, from two overlapping stretches of one rung."""
    count = ranges.stop - ranges.first
    some = count > 0
    rung = np.where(some, np.frexp(count.astype(np.float64))[1] - 1, 0)
    leading = np.where(some, ranges.first - rungs.base, 0)
    trailing = np.where(some, ranges.stop - rungs.base - (1 << rung), 0)
    flat = np.concatenate(rungs.rungs or [np.zeros(1)])
    begin = np.cumsum([0, *(len(r) for r in rungs.rungs)])[rung]
    values = rungs.peak(flat[begin + leading], flat[begin + trailing])
    return np.where(some, values, rungs.nothing)


def _first(rungs: Ladder, ranges: Ranges, level: FloatArray, head: FloatArray) -> IntArray:
    """First index of each range that reaches its level, -1 where none does; `head` holds the heads' extremes."""
    at, stop = ranges.first - rungs.base, ranges.stop - rungs.base
    for k in reversed(range(len(rungs.rungs))):
        fits = at + (1 << k) <= stop
        skip = fits & ~rungs.reaches(rungs.rungs[k][np.where(fits, at, 0)], level)
        at += skip << k
    block = np.where(at < stop, (at + rungs.base) * BLOCK, ranges.tail)
    start = np.where((ranges.head_end > ranges.lo) & rungs.reaches(head, level), ranges.lo, block)
    index = _scan(rungs, start, level)
    return np.where((index >= start) & (index < ranges.hi), index, -1)


def _scan(rungs: Ladder, start: IntArray, level: FloatArray) -> IntArray:
    """First index within a block's length of `start` that reaches the level, -1 where none does."""
    width = min(BLOCK, len(rungs.x))
    window = np.minimum(start, len(rungs.x) - width)  # near the end the window begins before `start`
    hit = rungs.reaches(sliding_window_view(rungs.x, width)[window], level[:, None])
    early = np.flatnonzero(window < start)
    hit[early] &= np.arange(width) >= (start - window)[early, None]
    at = hit.argmax(axis=1)
    return np.where(hit[np.arange(len(at)), at], window + at, -1)
