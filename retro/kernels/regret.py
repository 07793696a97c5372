"""How far from the best exit: excursions, regret with its luck ratio, and what came after the exit.

All of it is about *gross* PnL, net of entry costs and before exit costs; real exit costs are held constant, so net
candidates differ from gross ones by a constant. Candidates are the marks strictly inside (entry, exit) and the exit
itself, never the entry. Ties, within 1e-9 * max(1, notional) of the best, go to the earliest.
Definitions: numbers.md, section 2; the driftless walk: Spitzer 1956.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from retro.kernels.ranges import first_reaching, reduce_ranges
from retro.kernels.series import DAY, FloatArray, IntArray, Marks, coverages, inside, median_gaps
from retro.kernels.trajectory import TIE, Positions, extremes

INSUFFICIENT = "insufficient_marks"
MIN_COVERAGE = 0.5
HORIZON = 7 * DAY
"""The longest look after an exit."""

NOT_HELD = "held for no time"
NO_MARK = "no mark close before exit + h"

FLAT = 1e-12
STILL = "the path did not move"
_REGRET_FIELDS = ("regret", "regret_ratio", "optimal_exit_at", "optimal_exit_pnl")
_ABSENT = (None, None, None, None)


@dataclass(frozen=True, slots=True, eq=False)
class ExitCandidates:
    """Where one position could have been left: the marks strictly inside (entry, exit), and the exit itself.

    `at` (n,) ascending microseconds and `gross` (n,) PnL at those marks; n may be 0. `exit_at` microseconds, `final_pnl` net of
    everything, `notional`, `entry_costs` and `exit_costs` >= 0; money in base currency. Where `gross` holds the lows and
    highs of candles, `closes` (m,) is the PnL at their closes; else None.
    """

    at: IntArray
    gross: FloatArray
    exit_at: int
    final_pnl: float
    notional: float
    entry_costs: float = 0.0
    exit_costs: float = 0.0
    closes: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Regret:
    """Excursions and regret of one position, base currency and microseconds; what is None has its reason in `reasons`.

    `mfe` >= 0 and `mae` <= 0 are gross, at `mfe_at` and `mae_at` (None when no candidate was above, or below, 0). `regret`
    >= 0 is `optimal_exit_pnl` - final PnL, exactly. `regret_ratio` is regret over that of a driftless walk.
    """

    mfe: float
    mae: float
    mfe_at: int | None
    mae_at: int | None
    regret: float | None
    regret_ratio: float | None
    optimal_exit_at: int | None
    optimal_exit_pnl: float | None
    reasons: dict[str, str] = field(default_factory=dict)


def tie_tolerance(notional: float) -> float:
    """How near to the best is as good as the best: 1e-9 * max(1, notional), base currency."""
    return TIE * max(1.0, abs(notional))


def first_best(values: FloatArray, tolerance: float) -> int:
    """Index of the first value within `tolerance` of the greatest; `values` (n,), n >= 1, in order of time."""
    return int(np.argmax(values >= values.max() - tolerance))


def driftless_regret(step: float, candidates: int) -> float:
    """Expected regret of a driftless Gaussian walk: step * sum_{i=1}^{n-1} 1/sqrt(2 pi i), n candidates, the exit one of them.

    `step` is the standard deviation (RMS) of PnL from candidate to candidate. Source: Spitzer's identity.
    """
    return step * float(luck_sums(candidates)[candidates - 1])


def driftless_regret_of_extremes(step: float, steps: int) -> float:
    """The same of a walk that is seen at every moment: step * sqrt(2 n / pi), n steps from close to close.

    The expected maximum of a Brownian path less its end, over n steps of that standard deviation.
    """
    return step * math.sqrt(2.0 * steps / math.pi)


def luck_sums(candidates: int) -> FloatArray:
    """sum_{i=1}^{k} 1/sqrt(2 pi i) for k = 0 .. candidates - 1."""
    terms = 1.0 / np.sqrt(2.0 * np.pi * np.arange(1, max(candidates, 1)))
    return np.concatenate([[0.0], np.cumsum(terms)])


def regret(candidates: ExitCandidates, coverage: float) -> Regret:
    """Excursions and regret of one position; `coverage`, the share of its life with a fresh mark, from `series.coverage`.

    Without a mark inside or with `coverage` < 0.5 regret is absent, the excursions are those of the candidates there are.
    """
    gross, at_exit = candidates.gross, candidates.final_pnl + candidates.exit_costs
    when, path = np.append(candidates.at, candidates.exit_at), np.append(gross, at_exit)
    tie = tie_tolerance(candidates.notional)
    extremes_inside = (gross.max(), gross.min()) if len(gross) else (np.nan, np.nan)
    figures = (candidates.final_pnl, candidates.exit_costs, candidates.notional, _lucky(candidates, path))
    best, worst, final, costs, notional, lucky = (np.array([x]) for x in (*extremes_inside, *figures))
    best_at, worst_at = (when[[first_best(values, tie)]] for values in (path, -path))
    covered = np.array([coverage if len(gross) else 0.0])
    return _judged(best, worst, best_at, worst_at, lucky, covered, final, costs, notional).row(0)


def _lucky(candidates: ExitCandidates, path: FloatArray) -> float:
    """The expected regret of a driftless walk with the steps of this path."""
    # the walk starts where the position did, at its entry costs, as many steps as candidates
    walk = path if candidates.closes is None else np.append(candidates.closes, path[-1])
    steps = np.diff(walk, prepend=-candidates.entry_costs)
    step = math.sqrt(float((steps * steps).sum()) / len(walk))
    expected = driftless_regret if candidates.closes is None else driftless_regret_of_extremes
    return expected(step, len(walk))


@dataclass(frozen=True, slots=True)
class Regrets:
    """`Regret` for N positions as columns: floats are NaN and instants -1 where absent; `row` gives None and reasons.

    `coverage` is the share of each life with a fresh mark, 0 without one inside. Of simple positions `gap` is the median
    gap of the marks in [entry - 24 h, exit] and `inside` how many lie strictly inside; else both are empty.
    """

    coverage: FloatArray
    mfe: FloatArray
    mae: FloatArray
    mfe_at: IntArray
    mae_at: IntArray
    regret: FloatArray
    regret_ratio: FloatArray
    optimal_exit_at: IntArray
    optimal_exit_pnl: FloatArray
    gap: FloatArray = field(default_factory=lambda: np.empty(0))
    inside: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    def row(self, i: int) -> Regret:
        """One position's figures, None with a reason where absent."""
        excursions = mfe, mae = float(self.mfe[i]), float(self.mae[i])
        moments = int(self.mfe_at[i]) if mfe > 0 else None, int(self.mae_at[i]) if mae < 0 else None
        if np.isnan(self.regret[i]):
            return Regret(*excursions, *moments, *_ABSENT, dict.fromkeys(_REGRET_FIELDS, INSUFFICIENT))
        ratio = _number(self.regret_ratio[i])
        best = int(self.optimal_exit_at[i]), float(self.optimal_exit_pnl[i])
        reasons = {"regret_ratio": STILL} if ratio is None else {}
        return Regret(*excursions, *moments, float(self.regret[i]), ratio, *best, reasons)


def _number(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)


def regrets(marks: Marks, positions: Positions, final_pnl: FloatArray, exit_costs: FloatArray) -> Regrets:
    """`regret` for N simple positions that share their marks; `final_pnl` and `exit_costs` (N,) as there."""
    entry, end, instrument = positions.entry, positions.exit, positions.instrument
    gap = median_gaps(marks, instrument, entry - DAY, end)
    lo, hi = inside(marks, instrument, entry, end)
    at_exit = final_pnl + exit_costs
    best, worst, first, last = extremes(marks.x, positions, lo, hi, at_exit)
    best_at, worst_at = (np.where(i < 0, end, marks.t[i]) if marks.t.size else end for i in (first, last))
    lucky = luck_sums(int((hi - lo).max(initial=0)) + 1)[hi - lo] * _step(marks.x, positions, lo, hi, at_exit)
    covered = coverages(marks, instrument, entry, end, gap)
    covered = np.where(hi > lo, covered, 0.0)  # a fresh mark before the entry tells nothing of the way
    judged = _judged(
        best, worst, best_at, worst_at, lucky, covered, final_pnl, exit_costs, positions.notional
    )
    return replace(judged, gap=gap, inside=hi - lo)


def _judged(
    best: FloatArray,
    worst: FloatArray,
    best_at: IntArray,
    worst_at: IntArray,
    lucky: FloatArray,
    coverage: FloatArray,
    final_pnl: FloatArray,
    exit_costs: FloatArray,
    notional: FloatArray,
) -> Regrets:
    """The figures of N positions, however their paths were walked; all (N,), money in base currency.

    `best`, `worst` are the extremes of gross PnL at the marks inside, NaN without any; `best_at`, `worst_at` where it is
    first as good, or as bad, as at its best or worst, the exit among these; `lucky` what a driftless walk regrets.
    """
    # the exit competes gross, as the marks do: with its costs added back it is where the path really ended
    at_exit = final_pnl + exit_costs
    # a zero has no sign: what is added makes -0.0 into 0.0
    mfe = np.maximum(np.fmax(best, at_exit), 0.0) + 0.0
    mae = np.minimum(np.fmin(worst, at_exit), 0.0) + 0.0
    measurable = coverage >= MIN_COVERAGE
    # net of its own costs the real exit is `final_pnl` itself: the maximum with it makes regret >= 0, exactly
    optimum = np.where(measurable, np.fmax(best - exit_costs, final_pnl), np.nan)
    moved = lucky > FLAT * np.maximum(1.0, notional)
    missed = optimum - final_pnl
    return Regrets(
        coverage=coverage,
        mfe=mfe,
        mae=mae,
        mfe_at=np.where(mfe > 0, best_at, -1),
        mae_at=np.where(mae < 0, worst_at, -1),
        regret=missed,
        regret_ratio=np.where(moved, missed / np.where(moved, lucky, 1.0), np.nan),
        optimal_exit_at=np.where(measurable, best_at, -1),
        optimal_exit_pnl=optimum,
    )


def _step(x: FloatArray, positions: Positions, lo: IntArray, hi: IntArray, at_exit: FloatArray) -> FloatArray:
    """RMS gross PnL step from candidate to candidate, the exit the last; 0 without marks inside."""
    some = np.flatnonzero(hi > lo)
    step = np.zeros(len(lo))
    if not some.size:
        return step
    lo, hi, subset = lo[some], hi[some], positions.take(some)
    begin = int(lo.min())
    moves = np.square(np.diff(x[begin : int(hi.max())], append=0.0))
    within = np.where(hi - lo > 1, reduce_ranges(moves, lo - begin, hi - 1 - begin, np.add), 0.0)
    opening, closing = subset.gross(x[lo]) + subset.costs, at_exit[some] - subset.gross(x[hi - 1])
    step[some] = np.sqrt((subset.quantity**2 * within + opening**2 + closing**2) / (hi - lo + 1))
    return step


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
