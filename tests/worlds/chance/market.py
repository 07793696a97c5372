"""What things were worth, for a ledger of balances: the freshest mark, the agent's own where two are of one
instant, and none of its own that the market contradicts."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from retro.periods import parse_instant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retro.model import MarkSeries

Event = dict[str, Any]
Mark = tuple[str, int, Decimal]
ONE = Decimal(1)
ZERO = Decimal(0)
NEAR = 5 * 60 * 1_000_000


def micros(event: Event) -> int:
    """The instant of an event."""
    return parse_instant(event["at"])


def number(value: Any) -> Decimal:
    """A number as it was written."""
    return Decimal(str(value))


class Market:
    """Prices by asset, in base currency. `until` is the agent's last event: no later mark prices what is held."""

    def __init__(self, base: str, events: Iterable[Event], shared: Iterable[MarkSeries]) -> None:
        self.base = base
        own, others, fills, valued = [], [], [], []
        self.until = 0
        for event in events:
            self.until = max(self.until, micros(event))
            if event["type"] == "mark":
                name = event.get("asset") or event["instrument"]
                own.append((name, micros(event), number(event["price"])))
            elif event["type"] == "fill":
                fills.append(event)
            elif event["type"] in {"flow", "external"} and event.get("value") and event.get("asset"):
                valued.append(event)
        for series in shared:
            for at, price in zip(series.t.tolist(), series.price.tolist(), strict=True):
                others.append((series.instrument, at, number(price)))
        at_instant: dict[str, dict[int, Decimal]] = {}
        for name, at, price in [*others, *self._believed(own, others)]:
            at_instant.setdefault(self.asset(name), {})[at] = price
        self.times = {asset: sorted(prices) for asset, prices in at_instant.items()}
        self.prices = {
            asset: [prices[at] for at in self.times[asset]] for asset, prices in at_instant.items()
        }
        self.fills: dict[str, list[tuple[int, Decimal]]] = {}
        for fill in sorted(fills, key=micros):
            price = number(fill["price"]) * self.rate(fill["instrument"], micros(fill))
            self.fills.setdefault(self.asset(fill["instrument"]), []).append((micros(fill), price))
        nothing = {e["asset"] for e in valued} - {
            a for a, times in self.times.items() if times[0] <= self.until
        }
        nothing -= self.fills.keys()
        for event in sorted(valued, key=micros):
            if event["asset"] in nothing:
                price = abs(number(event["value"]) / number(event["quantity"]))
                self.fills.setdefault(event["asset"], []).append((micros(event), price))

    def _believed(self, own: list[Mark], shared: list[Mark]) -> list[Mark]:
        """The agent's own marks but those more than 2 % outside the shared prices within five minutes of them."""
        near: dict[str, list[tuple[int, Decimal]]] = {}
        for name, at, price in shared:
            near.setdefault(self.asset(name), []).append((at, price))
        believed = []
        for name, at, price in own:
            market = near.get(self.asset(name), [])
            i = bisect_left(market, (at - NEAR, ZERO))
            beside = [p for t, p in market[i : i + 20] if abs(t - at) <= NEAR]
            if not beside or min(beside) * 98 <= price * 100 <= max(beside) * 102:
                believed.append((name, at, price))
        return believed

    @staticmethod
    def asset(symbol: str) -> str:
        """ETH of ETH, ETH/USDC and ETH/USDC:USDC."""
        return symbol.partition("/")[0]

    def rate(self, instrument: str, at: int) -> Decimal:
        """What a unit of an instrument's quote is worth."""
        quote = instrument.partition("/")[2].partition(":")[0]
        return ONE if quote in {"", self.base} else self.price(quote, at)

    def price(self, symbol: str, at: int) -> Decimal:
        """As of an instant; before the first mark the last fill, else the first mark that is there by the end."""
        asset = self.asset(symbol)
        if asset == self.base:
            return ONE
        times = self.times.get(asset, [])
        i = bisect_right(times, at) - 1
        if i >= 0:
            return self.prices[asset][i]
        fills = self.fills.get(asset, [])
        before = [price for filled, price in fills if filled < at]
        if before:
            return before[-1]
        if times and times[0] <= self.until:
            return self.prices[asset][0]
        return fills[0][1] if fills else ZERO

    def priced(self, asset: str, since: int, at: int) -> bool:
        """Whether a mark of at or before an instant, but none of before `since`, says what an asset is worth then.

        Where its marks begin later than `since`, the first of them that is there by the end says so.
        """
        times = self.times.get(asset, [])
        if asset == self.base:
            return True
        if not times or times[0] > self.until:
            return False
        k = bisect_left(times, since)
        return k == 0 or (k < len(times) and times[k] <= at)
