"""What a thing was worth: one line of marks per instrument or asset, looked up as-of, never interpolated.

The agent's own marks come first; where it has none, or none younger than a day, shared marks fill in. Prices are in
the agent's base currency. A missing mark is the last one at or before the instant (provisional when older than
24 h), else the last fill price (provisional).
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from retro.periods import DAY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from retro.model import MarkSeries

__all__ = ["DOLLARS", "MAX_AGE", "PriceLine", "PriceQuote", "Prices", "base_and_quote", "related_symbols"]

MAX_AGE: Final = DAY
DOLLARS: Final = frozenset(
    {
        "USD",
        "USDC",
        "USDT",
        "DAI",
        "BUSD",
        "TUSD",
        "USDP",
        "GUSD",
        "PYUSD",
        "FDUSD",
        "USDE",
        "USDS",
        "LUSD",
        "FRAX",
        "USDD",
        "USDC.E",
        "SUSD",
    }
)
"""Currencies in which one unit is one dollar, or means to be."""
_EMPTY_T: Final = np.empty(0, dtype=np.int64)
_EMPTY_X: Final = np.empty(0, dtype=np.float64)


class PriceQuote(NamedTuple):
    """A price, the instant of its mark (None for a fill price) and whether it may be relied on."""

    price: float
    at: int | None
    provisional: bool


@dataclass(frozen=True, slots=True)
class PriceLine:
    """Marks of one symbol in base currency: `t` int64 microseconds ascending, `price`, `low`, `high` float64."""

    t: NDArray[np.int64]
    price: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def index(self, at: int) -> int:
        """Where the last mark at or before `at` stands, -1 when there is none."""
        return int(np.searchsorted(self.t, at, side="right")) - 1


_NO_MARKS: Final = PriceLine(_EMPTY_T, _EMPTY_X, _EMPTY_X, _EMPTY_X)


def base_and_quote(symbol: str) -> tuple[str, str | None]:
    """Split "ETH/USDC:USDC" into ("ETH", "USDC"); a bare asset has no quote."""
    base, slash, quote = symbol.partition("/")
    return (base, quote.partition(":")[0]) if slash else (symbol, None)


def related_symbols(symbol: str, base_currency: str) -> set[str]:
    """Every series whose marks may price this symbol: what has to be loaded for it."""
    base, quote = base_and_quote(symbol)
    wanted = {symbol, base, f"{base}/{base_currency}"}
    if quote is not None:
        wanted |= {f"{base}/{quote}", quote, f"{quote}/{base_currency}"}
    return wanted - {base_currency}


def _line(series: MarkSeries) -> PriceLine:
    price = series.price
    low = price if series.low is None else np.where(np.isnan(series.low), price, series.low)
    high = price if series.high is None else np.where(np.isnan(series.high), price, series.high)
    return PriceLine(series.t, price, low, high)


def _prefer(first: PriceLine, second: PriceLine) -> PriceLine:
    """The first line's marks, and the second's only where the first has none or its last is older than a day."""
    if not len(first.t):
        return second
    if not len(second.t):
        return first
    at = np.searchsorted(first.t, second.t, side="right") - 1
    age = np.where(at >= 0, second.t - first.t[np.maximum(at, 0)], MAX_AGE + 1)
    keep = age > MAX_AGE
    t = np.concatenate([first.t, second.t[keep]])
    order = np.argsort(t, kind="stable")
    price, low, high = (
        np.concatenate([a, b[keep]])[order]
        for a, b in ((first.price, second.price), (first.low, second.low), (first.high, second.high))
    )
    return PriceLine(t[order], price, low, high)


def _times(line: PriceLine, rate: PriceLine) -> PriceLine:
    """A line quoted in another asset, brought to base currency by that asset's own line."""
    t = np.union1d(line.t, rate.t)
    i = np.searchsorted(line.t, t, side="right") - 1
    j = np.searchsorted(rate.t, t, side="right") - 1
    priced = (i >= 0) & (j >= 0)
    t, i, j = t[priced], i[priced], j[priced]
    factor = rate.price[j]
    return PriceLine(t, line.price[i] * factor, line.low[i] * factor, line.high[i] * factor)


class Prices:
    """The price lines an agent's facts need, resolved once each."""

    def __init__(
        self,
        base_currency: str,
        own: Mapping[str, MarkSeries],
        shared: Mapping[str, MarkSeries],
    ) -> None:
        self.base_currency = base_currency
        self._own = own
        self._shared = shared
        self._lines: dict[str, PriceLine] = {}
        self._fills: dict[str, list[tuple[int, float]]] = {}
        self.unreliable: dict[str, str] = {}
        self._watchers: list[set[str]] = []

    @contextmanager
    def watching(self) -> Iterator[set[str]]:
        """The symbols whose price could not be relied on inside the block."""
        symbols: set[str] = set()
        self._watchers.append(symbols)
        yield symbols
        self._watchers.pop()

    def at_par(self, symbol: str) -> bool:
        """Whether a symbol needs no mark: the base currency, or a dollar beside a dollar that nothing ever priced."""
        if symbol == self.base_currency:
            return True
        dollars = {symbol.upper(), self.base_currency.upper()} <= DOLLARS
        return dollars and not self.dealt(symbol) and not len(self.line(symbol).t)

    def rate(self, symbol: str, at: int) -> float:
        """What one unit of an instrument's quote is worth."""
        _, quote = base_and_quote(symbol)
        return 1.0 if quote in {None, self.base_currency} else self.price(str(quote), at)

    def note_fill(self, symbol: str, at: int, price: float) -> None:
        """Remember a fill price, told in order of time: the last resort when a symbol has no mark."""
        base, _ = base_and_quote(symbol)
        for name in {symbol, base}:
            self._fills.setdefault(name, []).append((at, price))

    def dealt(self, symbol: str) -> bool:
        """Whether a fill told a price of the symbol."""
        return bool(self._fills.get(symbol))

    def line(self, symbol: str) -> PriceLine:
        """All marks of an instrument or asset, in base currency."""
        if symbol not in self._lines:
            self._lines[symbol] = self._resolve(symbol)
        return self._lines[symbol]

    def _resolve(self, symbol: str) -> PriceLine:
        """Marks in order of preference: the agent's own of this instrument, of its asset, then shared ones."""
        base, quote = base_and_quote(symbol)
        names = [symbol]
        if quote is None or quote == self.base_currency:
            names = list(dict.fromkeys((symbol, f"{base}/{self.base_currency}", base)))
        lines = [_line(self._own[name]) for name in names if name in self._own]
        for name in names:
            if name in self._shared:
                line = _line(self._shared[name])
                _, priced_in = base_and_quote(name)
                if priced_in not in {None, self.base_currency} and not self.at_par(str(priced_in)):
                    line = _times(line, self.line(str(priced_in)))
                lines.append(line)
        merged = _NO_MARKS
        for line in lines:
            merged = _prefer(merged, line)
        return merged if len(merged.t) or quote is None else self.line(base)

    def quote(self, symbol: str, at: int) -> PriceQuote | None:
        """The price of a symbol at an instant by the rule of missing marks; None when nothing ever priced it."""
        if symbol == self.base_currency:
            return PriceQuote(1.0, at, provisional=False)
        if self.at_par(symbol):
            return PriceQuote(1.0, None, provisional=True)
        line = self.line(symbol)
        i = line.index(at)
        if i >= 0:
            marked_at = int(line.t[i])
            return PriceQuote(float(line.price[i]), marked_at, at - marked_at > MAX_AGE)
        fills = self._fills.get(symbol, [])
        filled = bisect_right(fills, at, key=lambda fill: fill[0])
        if filled:
            return PriceQuote(fills[filled - 1][1], None, provisional=True)
        if len(line.t):
            return PriceQuote(float(line.price[0]), int(line.t[0]), provisional=True)
        return PriceQuote(fills[0][1], None, provisional=True) if fills else None

    def price(self, symbol: str, at: int) -> float:
        """The price to book with; what could not be relied on is noted in `unreliable`. 0.0 only when unknown."""
        quote = self.quote(symbol, at)
        if quote is not None and not quote.provisional:
            return quote.price
        for symbols in self._watchers:
            symbols.add(symbol)
        if quote is None:
            self.unreliable[symbol] = "no mark and no fill price"
            return 0.0
        used = "taken at par with the base currency" if self.at_par(symbol) else "fill price used"
        why = f"no mark, {used}" if quote.at is None else "last mark older than 24 h"
        self.unreliable.setdefault(
            symbol, why if quote.at is None or quote.at <= at else "no mark until later"
        )
        return quote.price

    def at_many(self, symbol: str, at: NDArray[np.int64]) -> NDArray[np.float64]:
        """Prices at many instants, as `price` gives them (float64)."""
        if symbol == self.base_currency:
            return np.ones(len(at))
        line = self.line(symbol)
        if len(at) and self.at_par(symbol):
            return np.full(len(at), self.price(symbol, int(at[0])))
        i = np.searchsorted(line.t, at, side="right") - 1
        if len(i) and i.min() >= 0:
            return line.price[i]
        return np.array([self.price(symbol, int(t)) for t in at], dtype=np.float64)
