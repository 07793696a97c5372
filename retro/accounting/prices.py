"""What a thing was worth: one line of marks per instrument or asset, looked up as-of, never interpolated.

The freshest mark wins, whoever told it; at one instant the agent's own comes first. An own mark far from the shared ones
of its time is used for nothing. Prices are in the agent's base currency. One older than 24 h is provisional, and so is
what stands in for a mark that is missing.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from retro.accounting.currencies import DOLLARS
from retro.kernels.series import union
from retro.periods import DAY, FOREVER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from retro.model import MarkSeries

__all__ = [
    "MAX_AGE",
    "NEAR",
    "UNPRICED",
    "PriceLine",
    "PriceQuote",
    "Prices",
    "base_and_quote",
    "related_symbols",
]

MAX_AGE: Final = DAY
NEAR: Final = DAY // 288
"""Five minutes: marks no farther apart speak of the same time."""
UNPRICED: Final = "no mark since its entry; open positions in it are not priced"
_CONTRADICTS: Final = 0.02
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
        return int(self.t.searchsorted(at, side="right")) - 1

    def at(self, which: NDArray[np.bool_]) -> PriceLine:
        """The marks that a mask picks."""
        return PriceLine(self.t[which], self.price[which], self.low[which], self.high[which])


_NO_MARKS: Final = PriceLine(_EMPTY_T, _EMPTY_X, _EMPTY_X, _EMPTY_X)


@lru_cache(maxsize=20_000)  # asked of every fill and price
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


def _freshest(first: PriceLine, second: PriceLine) -> PriceLine:
    """The marks of both lines, in order of time; where both have one at an instant, the first line's price."""
    if not len(first.t):
        return second
    if not len(second.t):
        return first
    t = np.concatenate([first.t, second.t])
    order = np.argsort(t, kind="stable")  # at one instant the first line's mark comes first
    price, low, high = (
        np.concatenate(columns)[order]
        for columns in ((first.price, second.price), (first.low, second.low), (first.high, second.high))
    )
    t = t[order]
    stands = np.flatnonzero(np.diff(t, prepend=t[0] - 1))
    return PriceLine(
        t[stands], price[stands], np.minimum.reduceat(low, stands), np.maximum.reduceat(high, stands)
    )


def _prefer(first: PriceLine, second: PriceLine) -> PriceLine:
    """The first line's marks, and the second's only where the first has none or its last is older than a day."""
    if not len(first.t) or not len(second.t):
        return _freshest(first, second)
    at = np.searchsorted(first.t, second.t, side="right") - 1
    age = np.where(at >= 0, second.t - first.t[np.maximum(at, 0)], MAX_AGE + 1)
    return _freshest(first, second.at(age > MAX_AGE))


def _disbelieved(own: PriceLine, shared: PriceLine) -> NDArray[np.bool_]:
    """Which of the agent's own marks lie more than 2 % outside what shared marks say of the same time.

    Those are the low and high of the candle an own mark lies in, and the prices within 5 minutes of it; where there is
    neither, nothing contradicts it.
    """
    if not len(own.t) or not len(shared.t):
        return np.zeros(len(own.t), bool)
    low, high = np.full(len(own.t), np.inf), np.full(len(own.t), -np.inf)
    ranged = np.flatnonzero(shared.high > shared.low)
    if len(ranged):
        after = np.searchsorted(shared.t[ranged], own.t)
        candle = ranged[np.minimum(after, len(ranged) - 1)]
        inside = (after < len(ranged)) & (shared.t[candle] - own.t <= MAX_AGE)
        low[inside], high[inside] = shared.low[candle][inside], shared.high[candle][inside]
    first = np.searchsorted(shared.t, own.t - NEAR, side="left")
    last = np.searchsorted(shared.t, own.t + NEAR, side="right")
    near, around = last > first, np.column_stack([first, last]).ravel()
    lowest = np.minimum.reduceat(np.append(shared.price, np.inf), around)[::2]
    highest = np.maximum.reduceat(np.append(shared.price, -np.inf), around)[::2]
    low, high = np.where(near, np.minimum(low, lowest), low), np.where(near, np.maximum(high, highest), high)
    judged = low <= high
    return judged & ((own.price < low * (1 - _CONTRADICTS)) | (own.price > high * (1 + _CONTRADICTS)))


def _times(line: PriceLine, rate: PriceLine) -> PriceLine:
    """A line quoted in another asset, brought to base currency by that asset's own line."""
    t = union(line.t, rate.t)
    i = np.searchsorted(line.t, t, side="right") - 1
    j = np.searchsorted(rate.t, t, side="right") - 1
    priced = (i >= 0) & (j >= 0)
    t, i, j = t[priced], i[priced], j[priced]
    factor = rate.price[j]
    return PriceLine(t, line.price[i] * factor, line.low[i] * factor, line.high[i] * factor)


def _instant(prices_told: tuple[int, float]) -> int:
    return prices_told[0]


class Prices:
    """The price lines an agent's facts need, resolved once each; `quote` is the one place that says what prices what.

    `known_until`: the last instant of a mark that may price what came before it; `looked_up`: the names of all series
    whose marks these prices rest on, or would if there were any. `unreliable` says why a symbol's price
    could not be relied on; `unmarked` since when it was asked for without any mark at or before.
    """

    def __init__(
        self,
        base_currency: str,
        own: Mapping[str, MarkSeries],
        shared: Mapping[str, MarkSeries],
        *,
        known_until: int = FOREVER,
        looked_up: frozenset[str] = frozenset(),
    ) -> None:
        self.base_currency = base_currency
        self._in_dollars = base_currency.upper() in DOLLARS
        self.looked_up = looked_up
        self._known_until = known_until
        self._own = own
        self._shared = shared
        self._lines: dict[str, PriceLine] = {}
        self._fills: dict[str, list[tuple[int, float]]] = {}
        self._words: dict[str, list[tuple[int, float]]] = {}
        self.unreliable: dict[str, str] = {}
        self.disbelieved: dict[str, PriceLine] = {}
        self.unmarked: dict[str, int] = {}
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
        dollars = self._in_dollars and symbol.upper() in DOLLARS
        return dollars and not self.dealt(symbol) and not len(self.line(symbol).t)

    def priced_from(self, symbol: str, since: int) -> int:
        """From when on a mark of `since` or later prices the symbol: no older one does, nor what only fills told.

        Where the marks begin later than `since`, their first prices what came before it; what needs no mark is priced
        always.
        """
        if symbol == self.base_currency or self.at_par(symbol):
            return -FOREVER
        if not self.marked(symbol):
            return FOREVER
        t = self.line(symbol).t
        k = int(t.searchsorted(since))
        if k == 0:
            return -FOREVER
        return int(t[k]) if k < len(t) else FOREVER

    def miss(self, symbol: str) -> None:
        """Note that an open position cannot be priced for want of any mark of the symbol."""
        for symbols in self._watchers:
            symbols.add(symbol)
        self.unreliable.setdefault(symbol, UNPRICED)

    def rate(self, symbol: str, at: int) -> float:
        """What one unit of an instrument's quote is worth."""
        _, quote = base_and_quote(symbol)
        return 1.0 if quote in {None, self.base_currency} else self.price(str(quote), at)

    def note_fill(self, symbol: str, at: int, price: float) -> None:
        """Remember a fill price, in the symbol's quote: it stands in where an asset has no mark.

        Of one instant the last that was noted counts; in what nothing prices it tells nothing.
        """
        asset, quote = base_and_quote(symbol)
        rate = self._asked(quote or self.base_currency, at)
        if rate is not None:
            insort(self._fills.setdefault(asset, []), (at, price * rate.price), key=_instant)

    def note_word(self, asset: str, at: int, price: float) -> None:
        """Remember what an asset was said to be worth: the last resort, where it has neither mark nor fill."""
        insort(self._words.setdefault(asset, []), (at, price), key=_instant)

    def dealt(self, symbol: str) -> bool:
        """Whether a fill, or somebody's word, told a price of the symbol's asset."""
        return bool(self._told(symbol))

    def first_fill(self, symbol: str) -> int | None:
        """When a fill first told a price of the symbol's asset."""
        fills = self._fills.get(base_and_quote(symbol)[0])
        return fills[0][0] if fills else None

    def first_word(self, symbol: str) -> int | None:
        """When somebody first said what the symbol's asset was worth."""
        words = self._words.get(base_and_quote(symbol)[0])
        return words[0][0] if words else None

    def _told(self, symbol: str) -> list[tuple[int, float]]:
        """What was told of the symbol's asset beside marks, in order of time: fills, words where it was never traded."""
        asset = base_and_quote(symbol)[0]
        return self._fills.get(asset) or self._words.get(asset, [])

    def line(self, symbol: str) -> PriceLine:
        """All marks of an instrument or asset, in base currency."""
        if symbol not in self._lines:
            self._lines[symbol] = self._resolve(symbol)
        return self._lines[symbol]

    def _resolve(self, symbol: str) -> PriceLine:
        """The marks of this instrument, else of its asset: the agent's own and the shared ones, the freshest first."""
        base, quote = base_and_quote(symbol)
        groups = [[symbol]]
        if quote is None or quote == self.base_currency:
            asset = [f"{base}/{self.base_currency}", base]  # two names of one price
            groups = [sorted(asset, key=symbol.__ne__)] if symbol in asset else [[symbol], asset]
        own = shared = _NO_MARKS
        for names in groups:
            own = _prefer(
                own, reduce(_freshest, [_line(self._own[n]) for n in names if n in self._own], _NO_MARKS)
            )
            shared = _prefer(
                shared, reduce(_freshest, [self._market(n) for n in names if n in self._shared], _NO_MARKS)
            )
        wrong = _disbelieved(own, shared)
        if wrong.any():
            self.disbelieved[symbol] = own.at(wrong)
            own = own.at(~wrong)
        merged = _freshest(own, shared)
        return merged if len(merged.t) or quote is None else self.line(base)

    def _market(self, name: str) -> PriceLine:
        """Shared marks of one name, in base currency."""
        line, (_, priced_in) = _line(self._shared[name]), base_and_quote(name)
        if priced_in in {None, self.base_currency} or self.at_par(str(priced_in)):
            return line
        return _times(line, self.line(str(priced_in)))

    def marked(self, symbol: str) -> bool:
        """Whether a mark of the symbol is known by K."""
        times = self.line(symbol).t
        return bool(len(times) and times[0] <= self._known_until)

    def quote(self, symbol: str, at: int) -> PriceQuote | None:
        """The price of a symbol at an instant; None when nothing ever priced it.

        The last mark at or before it; else the last fill before it; else the first mark after it known by K; else the
        first fill after it known by K. Of what was never traded words stand for fills, in the same order.
        """
        if symbol == self.base_currency:
            return PriceQuote(1.0, at, provisional=False)
        if self.at_par(symbol):
            return PriceQuote(1.0, None, provisional=True)
        line, prices_told = self.line(symbol), self._told(symbol)
        i = line.index(at)
        # strictly before, as the state at an instant is: a fill at midnight is not known to the day that ends there
        j = bisect_left(prices_told, at, key=_instant) - 1
        if i >= 0:
            marked_at = int(line.t[i])
            return PriceQuote(float(line.price[i]), marked_at, at - marked_at > MAX_AGE)
        if j >= 0:
            return PriceQuote(prices_told[j][1], None, provisional=True)
        if self.marked(symbol):
            return PriceQuote(float(line.price[0]), int(line.t[0]), provisional=True)
        return PriceQuote(prices_told[0][1], None, provisional=True) if prices_told else None

    def _asked(self, symbol: str, at: int) -> PriceQuote | None:
        """The price of a symbol at an instant; where no mark of then or before tells it, that is noted in `unmarked`."""
        quote = self.quote(symbol, at)
        if quote is None or (quote.provisional and (quote.at is None or quote.at > at)):
            self.unmarked[symbol] = min(at, self.unmarked.get(symbol, at))
        return quote

    def price(self, symbol: str, at: int) -> float:
        """The price to book with; what could not be relied on is noted in `unreliable`. 0.0 only when unknown."""
        quote = self._asked(symbol, at)
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
        i = line.t.searchsorted(at, side="right") - 1
        if len(i) and i.min() >= 0:
            return line.price[i]
        return np.array([self.price(symbol, int(t)) for t in at], dtype=np.float64)
