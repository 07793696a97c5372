"""What if it had left earlier: exit rules replayed over many positions at once, on the marks that came.

All arrays of marks run over the positions end to end: position i owns [start[i], start[i + 1]). A rule acts at the first
mark at which its condition holds, at that mark's price and never between marks, so that a gap is paid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retro.kernels.uncertainty import Floats, Integers

DRAWS = 9_999
_RESAMPLES = 2_000
_MOST_CELLS = 4_000_000  # signs drawn at once
_EQUAL = 1e-9  # of the larger one: two sums of the same days in another order


@dataclass(frozen=True, slots=True, eq=False)
class MarkPaths:
    """Marks strictly between entry and exit: `at` (m,) instants, `price` (m,), `start` (n + 1,)."""

    at: Integers
    price: Floats
    start: Integers

    def spread(self, values: Floats) -> Floats:
        """One value a position (n,), repeated at each of its marks (m,)."""
        return np.repeat(values, np.diff(self.start))


@dataclass(frozen=True, slots=True, eq=False)
class EnteredPositions:
    """Positions as entered, arrays (n,): side +1 or -1, average entry price, its instant, quantity > 0, risk at stake.

    `risk` is what 1 R is, in money; NaN where none was stated.
    """

    side: Floats
    price: Floats
    at: Integers
    quantity: Floats
    risk: Floats


@dataclass(frozen=True, slots=True, eq=False)
class HeldStates:
    """What each position was after each of its moves, end to end as marks are: `at` (k,), `start` (n + 1,).

    `cash` (k,) is what it had brought by then (negative while more was paid), fees within; `quantity` (k,) what it held,
    negative for a short. The first state of each is its entry.
    """

    at: Integers
    cash: Floats
    quantity: Floats
    start: Integers

    def as_of(self, instant: Integers) -> Integers:
        """The state (n,) of each position after its moves up to and including its `instant` (n,)."""
        happened = self.at <= np.repeat(instant, np.diff(self.start))
        first = self.start[:-1]
        return np.asarray(first + np.maximum(np.add.reduceat(happened, first, dtype=np.int64) - 1, 0))


def leaving_after(paths: MarkPaths, positions: EnteredPositions, duration: int) -> Integers:
    """The mark (n,) at which each has been held for `duration`; -1 where it had left before."""
    return _first(paths, paths.at - np.repeat(positions.at, np.diff(paths.start)) >= duration)


def stopped(
    paths: MarkPaths, positions: EnteredPositions, *, share: float | None, risks: float | None
) -> Integers:
    """The mark (n,) at which the price had gone against each by a `share` of entry, or by so many R; else -1."""
    return _first(paths, _gain(paths, positions, in_share=share is not None) <= -(share or risks or 0.0))


def taken(
    paths: MarkPaths, positions: EnteredPositions, *, share: float | None, risks: float | None
) -> Integers:
    """The mark (n,) at which the price had gone each one's way by a `share` of entry, or by so many R; else -1."""
    return _first(paths, _gain(paths, positions, in_share=share is not None) >= (share or risks or 0.0))


def trailed(
    paths: MarkPaths, positions: EnteredPositions, *, share: float | None, risks: float | None
) -> Integers:
    """The mark (n,) at which the price had fallen back from its best, entry included, by a share of it or so many R."""
    best = _best(paths, positions)
    side = paths.spread(positions.side)
    back = side * (best - paths.price)
    if share is not None:
        return _first(paths, back >= share * best)
    with np.errstate(invalid="ignore"):
        return _first(
            paths, back * paths.spread(positions.quantity) >= (risks or 0.0) * paths.spread(positions.risk)
        )


def results(states: HeldStates, paths: MarkPaths, leave: Integers, cost_rate: Floats) -> Floats:
    """Each position's PnL (n,) when what it holds goes at mark `leave` (n,); NaN where that is -1.

    Its moves after that do not happen; what goes pays `cost_rate` (n,), a share of its value.
    """
    acts = leave >= 0
    mark = np.where(acts, leave, 0)
    at = paths.at[mark] if len(paths.at) else np.zeros(len(leave), dtype=np.int64)
    price = paths.price[mark] if len(paths.price) else np.zeros(len(leave))
    state = states.as_of(at)
    cash, holding = states.cash[state], states.quantity[state]
    pnl = cash + holding * price - np.abs(holding) * price * cost_rate
    return np.where(acts, pnl, np.nan)


def search_p(differences: Floats, rng: np.random.Generator, draws: int = DRAWS) -> tuple[Floats, float]:
    """How often chance alone improves as much: p of each rule, and p of the best against the best of all.

    `differences` (rules, days) are sums by day. Each draw turns the signs of whole days, the same for all rules, so that
    rules that are alike count as one search. p = (1 + draws with at least that sum) / (1 + draws), one-sided.
    """
    total = np.add.reduce(differences, axis=1)
    slack = _EQUAL * np.maximum(np.add.reduce(np.abs(differences), axis=1), 1e-300)
    best = int(np.argmax(total))
    reached = np.zeros(len(total), dtype=np.int64)
    topped, pending = 0, draws
    while pending:
        count = min(pending, max(1, _MOST_CELLS // max(1, differences.shape[1])))
        signs = rng.integers(0, 2, (differences.shape[1], count), dtype=np.int8) * np.int8(2) - np.int8(1)
        sums = np.stack([np.add.reduce(signs * row[:, None], axis=0) for row in differences])
        reached += (sums >= (total - slack)[:, None]).sum(axis=1)
        topped += int((sums.max(axis=0) >= total[best] - slack[best]).sum())
        pending -= count
    p = (1 + reached) / (1 + draws)
    return p, max((1 + topped) / (1 + draws), float(p[best]))


def sum_interval(days: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """95 % bootstrap interval of a sum over days (d,), d >= 2: whole days drawn with replacement, 2,000 times."""
    n = len(days)
    step = max(1, _MOST_CELLS // n)
    sums = [
        np.add.reduce(days[rng.integers(0, n, (min(step, _RESAMPLES - first), n))], axis=1)
        for first in range(0, _RESAMPLES, step)
    ]
    low, high = np.percentile(np.concatenate(sums), (2.5, 97.5))
    return float(low), float(high)


def _gain(paths: MarkPaths, positions: EnteredPositions, *, in_share: bool) -> Floats:
    """How far each mark lies on the position's side of its entry: as a share of entry, or in R (NaN without a risk)."""
    entry = paths.spread(positions.price)
    if in_share:
        return paths.spread(positions.side) * (paths.price / entry - 1)
    return paths.spread(positions.side * positions.quantity / positions.risk) * (paths.price - entry)


def _best(paths: MarkPaths, positions: EnteredPositions) -> Floats:
    """The best price so far at each mark, from the entry's on."""
    side = paths.spread(positions.side)
    signed = np.maximum(side * paths.price, side * paths.spread(positions.price))
    for first, last in zip(paths.start[:-1].tolist(), paths.start[1:].tolist(), strict=True):
        np.maximum.accumulate(signed[first:last], out=signed[first:last])
    return side * signed


def _first(paths: MarkPaths, holds: NDArray[np.bool_]) -> Integers:
    """The first mark of each position at which it holds, (n,); -1 without one."""
    marks = np.append(np.flatnonzero(holds), len(paths.at))
    first = marks[np.searchsorted(marks, paths.start[:-1])]
    return np.where(first < paths.start[1:], first, -1)
