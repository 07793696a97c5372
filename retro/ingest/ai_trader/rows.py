"""One row of position.jsonl: what was done, and everything that is held after it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time
from decimal import Decimal
from typing import Final, NamedTuple

import msgspec

from retro.ingest.amounts import bounded, named

__all__ = ["AccountRow", "RowError", "RunMarket", "market_of", "row_of", "time_of"]

ZERO: Final = Decimal(0)
CASH: Final = "CASH"


class RowError(ValueError):
    """This is no row of position.jsonl; the text says why."""


class RunMarket(NamedTuple):
    """Where a run trades: its zone, when its day opens and closes there, what its money is, what its agents' names end in."""

    zone: str
    opens: time
    closes: time
    currency: str
    suffix: str


US: Final = RunMarket("America/New_York", time(9, 30), time(16), "USD", "")
CHINA: Final = RunMarket("Asia/Shanghai", time(9, 30), time(15), "CNY", "-astock")
CRYPTO: Final = RunMarket("UTC", time(0), time(23, 59, 59), "USDT", "-crypto")


def market_of(symbols: frozenset[str]) -> RunMarket:
    """Which market a run's symbols are of: `BTC-USDT`, `600519.SH`, else United States."""
    if any(symbol.endswith("-USDT") for symbol in symbols):
        return CRYPTO
    return CHINA if any(symbol.endswith((".SH", ".SZ")) for symbol in symbols) else US


@dataclass(frozen=True, slots=True)
class AccountRow:
    """A row; `action` is "buy", "sell", "no_trade" or another word, "" of a row without one.

    `holdings` are the quantities that are not 0, `cash` is what is left of the money; both after the action.
    """

    number: int
    date: str
    action: str
    symbol: str
    amount: Decimal
    cash: Decimal
    holdings: dict[str, Decimal]
    fee: Decimal

    @property
    def trades(self) -> bool:
        """Whether it buys or sells something."""
        return self.action in {"buy", "sell"} and self.amount > 0

    @property
    def cells(self) -> tuple[str, ...]:
        """What tells it apart from others."""
        return (self.date, self.action, self.symbol, f"{self.amount}", f"{self.cash}")


class _Action(msgspec.Struct):
    action: str = ""
    symbol: str | None = ""
    amount: Decimal | None = None
    fee: Decimal | None = None


class _Row(msgspec.Struct):
    date: str
    positions: dict[str, Decimal]
    this_action: _Action | None = None
    fee: Decimal | None = None


_DECODER: Final = msgspec.json.Decoder(_Row, strict=False)


def row_of(text: bytes, number: int) -> tuple[AccountRow, frozenset[str]]:
    """A row and the symbols of its universe; `RowError` where it is none. `number`: its line, counted from 1."""
    try:
        row = _DECODER.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise RowError(f"is no row of position.jsonl ({error}); leave it out") from None
    if CASH not in row.positions:
        raise RowError("positions: have no CASH; every row of AI-Trader does")
    time_of(row.date)
    act = row.this_action or _Action()
    try:
        positions = {named(symbol): bounded(quantity) for symbol, quantity in row.positions.items()}
        symbol = named(act.symbol) if act.symbol else ""
        amount, fee = bounded(act.amount or ZERO), bounded(act.fee or row.fee or ZERO)
    except ValueError as error:
        raise RowError(f"row: {error}; leave it out") from None
    cash = positions.pop(CASH)
    return (
        AccountRow(
            number=number,
            date=row.date,
            action=act.action.lower().removesuffix("_crypto"),
            symbol=symbol,
            amount=amount,
            cash=cash,
            holdings={symbol: quantity for symbol, quantity in positions.items() if quantity},
            fee=fee,
        ),
        frozenset(positions),
    )


def time_of(date: str) -> datetime:
    """The time of a row without a zone; a day alone is midnight. `RowError` of anything else."""
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        raise RowError(f"date: {date[:40]!r} is no date such as 2025-10-01 or 2025-10-01 10:00:00") from None
    if not 1970 <= moment.year < 9000:
        raise RowError(f"date: {date[:40]!r} lies beyond the calendar")
    if moment.tzinfo is not None:
        raise RowError(f"date: {date[:40]!r} has an offset, which AI-Trader does not write")
    return moment
