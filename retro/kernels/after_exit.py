"""What came after the exit: what holding on would have added, to the best moment, with a stop, and to the end.

All of it is *gross* PnL, as in `regret`. Definitions: numbers.md, section 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from retro.kernels.ranges import first_reaching
from retro.kernels.series import DAY, FloatArray, IntArray, Marks, inside
from retro.kernels.trajectory import Positions, extremes

HORIZON = 7 * DAY
"""The longest look after an exit."""

NOT_HELD = "held for no time"
NO_MARK = "no mark close before exit + h"


@dataclass(frozen=True, slots=True)
class AfterExit:
    """What holding on would have added to the final PnL, base currency; None for all three, with the reason, or for none.

    `left_on_table` >= 0: the best moment; `left_on_table_capped` >= 0: the best before the stop; `hold_on`, signed: at the end.
    """

    left_on_table: float | None
    left_on_table_capped: float | None
    hold_on: float | None
    reason: str | None = None


def ruin_index(gained: FloatArray, ruin: float) -> int | None:
    """Index of the first mark at which all there was to lose is lost; None where none is.

    `gained` (n,) is what holding on after the exit adds to the final PnL, base currency, in order of time; `ruin` >= 0.
    """
    lost = np.flatnonzero(gained <= -ruin)
    return int(lost[0]) if lost.size else None


def after_exit(
    t: IntArray,
    gross: FloatArray,
    *,
    entry: int,
    exit_at: int,
    final_pnl: float,
    exit_costs: float,
    gap: float | None,
    stop: float,
    tolerance: float,
    ruin: float = math.inf,
) -> AfterExit:
    """What holding on after the exit would have added, over h = min(holding time, 7 d).

    `t` (n,) instants and `gross` (n,) gross PnL of the position had it been held, at marks up to the period's end and the
    settle lag; those outside (exit, exit + h] are left out. `gap`: median gap of the marks in [entry - 24 h, exit]. `stop`
    >= 0: max(risk, |mae|); held on below -stop by more than the `tolerance`, the capped figure looks no further. `ruin`
    >= 0: all that could be lost after the exit; holding on ends at the mark at which it is. Absent without a mark in (exit, exit + h], or when the last one is more than 3 median gaps before exit + h.
    """
    horizon = min(exit_at - entry, HORIZON)
    if horizon <= 0:
        return AfterExit(None, None, None, NOT_HELD)
    begin, end = np.searchsorted(t, [exit_at, exit_at + horizon], side="right").tolist()
    if begin == end or gap is None or exit_at + horizon - int(t[end - 1]) > 3 * gap:
        return AfterExit(None, None, None, NO_MARK)
    gained = gross[begin:end] - exit_costs - final_pnl
    ruined = ruin_index(gained, ruin)
    gained = gained if ruined is None else gained[: ruined + 1]
    fallen = np.flatnonzero(gross[begin : begin + len(gained)] < -stop - tolerance)
    patient = gained[: fallen[0]] if fallen.size else gained
    return AfterExit(
        max(0.0, float(gained.max())), max(0.0, float(patient.max(initial=0.0))), float(gained[-1])
    )


@dataclass(frozen=True, slots=True)
class AfterExits:
    """`AfterExit` for N simple positions as columns, NaN where absent; `horizon` is h in microseconds."""

    horizon: IntArray
    left_on_table: FloatArray
    left_on_table_capped: FloatArray
    hold_on: FloatArray

    def row(self, i: int) -> AfterExit:
        """One position's figures, None with the reason where absent."""
        if np.isnan(self.hold_on[i]):
            return AfterExit(None, None, None, NO_MARK if self.horizon[i] > 0 else NOT_HELD)
        return AfterExit(
            float(self.left_on_table[i]), float(self.left_on_table_capped[i]), float(self.hold_on[i])
        )


def after_exits(
    marks: Marks,
    positions: Positions,
    final_pnl: FloatArray,
    exit_costs: FloatArray,
    gap: FloatArray,
    stop: FloatArray,
    ruin: FloatArray | None = None,
) -> AfterExits:
    """`after_exit` for N simple positions; `gap` from `regrets` (NaN: too few marks), `stop` (N,) = max(risk, |mae|).

    `ruin` (N,) as there, inf where nothing bounds the loss; None: nowhere.
    """
    horizon = np.minimum(positions.exit - positions.entry, HORIZON)
    until = positions.exit + horizon
    lo, hi = inside(marks, positions.instrument, positions.exit, until + 1)
    some = np.flatnonzero((hi > lo) & (horizon > 0))
    some = some[until[some] - marks.t[hi[some] - 1] <= 3 * gap[some]]
    subset, lo, hi = positions.take(some), lo[some], hi[some]
    costs, final = exit_costs[some], final_pnl[some]
    if ruin is not None:
        ruined = _ruined(marks.x, subset, lo, hi, final + costs - ruin[some])
        hi = np.where(ruined < 0, hi, ruined + 1)
    fallen = _first_below(marks.x, subset, lo, hi, -stop[some])
    columns = [np.full(len(horizon), np.nan) for _ in range(3)]
    for column, stops in zip(columns, (hi, np.where(fallen < 0, hi, fallen)), strict=False):
        best, *_ = extremes(marks.x, subset, lo, stops)
        column[some] = np.fmax(best - costs - final, 0.0) + 0.0
    columns[2][some] = subset.gross(marks.x[hi - 1]) - costs - final
    return AfterExits(horizon, *columns)


def ruin_instants(
    marks: Marks,
    positions: Positions,
    until: IntArray,
    final_pnl: FloatArray,
    exit_costs: FloatArray,
    ruin: FloatArray,
) -> IntArray:
    """The mark in (exit, until] by which holding on has lost all there was to lose, for N simple positions; -1: none has.

    `ruin` (N,) >= 0, inf where nothing bounds the loss; microseconds.
    """
    lo, hi = inside(marks, positions.instrument, positions.exit, until + 1)
    at = _ruined(marks.x, positions, lo, hi, final_pnl + exit_costs - ruin)
    return np.where(at < 0, -1, marks.t[at]) if marks.t.size else at


def _ruined(x: FloatArray, positions: Positions, lo: IntArray, hi: IntArray, floor: FloatArray) -> IntArray:
    """The first index in x[lo:hi] at which gross PnL is at or below the floor; -1 where none is."""
    limit = positions.price_at(floor)
    below = first_reaching(x, lo, hi, limit, np.minimum)
    above = first_reaching(x, lo, hi, limit, np.maximum)
    return np.where(positions.quantity > 0, below, above)


def _first_below(
    x: FloatArray, positions: Positions, lo: IntArray, hi: IntArray, floor: FloatArray
) -> IntArray:
    """First index in x[lo:hi] at which gross PnL is below the floor by more than the tie tolerance; -1 where none is."""
    limit = positions.price_at(floor) - np.sign(positions.quantity) * positions.slack()
    below = first_reaching(x, lo, hi, np.nextafter(limit, -np.inf), np.minimum)
    above = first_reaching(x, lo, hi, np.nextafter(limit, np.inf), np.maximum)
    return np.where(positions.quantity > 0, below, above)
