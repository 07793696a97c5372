"""Prices in the currency of the account, so that a result is what the report says to the cent.

A report tells lots and prices, and neither what a lot is nor at what rate a result was converted; results give both away:
k = profit / (price move x lots) is the size of a lot times the rate at the close.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

__all__ = ["AccountRates"]

ONE: Final = Decimal(1)
ZERO: Final = Decimal(0)
_PRECISE: Final = Decimal(5)
"""A result from which on its rounding to cents is below a thousandth of it."""
_CURRENCIES: Final = frozenset(
    [
        "AUD",
        "BRL",
        "CAD",
        "CHF",
        "CNH",
        "CNY",
        "CZK",
        "DKK",
        "EUR",
        "GBP",
        "HKD",
        "HUF",
        "ILS",
        "INR",
        "JPY",
        "KRW",
        "MXN",
        "NOK",
        "NZD",
        "PLN",
        "RON",
        "RUB",
        "SEK",
        "SGD",
        "THB",
        "TRY",
        "USD",
        "ZAR",
    ]
)
_LOTS: Final = {"XAU": Decimal(100), "XAG": Decimal(5000)}
_FOREX: Final = Decimal(100_000)


@dataclass(slots=True)
class AccountRates:
    """What a lot of each symbol is worth a point, in `currency`, learnt from all results of a report."""

    currency: str
    _profits: dict[str, Decimal] = field(default_factory=lambda: defaultdict(lambda: ZERO))
    _moves: dict[str, Decimal] = field(default_factory=lambda: defaultdict(lambda: ZERO))

    def learn(self, symbol: str, move: Decimal, profit: Decimal) -> None:
        """Note a result: `move` is the price move its way times lots."""
        if move * profit > 0:
            self._profits[symbol] += abs(profit)
            self._moves[symbol] += abs(move)

    def units(self, symbol: str) -> Decimal:
        """Units a lot: 100,000 of two currencies, 100 ounces of gold, 5,000 of silver, else lots are the units."""
        base, quote = symbol[:3].upper(), symbol[3:6].upper()
        if quote not in _CURRENCIES:
            return ONE
        return _FOREX if base in _CURRENCIES else _LOTS.get(base, ONE)

    def rate(self, symbol: str, move: Decimal, profit: Decimal) -> Decimal:
        """Account currency for a price of 1 of one unit, by this result where it is large enough, else by all of its symbol."""
        units = self.units(symbol)
        if symbol[3:6].upper() == self.currency and units != ONE:
            return ONE
        if move * profit > 0 and abs(profit) >= _PRECISE:
            return profit / move / units
        if self._moves[symbol]:
            return self._profits[symbol] / self._moves[symbol] / units
        return ONE
