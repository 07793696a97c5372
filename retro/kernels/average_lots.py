"""Lots at average cost, of which every sale takes one fraction: in as many steps as there are trades, however many lots.

A lot is noted as it was opened, a sale as the fraction it took. What a sale took of each lot is worked out only for who
asks (`FractionOfLots`), and what all sales of a life made of each lot in one pass (`LotClosings`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from decimal import Decimal

    from numpy.typing import NDArray

__all__ = ["AlikeLots", "FractionOfLots", "Gone", "LotClosings", "Match"]


class Match(NamedTuple):
    """A closed piece of a lot: `tag` of the trade that opened it, signed `quantity`, money in and out.

    For a short `entry_cost` is negative (cash received) and so is `proceeds` (cash paid); pnl = proceeds less cost.
    """

    tag: int
    quantity: Decimal
    entry_cost: float
    proceeds: float

    @property
    def pnl(self) -> float:
        """What it made, net of its share of both fees."""
        return self.proceeds - self.entry_cost


class Gone(NamedTuple):
    """What of a lot was closed: its quantity (>= 0) and what that made."""

    quantity: float
    pnl: float


class _Lot(NamedTuple):
    """A lot as it was opened, signed, when `since` sales had been made."""

    tag: int
    quantity: Decimal
    cost: float
    since: int


class AlikeLots:
    """Several open lots; no list of it changes but at its end, so that what was sold before can refer to it."""

    __slots__ = ("_lots", "_shares")

    def __init__(self, lots: Iterable[tuple[int, Decimal, float]]) -> None:
        self._lots = [_Lot(*lot, 0) for lot in lots]
        self._shares: list[Decimal] = []

    def copy(self) -> AlikeLots:
        """The same lots, that go on by themselves."""
        twin = AlikeLots(())
        twin._lots, twin._shares = self._lots.copy(), self._shares.copy()
        return twin

    def open(self, tag: int, quantity: Decimal, cost: float) -> None:
        """Add a lot, or to the newest one where that has the same tag."""
        if self._lots[-1].tag == tag:
            *older, (_, already, paid) = self.left()
            self._lots, self._shares = [_Lot(*lot, 0) for lot in older], []
            quantity, cost = already + quantity, paid + cost
        self._lots.append(_Lot(tag, quantity, cost, len(self._shares)))

    def take(self, share: Decimal, quantity: Decimal, cash: float) -> FractionOfLots:
        """Remove a share of every lot, in all a signed quantity, for that cash; 1 removes all."""
        self._shares.append(share)
        return FractionOfLots(
            self._lots, len(self._lots), self._shares, len(self._shares) - 1, quantity, cash
        )

    def left(self) -> list[tuple[int, Decimal, float]]:
        """Tag, quantity and cost of what is open of each lot."""
        return [_left_of(lot, self._shares, len(self._shares)) for lot in self._lots]

    @property
    def last_price(self) -> float:
        """What a unit of the newest lot came in at."""
        return self._lots[-1].cost / float(self._lots[-1].quantity)


class FractionOfLots(Sequence[Match]):
    """What one sale took of every lot: its matches, worked out when they are looked at."""

    __slots__ = ("_cash", "_count", "_lots", "_quantity", "_sale", "_shares")

    def __init__(
        self, lots: list[_Lot], count: int, shares: list[Decimal], sale: int, quantity: Decimal, cash: float
    ) -> None:
        self._lots, self._count, self._shares, self._sale = lots, count, shares, sale
        self._quantity, self._cash = quantity, cash

    @property
    def share(self) -> float:
        """Which share of what was open it took."""
        return float(self._shares[self._sale])

    @property
    def price(self) -> float:
        """What a unit brought, net of fees."""
        return self._cash / float(self._quantity)

    @property
    def number(self) -> int:
        """How many sales of these lots came before."""
        return self._sale

    @property
    def lots(self) -> list[_Lot]:
        """The lots that it took from, as they were opened."""
        return self._lots[: self._count]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Match]:
        share = self._shares[self._sale]
        total = float(self._quantity)
        for lot in self.lots:
            tag, quantity, cost = _left_of(lot, self._shares, self._sale)
            piece = quantity * share
            yield Match(tag, piece, cost * float(share), self._cash * (float(piece) / total))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    @overload
    def __getitem__(self, index: int) -> Match: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Match]: ...
    def __getitem__(self, index: int | slice) -> Match | Sequence[Match]:
        return tuple(self)[index]


def _left_of(lot: _Lot, shares: Sequence[Decimal], sales: int) -> tuple[int, Decimal, float]:
    """What is open of a lot after so many sales."""
    quantity, cost = lot.quantity, lot.cost
    for share in shares[lot.since : sales]:
        quantity -= quantity * share
        cost -= cost * float(share)
    return lot.tag, quantity, cost


class LotClosings:
    """What sales, in order of time, closed of each lot: each match, or of lots at average cost their sum.

    A lot of quantity q and cost c that s sales had preceded made q v[s] - c w[s], where v is what a unit brings from a
    sale on and w the share of it that goes: v[i] = share[i] price[i] + (1 - share[i]) v[i + 1], w alike. One pass from the
    last sale back, of which nothing can underflow.
    """

    def __init__(self, matches: Iterable[tuple[int, Sequence[Match]]]) -> None:
        self._pieces: dict[int, list[tuple[int, Gone]]] = {}
        self._runs: list[_Run] = []
        for at, matched in matches:
            if not isinstance(matched, FractionOfLots):
                for match in matched:
                    piece = Gone(float(abs(match.quantity)), match.pnl)
                    self._pieces.setdefault(match.tag, []).append((at, piece))
                continue
            if not matched.number:
                self._runs.append(_Run())
            self._runs[-1].add(at, matched)
        self._lots: dict[int, list[tuple[_Run, _Lot]]] = {}
        for run in self._runs:
            for lot in run.lots:
                self._lots.setdefault(lot.tag, []).append((run, lot))

    def of(self, tag: int, before: float = math.inf) -> list[Gone]:
        """What was closed of the lot with that tag before an instant."""
        gone = [piece for at, piece in self._pieces.get(tag, ()) if at < before]
        sold = (run.gone(lot, before) for run, lot in self._lots.get(tag, ()))
        return [*gone, *(piece for piece in sold if piece is not None)]


class _Run:
    """Sales of the same lots, from the first to the last."""

    def __init__(self) -> None:
        self._times: list[int] = []
        self._sales: list[FractionOfLots] = []
        self._sums: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}

    def add(self, at: int, sale: FractionOfLots) -> None:
        self._times.append(at)
        self._sales.append(sale)

    @property
    def lots(self) -> list[_Lot]:
        return self._sales[-1].lots

    def gone(self, lot: _Lot, before: float) -> Gone | None:
        count = bisect_left(self._times, before)
        if count <= lot.since:
            return None
        if count not in self._sums:
            self._sums[count] = self._from_the_last(count)
        brought, parts = self._sums[count]
        still = count - lot.since
        quantity = float(lot.quantity)
        pnl = quantity * float(brought[still]) - lot.cost * float(parts[still])
        return Gone(abs(quantity) * float(parts[still]), pnl)

    def _from_the_last(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What the last n of so many sales bring of a unit, and which share of it goes, for each n: shape (count + 1,)."""
        brought, parts = np.zeros(count + 1), np.zeros(count + 1)
        unit, part = 0.0, 0.0
        for n, sale in enumerate(reversed(self._sales[:count]), 1):
            share = sale.share
            unit = share * sale.price + (1.0 - share) * unit
            part = share + (1.0 - share) * part
            brought[n], parts[n] = unit, part
        return brought, parts
