"""Which rows counted: those that lead, each from the state of the one before it, to the last row.

AI-Trader builds a row on what it takes for the latest state: today's, else that of "the previous trading day". Crypto runs
trade at weekends too, and Monday builds on Friday: what was done between is lost. A row's parent is the latest
earlier row whose state differs from its own by its action alone.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.ingest.ai_trader.rows import AccountRow

__all__ = ["chain"]

ROUNDING: Final = Decimal("0.00011")
"""Of quantities and cash, which crypto runs round to four decimals after the action."""
FARTHEST: Final = 500
"""Rows that are looked back for a parent."""


def chain(rows: Sequence[AccountRow]) -> tuple[list[int], list[int]]:
    """The places of the rows that counted, in order, and of those among them that follow from no row before.

    Such a row goes on from the one right before it: what it holds came from elsewhere.
    """
    places: list[int] = []
    orphans: list[int] = []
    place = len(rows) - 1
    while place >= 0:
        places.append(place)
        earliest = max(0, place - FARTHEST)
        parent = next(
            (before for before in range(place - 1, earliest - 1, -1) if _follows(rows[before], rows[place])),
            None,
        )
        if parent is None and place > 0:
            orphans.append(place)
            parent = place - 1
        place = -1 if parent is None else parent
    return places[::-1], orphans[::-1]


def _follows(before: AccountRow, after: AccountRow) -> bool:
    """Whether one state becomes the other by the later row's action."""
    paid = before.cash - after.cash
    bought = {
        symbol: difference
        for symbol in before.holdings.keys() | after.holdings.keys()
        if abs(difference := after.holdings.get(symbol, Decimal(0)) - before.holdings.get(symbol, Decimal(0)))
        > ROUNDING
    }
    if not after.trades:
        return not bought and abs(paid) <= ROUNDING
    sign = 1 if after.action == "buy" else -1
    if bought.keys() - {after.symbol} or paid * sign < 0:
        return False
    return abs(bought.get(after.symbol, Decimal(0)) - sign * after.amount) <= 2 * ROUNDING
