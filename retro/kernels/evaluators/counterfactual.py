"""What if it had left earlier: exit rules replayed over many positions at once, on the marks that came.

All arrays of marks run over the positions end to end: position i owns [start[i], start[i + 1]). A rule acts at the first
mark at which its condition holds, at that mark's price and never between marks, so that a gap is paid.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from retro.kernels.uncertainty import Floats, Integers

_EQUAL = 1e-12  # of the entry price: a threshold that was reached to the last digit


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

    def part(self, first: int, last: int) -> EnteredPositions:
        """Those from `first` to just before `last`."""
        return EnteredPositions(
            self.side[first:last],
            self.price[first:last],
            self.at[first:last],
            self.quantity[first:last],
            self.risk[first:last],
        )


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

    def as_of(self, position: Integers, instant: Integers) -> tuple[Floats, Floats]:
        """Cash and quantity (k,) of positions, by number, after their moves up to and including an `instant` each."""
        low, high = (
            self.start[:-1][position],
            self.start[1:][position],
        )  # the entry is the first, and stands always
        while (searching := low + 1 < high).any():
            middle = np.where(searching, (low + high) // 2, low)
            happened = self.at[middle] <= instant
            low, high = (
                np.where(searching & happened, middle, low),
                np.where(searching & ~happened, middle, high),
            )
        return self.cash[low], self.quantity[low]


class PriceMoves:
    """How far the price had gone by each mark at most: what every rule of a search reads.

    Levels (m,) never fall along a position's marks, so that the first mark at or beyond a threshold is found by halving. A rule in R asks quantity x move >= x times the risk; where no risk was stated nothing is reached.
    """

    def __init__(self, paths: MarkPaths, entered: EnteredPositions) -> None:
        self._paths = paths
        self._entered = entered
        self._signed = paths.spread(entered.side) * paths.price
        self._entry = paths.spread(entered.side * entered.price)

    @cached_property
    def _best(self) -> Floats:
        """The best price so far, the entry's included; of a short its negative."""
        return self._so_far(np.maximum(self._signed, self._entry))

    @cached_property
    def _favour(self) -> Floats:
        return self._best - self._entry

    @cached_property
    def _against(self) -> Floats:
        return self._so_far(self._entry - self._signed)

    @cached_property
    def _back(self) -> Floats:
        return self._so_far(self._best - self._signed)

    @cached_property
    def _back_share(self) -> Floats:
        return self._so_far((self._best - self._signed) / np.abs(self._best))

    def held_for(self, duration: int) -> Integers:
        """The first mark (n,) at or after `duration` from the entry; -1 where it had left before."""
        return self._first(self._paths.at, self._entered.at + duration)

    def stopped(self, *, share: float | None, risks: float | None) -> Integers:
        """The first mark (n,) at which the price had gone against each by a `share` of entry, or by so many R; else -1."""
        return self._first(self._against, self._distance(share, risks))

    def taken(self, *, share: float | None, risks: float | None) -> Integers:
        """The first mark (n,) at which the price had gone each one's way by a `share` of entry, or by so many R; else -1."""
        return self._first(self._favour, self._distance(share, risks))

    def trailed(self, *, share: float | None, risks: float | None) -> Integers:
        """The first mark (n,) at which the price had fallen back from its best by a `share` of that, or by so many R."""
        if share is not None:
            return self._first(self._back_share, np.full(len(self._entered.side), share - _EQUAL))
        return self._first(self._back, self._distance(None, risks))

    def _distance(self, share: float | None, risks: float | None) -> Floats:
        """How far the price of each has to go (n,), a last digit less: 97.1 is 2.9 % below 100."""
        entry = self._entered.price
        far = (
            share * entry
            if share is not None
            else (risks or 0.0) * self._entered.risk / self._entered.quantity
        )
        return far - _EQUAL * entry

    def _so_far(self, values: Floats) -> Floats:
        """The largest value up to each mark of a position; in place."""
        for first, last in pairwise(self._paths.start.tolist()):
            np.maximum.accumulate(values[first:last], out=values[first:last])
        return values

    def _first(self, levels: Floats | Integers, threshold: Floats | Integers) -> Integers:
        """The first mark of each position whose level reaches its threshold, (n,); -1 without one."""
        low, high = self._paths.start[:-1].copy(), self._paths.start[1:].copy()
        while (searching := low < high).any():
            middle = np.where(searching, (low + high) // 2, 0)
            reached = levels[middle] >= threshold
            high = np.where(searching & reached, middle, high)
            low = np.where(searching & ~reached, middle + 1, low)
        return np.where(low < self._paths.start[1:], low, -1)


def results(states: HeldStates, at: Integers, price: Floats, cost_rate: Floats) -> Floats:
    """Each position's PnL (n,) when what it holds at `at` (n,) goes for `price` (n,); NaN where that is.

    Its moves after that do not happen; what goes pays `cost_rate` (n,), a share of its value.
    """
    cash, holding = states.as_of(np.arange(len(at)), at)
    return cash + holding * price - np.abs(holding) * price * cost_rate
