"""What hummingbot recorded, one struct a kind of row; they wait in a spool until all files are read."""

from __future__ import annotations

from decimal import Decimal  # noqa: TC003 - msgspec reads the annotations

import msgspec

__all__ = ["BotRecord", "FundingRecord", "RangeRecord", "TradeRecord", "instant_of"]


class _BotRow(msgspec.Struct, frozen=True, tag=True):
    """Where a row stands, of which configuration it is, and when (microseconds)."""

    where: str
    line: int
    config: str
    market: str
    base: str
    quote: str
    at: int


class TradeRecord(_BotRow, frozen=True):
    """A fill; `fee` > 0 was paid, in `fee_asset`."""

    strategy: str
    order: str
    trade: str
    is_buy: bool
    price: Decimal
    quantity: Decimal
    fee: Decimal
    fee_asset: str

    @property
    def name(self) -> str:
        """The venue's id of the trade; of a trade with oneself each side has one."""
        return f"{self.market}:{self.base}-{self.quote}:{self.trade}:{'B' if self.is_buy else 'S'}"


class FundingRecord(_BotRow, frozen=True):
    """Funding of a perpetual; `amount` > 0 was received."""

    amount: Decimal


class RangeRecord(_BotRow, frozen=True):
    """Liquidity put into a price range (`adds`) or all of it taken out, with the fees it had earned."""

    name: str
    adds: bool
    position: str
    lower: Decimal | None
    upper: Decimal | None
    price: Decimal
    base_quantity: Decimal
    quote_quantity: Decimal
    base_fee: Decimal
    quote_fee: Decimal
    gas: Decimal


BotRecord = TradeRecord | FundingRecord | RangeRecord


def instant_of(number: float) -> int:
    """Microseconds of a time in seconds, milliseconds or microseconds since 1970, by its size; `ValueError` of none."""
    if not 0 <= number < 2.5e17:
        raise ValueError(f"timestamp: {number:g} is no time")
    if number >= 1e14:
        return int(number)
    return int(number) * 1_000 if number >= 1e11 else round(number * 1_000_000)
