"""Marks as arrays: the as-of rule, gaps between marks, staleness and coverage.

Times are int64 microseconds since the Unix epoch (UTC), prices float64 in base currency. Marks of one instrument are
sorted by time and finite; whoever builds a `Marks` promises that. Inside a kernel "absent" is -1 in an array of
indices and NaN in an array of floats; neither leaves the kernels, `points` and the `row` methods make them None.
Definitions: numbers.md, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush, heappushpop
from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR
ABSENT_AFTER = DAY
"""A mark older than this says nothing about a checkpoint."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks of many instruments in one piece: those of instrument i stand at `offsets[i]:offsets[i + 1]`.

    `offsets` (I + 1,), `t` (M,) instants, `x` (M,) prices; `low` and `high` (M,) where candles gave them.
    """

    offsets: IntArray
    t: IntArray
    x: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None

    def times(self, instrument: int) -> IntArray:
        """Instants of one instrument's marks, a view."""
        return self.t[self.offsets[instrument] : self.offsets[instrument + 1]]

    def prices(self, instrument: int) -> FloatArray:
        """Prices of one instrument's marks, a view."""
        return self.x[self.offsets[instrument] : self.offsets[instrument + 1]]


def bundle(parts: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]]) -> Marks:
    """Marks from one (instants, prices) pair for each instrument; the pairs' order numbers the instruments."""
    times = [np.asarray(t, dtype=np.int64) for t, _ in parts]
    prices = [np.asarray(x, dtype=np.float64) for _, x in parts]
    offsets = np.cumsum([0, *(len(t) for t in times)], dtype=np.int64)
    none: IntArray = np.empty(0, np.int64)
    return Marks(offsets, np.concatenate([none, *times]), np.concatenate([none.astype(np.float64), *prices]))


def with_highs_lows(marks: Marks) -> Marks:
    """The marks with each candle's low and high added as marks of the same instant, before its close.

    The as-of rule still finds the close, the last of its instant; extremes and regret see all three, which assumes
    that they were tradable. Marks without lows and highs come back as they are. Source: journal.md, Marks.
    """
    if marks.low is None or marks.high is None:
        return marks
    x = np.stack([marks.low, marks.high, marks.x], axis=1).ravel()
    return Marks(marks.offsets * 3, np.repeat(marks.t, 3), x)


def asof(t: IntArray, at: npt.ArrayLike) -> IntArray:
    """Index of the last of the sorted instants `t` at or before each of `at`; -1 where there is none.

    Exactly `at` counts, the next mark never does, nothing is interpolated. Source: numbers.md section 2.
    """
    return np.searchsorted(t, np.asarray(at, dtype=np.int64), side="right").astype(np.int64) - 1


def asof_many(marks: Marks, instrument: IntArray, at: IntArray) -> IntArray:
    """`asof` over many instruments at once: indices into `marks.t`, -1 where there is no mark.

    `instrument` (N,), `at` (N,) or (N, K); the answer has the shape of `at`. Fastest when `instrument` ascends and,
    inside one instrument, so does `at`: neighbours then share cache lines.
    """
    if np.any(instrument[1:] < instrument[:-1]):
        order = np.argsort(instrument, kind="stable")
        answer = np.empty(at.shape, np.int64)
        answer[order] = asof_many(marks, instrument[order], at[order])
        return answer
    answer = np.empty(at.shape, np.int64)
    for i, rows in runs(instrument):
        begin = marks.offsets[i]
        keys = at[rows].T  # K ascending runs of keys search faster than N short zigzags
        counts = np.searchsorted(marks.times(i), keys.ravel(), side="right").reshape(keys.shape).T
        answer[rows] = np.where(counts > 0, counts + (begin - 1), -1)
    return answer


def runs(instrument: IntArray) -> Iterator[tuple[int, slice]]:
    """Each instrument of an ascending array, with the slice of rows that holds it."""
    edges = np.flatnonzero(np.diff(instrument, prepend=-1, append=-1)).tolist()
    for begin, end in pairwise(edges):
        yield int(instrument[begin]), slice(begin, end)


def inside(marks: Marks, instrument: IntArray, start: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Ranges [lo, hi) into `marks.t` of the marks strictly inside (start, end); lo == hi where there is none."""
    last = asof_many(marks, instrument, np.stack([start, end], axis=1))
    return between(marks, instrument, last[:, 0], last[:, 1], end)


def between(
    marks: Marks, instrument: IntArray, at_start: IntArray, at_end: IntArray, end: IntArray
) -> tuple[IntArray, IntArray]:
    """`inside` from the as-of marks of start and end, for who has looked these up already."""
    lo = np.where(at_start < 0, marks.offsets[instrument], at_start + 1)
    hi = np.maximum(at_end + 1, lo)
    some = np.flatnonzero(hi > lo)
    while (some := some[marks.t[hi[some] - 1] >= end[some]]).size:  # the end's own marks are not inside
        hi[some] -= 1
        some = some[hi[some] > lo[some]]
    return lo, hi


def median_gap(t: IntArray, start: int, end: int) -> float | None:
    """Median microseconds between the distinct instants of `t` in [start, end]; None with fewer than two."""
    window = t[np.searchsorted(t, start) : np.searchsorted(t, end, side="right")]
    gaps = np.diff(window)
    gaps = gaps[gaps > 0]
    return _median(gaps) if gaps.size else None


def _median(values: IntArray) -> float:
    """The middle one, or half-way between the middle two, as numpy's `median` has it; that one takes ten times as long."""
    middle = values.size // 2
    if values.size % 2:
        return float(np.partition(values, middle)[middle])
    two = np.partition(values, (middle - 1, middle))[middle - 1 : middle + 1]
    return int(two[0] + two[1]) / 2


def median_gaps_until(t: IntArray, start: int, ends: IntArray) -> FloatArray:
    """`median_gap` from one start to each of several ends, (n,) microseconds, NaN where it is None; in one pass.

    The gaps so far lie in two heaps, the smaller half and the larger one, as many in each: the median is between them.
    """
    first = int(np.searchsorted(t, start))
    medians, below, above = [nan], list[int](), list[int]()
    for gap in np.diff(t[first:]).tolist():
        if gap > 0:
            heappush(above, -heappushpop(below, -gap))
            if len(above) > len(below):
                heappush(below, -heappop(above))
        even = len(below) == len(above)
        medians.append((above[0] - below[0]) / 2 if even and below else float(-below[0]) if below else nan)
    count = np.searchsorted(t, ends, side="right") - first - 1
    return np.asarray(medians)[np.maximum(count, 0)]


def median_gaps(marks: Marks, instrument: IntArray, start: IntArray, end: IntArray) -> FloatArray:
    """`median_gap` for many windows: microseconds (N,), NaN where the window holds fewer than two instants.

    Candles come at one interval, so most windows are settled by counting, in running sums, the gaps that differ from
    the instrument's own median; only the rest is sorted.
    """
    answer = np.full(len(instrument), np.nan)
    order = np.argsort(instrument, kind="stable")
    for i, rows in runs(instrument[order]):
        which = order[rows]
        t = distinct(marks.times(i))
        gaps = np.diff(t)
        if not gaps.size:
            continue
        lo = np.minimum(np.searchsorted(t, start[which]), gaps.size)
        stop = np.maximum(np.searchsorted(t, end[which], side="right") - 1, lo)
        usual = np.partition(gaps, gaps.size // 2)[gaps.size // 2]
        below, above = running_count(gaps < usual), running_count(gaps > usual)
        most = (stop - lo - 1) // 2  # this many gaps may lie on one side without moving the median
        settled = (below[stop] - below[lo] <= most) & (above[stop] - above[lo] <= most)
        answer[which[settled]] = float(usual)
        for k in np.flatnonzero(~settled & (stop > lo)):
            answer[which[k]] = _median(gaps[lo[k] : stop[k]])
    return answer


def union(*numbers: IntArray) -> IntArray:
    """The whole numbers of one array or several, ascending, each once: (n,)."""
    # np.unique gives the same, and imports the whole of numpy's masked arrays to ask whether these are some
    return distinct(np.sort(np.concatenate(numbers)))


def distinct(t: IntArray) -> IntArray:
    """The numbers of a sorted array, each once; the array itself when none repeats."""
    fresh = np.diff(t) > 0
    return t if fresh.all() else t[np.concatenate([[True], fresh])]


def running_count(flags: BoolArray) -> IntArray:
    """How many of the first k flags are set, for k = 0 .. n: (n + 1,)."""
    return np.concatenate([[0], np.cumsum(flags, dtype=np.int64)])


def stale(age: npt.ArrayLike, gap: npt.ArrayLike, offset: npt.ArrayLike) -> BoolArray:
    """Whether a mark of this age is stale at a checkpoint `offset` after the entry; all in microseconds.

    Stale above max(3 median gaps, 10 % of the offset); a gap of NaN (too few marks to have one) leaves the 10 %.
    """
    return np.asarray(age) > fresh_for(gap, offset)


def fresh_for(gap: npt.ArrayLike, span: npt.ArrayLike) -> FloatArray:
    """How old a mark may be and still be fresh: max(3 median gaps, 10 % of the span), in microseconds."""
    return np.fmax(3.0 * np.asarray(gap, dtype=np.float64), np.asarray(span, dtype=np.float64) / 10.0)


def coverage(t: IntArray, entry: int, exit_at: int, gap: float | None) -> float:
    """Share of [entry, exit] in which the last mark is no older than max(3 median gaps, 10 % of the holding time).

    `gap` is `median_gap` over [entry - 24 h, exit]. A life of no length is 0 covered. Source: numbers.md section 2.
    """
    duration = exit_at - entry
    if duration <= 0:
        return 0.0
    limit = float(fresh_for(np.nan if gap is None else gap, duration))
    begin = np.searchsorted(t, entry, side="right")
    window = t[max(begin - 1, 0) : np.searchsorted(t, exit_at)] - entry  # small, so exact as float64
    until = np.minimum(window + limit, np.append(window[1:], duration))
    return float(np.maximum(until - np.maximum(window, 0), 0.0).sum()) / duration


def coverages(
    marks: Marks, instrument: IntArray, entry: IntArray, exit_at: IntArray, gap: FloatArray
) -> FloatArray:
    """`coverage` for many positions, (N,); `gap` from `median_gaps`, NaN where unknown."""
    answer = np.zeros(len(instrument))
    limit = fresh_for(gap, exit_at - entry)
    order = np.argsort(instrument, kind="stable")
    for i, rows in runs(instrument[order]):
        which = order[rows]
        t = marks.times(i)
        if not t.size:
            continue
        first = asof(t, entry[which])
        last = np.maximum(np.searchsorted(t, exit_at[which]) - 1, first)
        wide = running_count(np.diff(t) > limit[which].min())
        whole = (first >= 0) & (exit_at[which] > entry[which])
        whole[whole] &= wide[last[whole]] == wide[first[whole]]
        whole[whole] &= (exit_at[which] - t[last])[whole] <= limit[which][whole]
        answer[which[whole]] = 1.0
        for k in which[~whole]:
            answer[k] = coverage(t, int(entry[k]), int(exit_at[k]), float(gap[k]))
    return answer


def extremes(values: FloatArray, most: int) -> IntArray:
    """The indices, rising, of what a drawing needs of many values: of each of `most` / 2 stretches its lowest and highest.

    `values` (n,) without NaN; up to `most` of them are all needed.
    """
    n = len(values)
    if n <= most:
        return np.arange(n)
    edges = np.linspace(0, n, most // 2 + 1).astype(int)
    picks = [a + pick for a, b in pairwise(edges) for pick in (values[a:b].argmin(), values[a:b].argmax())]
    return np.unique(np.array(picks, np.int64))
