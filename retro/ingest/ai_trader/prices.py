"""The price files AI-Trader fills its trades from (merged.jsonl), as marks that every agent shares.

A line is a symbol: its bars by date, with the day's open as `1. buy price` and its close as `4. sell price`. The open is
told when the day opens, the close when it closes; of bars within a day the open alone.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal  # noqa: TC003 - msgspec reads the annotations
from typing import TYPE_CHECKING, Final

import msgspec

from retro.ingest.ai_trader.rows import market_of, time_of
from retro.ingest.amounts import named
from retro.ingest.source import open_source, read_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from retro.ingest.ai_trader.rows import RunMarket
    from retro.ingest.batches import BatchWriter
    from retro.ingest.sample import SourceSample

__all__ = ["instrument_of", "is_price_file", "write_prices"]

_DAY: Final = len("2025-10-01")


class _About(msgspec.Struct):
    symbol: str = msgspec.field(name="2. Symbol")


class _Bar(msgspec.Struct):
    opened: Decimal | None = msgspec.field(name="1. buy price", default=None)
    closed: Decimal | None = msgspec.field(name="4. sell price", default=None)


class _Series(msgspec.Struct):
    about: _About = msgspec.field(name="Meta Data")


_ABOUT: Final = msgspec.json.Decoder(_Series)
_BARS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_BAR_TABLE: Final = msgspec.json.Decoder(dict[str, _Bar], strict=False)


def is_price_file(sample: SourceSample) -> bool:
    """Whether a file begins as those of prices do."""
    line = sample.text.lstrip("\ufeff \r\n\t").partition("\n")[0]
    return line.startswith("{") and '"Meta Data"' in line and '"2. Symbol"' in line


def instrument_of(symbol: str, market: RunMarket) -> str:
    """`BTC-USDT` -> `BTC/USDT`, `NVDA` -> `NVDA/USD`, `600519.SH` -> `600519.SH/CNY`."""
    return f"{symbol.removesuffix('-USDT')}/{market.currency}"


def write_prices(writer: BatchWriter, file: Path, instant: Callable[[datetime, RunMarket], int]) -> None:
    """Every price of a file as a mark; a line that is no series is a fault. `instant`: of a market's time."""
    with open_source(str(file)) as stream:
        for part in read_lines(stream):
            for number, text in enumerate(part.texts, part.first):
                if not text.strip():
                    continue
                try:
                    _write_series(writer, text, number, instant)
                except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                    writer.fault(
                        part.fault or f"is no series of prices ({error}); leave it out",
                        number,
                        where=str(file),
                    )


def _write_series(
    writer: BatchWriter, text: bytes, line: int, instant: Callable[[datetime, RunMarket], int]
) -> None:
    symbol = named(_ABOUT.decode(text).about.symbol)
    market = market_of(frozenset({symbol}))
    name = instrument_of(symbol, market)
    for title, raw in _BARS.decode(text).items():
        if not title.startswith("Time Series"):
            continue
        for date, bar in _BAR_TABLE.decode(raw).items():
            moment = time_of(date)
            prices = [(moment, bar.opened)]
            if len(date) == _DAY:
                day = moment.date()
                opened, closed = datetime.combine(day, market.opens), datetime.combine(day, market.closes)
                prices = [(opened, bar.opened), (closed, bar.closed)]
            for time, price in prices:
                if price:
                    writer.mark(None, name, instant(time, market), price, line=line)
