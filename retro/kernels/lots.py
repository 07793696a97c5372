"""Lot books: what is open of one asset, what it cost, and what closing it realised.

Quantities are Decimal and signed (a short is a negative lot), so that zero is exactly zero; money is float, in
base currency. The sum of what was realised, less the basis still open, is always the cash that came in: which
method matches the lots moves profit in time and between gains and losses, never the net.
"""

from __future__ import annotations

import math
from collections import deque
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from retro.kernels.average_lots import AlikeLots, Match

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Method = Literal["fifo", "average"]

ZERO = Decimal(0)
_NOISE = 1e-14
_DUST = Decimal("1e-12")  # of all that was opened since the book was last flat


def unrounded(value: float, size: float) -> float:
    """The value, or exactly 0 where it is no more than rounding leaves of figures of this size: no win and no loss."""
    return 0.0 if abs(value) <= _NOISE * abs(size) else value


class Realised(NamedTuple):
    """What one trade did: `pnl` of the part that closed, both quantities signed as the trade, and their lots.

    `closed_qty` and `opened_qty` add up to the trade's quantity.
    """

    pnl: float
    closed_qty: Decimal
    opened_qty: Decimal
    matched: Sequence[Match]


class LotBook:
    """Open lots of one asset, matched first in first out or at average cost.

    A fee (charge > 0, rebate < 0) enters the basis when opening and comes off the proceeds when closing. At average
    cost every sale takes the same fraction of every lot, which is the same thing and leaves each tag its own pnl;
    consecutive trades of one tag are then one lot, so an inventory that needs no tags should use a single one.
    """

    __slots__ = ("_alike", "_basis", "_lots", "_method", "_opened", "_quantity")

    def __init__(self, method: Method = "fifo") -> None:
        self._method: Method = method
        self._lots: deque[tuple[int, Decimal, float]] = deque()
        self._alike: AlikeLots | None = None  # at average cost, of several lots
        self._quantity = ZERO
        self._basis = 0.0
        self._opened = ZERO

    @property
    def quantity(self) -> Decimal:
        """Signed quantity open."""
        return self._quantity

    @property
    def basis(self) -> float:
        """Signed cost of what is open: cash paid for longs, the negative of cash received for shorts."""
        return self._basis

    @property
    def last_price(self) -> float | None:
        """What a unit of the newest open lot came in at; None when nothing is open."""
        if self._alike is not None:
            return self._alike.last_price
        if not self._lots:
            return None
        _, quantity, cost = self._lots[-1]
        return cost / float(quantity)

    def unrealised(self, price: float) -> float:
        """Profit if all that is open were closed at `price` without a fee."""
        return float(self._quantity) * price - self._basis

    def result_of_closing(self, price: float) -> float:
        """What `trade` would realise if all that is open were closed at `price` without a fee."""
        cash = float(self._quantity) * price
        return unrounded(cash - self._basis, cash)

    def copy(self) -> LotBook:
        """Return an independent book with the same lots."""
        twin = LotBook(self._method)
        twin._lots = self._lots.copy()
        twin._alike = None if self._alike is None else self._alike.copy()
        twin._quantity = self._quantity
        twin._basis = self._basis
        twin._opened = self._opened
        return twin

    def to_json(self) -> dict[str, object]:
        """Plain data from which `from_json` makes the same book."""
        open_lots = self._lots if self._alike is None else self._alike.left()
        lots = [[tag, str(quantity), cost] for tag, quantity, cost in open_lots]
        return {
            "lots": lots,
            "quantity": str(self._quantity),
            "basis": self._basis,
            "opened": str(self._opened),
        }

    @classmethod
    def from_json(cls, method: Method, data: Mapping[str, Any]) -> LotBook:
        """Return the book that was written down."""
        book = cls(method)
        book._lots = deque((tag, Decimal(quantity), cost) for tag, quantity, cost in data["lots"])
        if method == "average" and len(book._lots) > 1:
            book._alike = AlikeLots(book._lots)
            book._lots.clear()
        book._quantity = Decimal(data["quantity"])  # fractions of lots at average cost add up to less exactly
        book._basis = data["basis"]
        book._opened = Decimal(data["opened"])
        return book

    def trade(self, signed_qty: Decimal, price: float, fee: float = 0.0, tag: int = 0) -> Realised:
        """Buy (`signed_qty` > 0) or sell at `price`; what closes lots realises, what is left opens one.

        A trade through zero splits its fee by quantity. A rest of no more than 1e-12 of all that was opened counts
        as zero. In kind, receipts and payments are trades at the mark without a fee.
        """
        quantity = self._quantity
        if not quantity or not signed_qty or (quantity > 0) == (signed_qty > 0):
            self._open(signed_qty, float(signed_qty) * price + fee, tag)
            return Realised(0.0 if signed_qty else 0.0 - fee, ZERO, signed_qty, ())
        remainder = quantity + signed_qty
        if abs(remainder) <= _DUST * self._opened:
            return self._close_all(signed_qty, -float(signed_qty) * price - fee)
        if (remainder > 0) == (quantity > 0):
            return self._close_part(signed_qty, remainder, -float(signed_qty) * price - fee)
        closing_fee = fee * float(quantity / -signed_qty)
        realised = self._close_all(-quantity, float(quantity) * price - closing_fee)
        self._open(remainder, float(remainder) * price + (fee - closing_fee), tag)
        return realised._replace(opened_qty=remainder)

    def dispose(self, quantity: Decimal, mark: float) -> Realised:
        """Pay `quantity` > 0 away in kind at its mark, as for gas; never opens a short.

        What is not held is bought at the mark for the purpose and so realises nothing.
        """
        available = min(quantity, self._quantity)
        return self.trade(-available, mark) if available > 0 else Realised(0.0, ZERO, ZERO, ())

    def _open(self, quantity: Decimal, cost: float, tag: int) -> None:
        if not quantity:
            return
        self._quantity += quantity
        self._basis += cost
        self._opened += abs(quantity)
        if self._alike is not None:
            self._alike.open(tag, quantity, cost)
        elif self._method == "fifo" or not self._lots:
            self._lots.append((tag, quantity, cost))
        elif self._lots[0][0] == tag:
            _, already, paid = self._lots.pop()
            self._lots.append((tag, already + quantity, paid + cost))
        else:
            self._alike = AlikeLots([self._lots.pop()])
            self._alike.open(tag, quantity, cost)

    def _close_all(self, signed_qty: Decimal, cash: float) -> Realised:
        matched = (
            _share_out(list(self._lots), cash)
            if self._alike is None
            else self._alike.take(Decimal(1), self._quantity, cash)
        )
        pnl = unrounded(cash - self._basis, cash)
        self._lots.clear()
        self._alike = None
        self._quantity = self._opened = ZERO
        self._basis = 0.0
        return Realised(pnl, signed_qty, ZERO, matched)

    def _close_part(self, signed_qty: Decimal, remainder: Decimal, cash: float) -> Realised:
        matched: Sequence[Match]
        if self._alike is not None:
            share = -signed_qty / self._quantity
            cost = self._basis * float(share)
            matched = self._alike.take(share, -signed_qty, cash)
        else:
            take = self._take_first if self._method == "fifo" else self._take_share
            closed_lots = take(-signed_qty)
            cost = math.fsum(cost for _, _, cost in closed_lots)
            matched = _share_out(closed_lots, cash)
        self._quantity = remainder
        self._basis -= cost
        return Realised(unrounded(cash - cost, cash), signed_qty, ZERO, matched)

    def _take_first(self, quantity: Decimal) -> list[tuple[int, Decimal, float]]:
        """Remove signed `quantity` from the oldest lots."""
        lots, closed_lots = self._lots, []
        while quantity:
            tag, size, cost = lots[0]
            if abs(size) <= abs(quantity):
                closed_lots.append(lots.popleft())
                quantity -= size
                continue
            piece = cost * float(quantity / size)
            lots[0] = (tag, size - quantity, cost - piece)
            closed_lots.append((tag, quantity, piece))
            break
        return closed_lots

    def _take_share(self, quantity: Decimal) -> list[tuple[int, Decimal, float]]:
        """Remove signed `quantity` as a fraction of the one lot there is."""
        share = quantity / self._quantity
        tag, size, cost = self._lots.pop()
        closed, piece = size * share, cost * float(share)
        self._lots.append((tag, size - closed, cost - piece))
        return [(tag, closed, piece)]


def _share_out(closed_lots: list[tuple[int, Decimal, float]], cash: float) -> tuple[Match, ...]:
    """Divide the cash of a closing trade among the lots it closed, by quantity."""
    if len(closed_lots) == 1:
        return (Match(*closed_lots[0], cash),)
    total = float(sum(quantity for _, quantity, _ in closed_lots))
    return tuple(
        Match(tag, quantity, cost, cash * (float(quantity) / total)) for tag, quantity, cost in closed_lots
    )
