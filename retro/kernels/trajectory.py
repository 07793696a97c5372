"""The path of a position: PnL at checkpoints and the first best and worst moment, for many positions at once.

A simple position has one entry, one exit and a constant signed quantity, so its gross PnL at a mark x is
`quantity * x + cash`, and the extremes of its PnL are extremes of the price: long uses the maximum as best, short the
minimum. Perps with funding and interest-bearing assets are simple too when x is a total-return mark.

Work goes in shards of whole instruments, small enough for the processor's cache; one shard knows nothing of another.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from retro.kernels.ranges import first_extreme
from retro.kernels.series import ABSENT_AFTER, FloatArray, IntArray, Marks, asof_many, between, stale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SHARD = 1 << 19
"""Marks in a shard: 4 MB of prices, which the processor's caches hold."""

ROWS = 1 << 13
"""Positions in a shard, unless its marks are very many: a few MB of intermediate arrays."""

TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Positions:
    """Simple positions as columns, (N,) each.

    `instrument` indexes the marks; `entry` and `exit` in microseconds; `quantity` signed, + long and - short, not 0.
    Base currency: `cash` what it had brought when it was entered, + received (a short), - paid (a long), entry fees and
    gas paid; `notional` |quantity| * entry price, unlevered; `costs` the entry fees, >= 0, below 0 by which it began.
    """

    instrument: IntArray
    entry: IntArray
    exit: IntArray
    quantity: FloatArray
    cash: FloatArray
    notional: FloatArray
    costs: FloatArray

    @classmethod
    def filled(
        cls,
        instrument: IntArray,
        entry: IntArray,
        exit: IntArray,  # noqa: A002  the field's name
        quantity: FloatArray,
        price: FloatArray,
        costs: FloatArray,
    ) -> Positions:
        """Positions by their average entry price, base currency, (N,)."""
        cost = quantity * price
        return cls(instrument, entry, exit, quantity, -cost - costs, np.abs(cost), costs)

    def take(self, rows: IntArray) -> Positions:
        """The positions of these rows, in this order."""
        return Positions(*(getattr(self, field.name)[rows] for field in fields(self)))

    def gross(self, x: FloatArray) -> FloatArray:
        """PnL at marks x, net of entry costs and before exit costs; x is (N,) or (N, K)."""
        column = (slice(None),) + (None,) * (x.ndim - 1)
        return self.quantity[column] * x + self.cash[column]

    def price_at(self, gross: FloatArray) -> FloatArray:
        """The mark at which gross PnL is this, (N,)."""
        return (gross - self.cash) / self.quantity

    def slack(self) -> FloatArray:
        """The tie tolerance as a price: 1e-9 * max(1, notional) / |quantity|."""
        return TIE * np.maximum(1.0, self.notional) / np.abs(self.quantity)


@dataclass(frozen=True, slots=True)
class Trajectories:
    """What `trajectories` finds, a row for each position.

    `pnl` and `age` (N, K + 1): gross PnL and age of the mark, microseconds, at each checkpoint and, last, at the exit (or
    now); PnL is NaN where the checkpoint is not before the exit, where there is no mark (age -1) or it is older than 24 h. `lo`, `hi` (N,): the range
    of marks strictly inside. `best`, `worst` (N,): extreme gross PnL over those marks, NaN without any; `best_index`,
    `worst_index`: the first mark within the tie tolerance of it, an index into `marks.t`, -1 without any.
    """

    pnl: FloatArray
    age: IntArray
    lo: IntArray
    hi: IntArray
    best: FloatArray
    worst: FloatArray
    best_index: IntArray
    worst_index: IntArray


@dataclass(frozen=True, slots=True)
class Point:
    """One checkpoint: microseconds after the entry, the instant, PnL or None with the reason, age of the mark."""

    offset: int
    at: int
    pnl: float | None
    mark_age: int | None
    stale: bool
    reason: str | None = None


def points(entry: int, at: IntArray, age: IntArray, pnl: FloatArray, gap: float | None) -> list[Point]:
    """Checkpoints of one position from the ages of the marks used (-1: none) and the PnL they gave, (K,) each.

    `gap` is the median gap of the marks. Absent without a mark or with one older than 24 h. Source: numbers.md section 2.
    """
    late = stale(age, np.nan if gap is None else gap, at - entry)
    rows = zip(at.tolist(), age.tolist(), pnl.tolist(), late.tolist(), strict=True)
    return [_point(entry, *row) for row in rows]


def _point(entry: int, at: int, age: int, pnl: float, late: bool) -> Point:
    if age < 0:
        return Point(at - entry, at, None, None, stale=False, reason="no mark yet")
    if age > ABSENT_AFTER:
        return Point(at - entry, at, None, age, stale=True, reason="last mark older than 24 h")
    return Point(at - entry, at, pnl, age, stale=late)


def checkpoints(entry: int, exit_at: int, offsets: IntArray) -> IntArray:
    """Instants entry + offset that lie before the exit (or now); the exit itself is the caller's last point."""
    at = entry + offsets
    return at[at < exit_at]


def trajectories(
    marks: Marks, positions: Positions, offsets: IntArray, each: Callable[..., Iterable[Trajectories]] = map
) -> Trajectories:
    """Checkpoint PnL and first best and worst moment of N positions over M marks; see `Trajectories`.

    `offsets` (K,) microseconds after the entry. `each` maps a pure function over the shards: the built-in `map`, or the
    `map` of a thread pool. Positions may come in any order.
    """
    n, k = len(positions.entry), len(offsets)
    pnl, best, worst = np.empty((n, k + 1)), np.empty(n), np.empty(n)
    age, lo, hi, first, last = (np.empty(shape, np.int64) for shape in ((n, k + 1), n, n, n, n))
    out = Trajectories(pnl, age, lo, hi, best, worst, first, last)
    shards = list(_shards(marks, positions))
    for rows, part in zip(
        shards, each(lambda rows: _shard(marks, positions.take(rows), offsets), shards), strict=True
    ):
        for field in fields(Trajectories):
            getattr(out, field.name)[rows] = getattr(part, field.name)
    return out


def _shards(marks: Marks, positions: Positions) -> Iterator[IntArray]:
    """Rows by instrument and entry, in pieces of whole instruments up to `SHARD` marks, or parts of a longer instrument.

    A part has rows enough to make building its ladder, which costs by the mark, small beside them.
    """
    order = np.argsort(positions.instrument, kind="stable")
    edges = np.searchsorted(positions.instrument, np.arange(len(marks.offsets)), sorter=order)
    begin = 0
    while begin < len(marks.offsets) - 1:
        end = int(np.searchsorted(marks.offsets, marks.offsets[begin] + SHARD, side="right")) - 1
        end = max(end, begin + 1)
        rows = order[edges[begin] : edges[end]]
        rows = rows[np.lexsort((positions.entry[rows], positions.instrument[rows]))]
        size = max(ROWS, int(marks.offsets[end] - marks.offsets[begin]) // 256)
        yield from (rows[k : k + size] for k in range(0, rows.size, size))
        begin = end


def _shard(marks: Marks, positions: Positions, offsets: IntArray) -> Trajectories:
    start, end = positions.entry[:, None], positions.exit[:, None]
    at = np.concatenate([start, start + offsets, end], axis=1)
    index = asof_many(marks, positions.instrument, np.minimum(at, end))
    pnl, age = _valued(marks, positions, np.minimum(at, end)[:, 1:], index[:, 1:])
    pnl[:, :-1][at[:, 1:-1] >= end] = np.nan
    lo, hi = between(marks, positions.instrument, index[:, 0], index[:, -1], positions.exit)
    return Trajectories(pnl, age, lo, hi, *extremes(marks.x, positions, lo, hi))


def sample(marks: Marks, positions: Positions, at: IntArray) -> tuple[FloatArray, IntArray]:
    """Gross PnL and age of the mark (microseconds) at instants (N, K), by the as-of rule.

    PnL is NaN where there is no mark (age -1) or it is older than 24 h.
    """
    return _valued(marks, positions, at, asof_many(marks, positions.instrument, at))


def _valued(marks: Marks, positions: Positions, at: IntArray, index: IntArray) -> tuple[FloatArray, IntArray]:
    if not marks.t.size:
        return np.full(at.shape, np.nan), np.full(at.shape, -1)
    pnl, age = positions.gross(marks.x[index]), at - marks.t[index]
    age[index < 0] = -1
    pnl[(index < 0) | (age > ABSENT_AFTER)] = np.nan
    return pnl, age


def extremes(
    x: FloatArray, positions: Positions, lo: IntArray, hi: IntArray, at_exit: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Best and worst gross PnL over x[lo:hi] (N,), NaN if empty, and the first index of each, ties within the tolerance.

    With `at_exit` (N,), the gross PnL at the exit fill, an index is the first within the tolerance of the better of the range
    and the exit, and -1 when only the exit is.
    """
    slack, long = positions.slack(), positions.quantity > 0
    after = None if at_exit is None else positions.price_at(at_exit)
    top, top_at = first_extreme(x, lo, hi, slack, np.maximum, after)
    bottom, bottom_at = first_extreme(x, lo, hi, slack, np.minimum, after)
    best, worst = np.where(long, top, bottom), np.where(long, bottom, top)
    indices = np.where(long, top_at, bottom_at), np.where(long, bottom_at, top_at)
    return positions.gross(best), positions.gross(worst), *indices
