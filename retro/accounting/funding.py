"""When the assets that `funded_with` names leave the wallet: at the entry, which may take several executions."""

from __future__ import annotations

from itertools import accumulate
from math import fsum
from typing import TYPE_CHECKING, Final

from retro.model import Fill, Flow
from retro.periods import HOUR

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retro.accounting.prices import Prices
    from retro.model import Fact, Position

__all__ = ["entry_shares", "given_up"]

_ENTRY: Final = HOUR


def given_up(position: Position, at: int, prices: Prices) -> list[tuple[str, float, float]]:
    """What a position was funded with: (asset, quantity, worth at the marks of the entry)."""
    given = position.funded_with or {}
    return [
        (asset, float(given[asset]), float(given[asset]) * prices.price(asset, at)) for asset in sorted(given)
    ]


def entry_shares(
    position: Position, side: str | None, ordered: Iterable[Fact], prices: Prices
) -> dict[int, float]:
    """Instant -> share of the funding that leaves then; the shares add up to 1.

    The entry is made of the first opening fills or deposits, all within an hour, whose cost comes closest to what was
    given up: an order filled in two pieces was paid once, and what is added later is paid by the wallet.
    """
    spent = _spent(position, side, ordered, prices)
    if not spent:
        return {}
    given = fsum(worth for _, _, worth in given_up(position, min(spent), prices))
    sums = list(accumulate(spent.values()))
    count = min(range(len(sums)), key=lambda k: (abs(sums[k] - given), k)) + 1
    whole = sums[count - 1]
    shares = [(at, cost / whole if whole else 1.0 / count) for at, cost in list(spent.items())[:count]]
    return dict(shares)


def _spent(position: Position, side: str | None, ordered: Iterable[Fact], prices: Prices) -> dict[int, float]:
    """Cost of what opened the position, by instant, until something closed or an hour passed."""
    spent: dict[int, float] = {}
    for fact in ordered:
        if isinstance(fact, Fill):
            if fact.side != side:
                break
            symbol = fact.instrument or position.instrument
            cost = float(fact.quantity) * float(fact.price) * prices.rate(symbol, fact.at)
        elif isinstance(fact, Flow) and fact.kind == "deposit":
            given = None if fact.value is None else float(fact.value)
            cost = float(fact.quantity) * prices.price(fact.asset, fact.at) if given is None else given
        elif isinstance(fact, Flow) and fact.kind == "withdrawal":
            break
        else:
            continue
        if spent and fact.at > min(spent) + _ENTRY:
            break
        spent[fact.at] = spent.get(fact.at, 0.0) + cost
    return spent
