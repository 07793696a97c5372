"""hummingbot's database, of any age: fills, funding, executors, updates of liquidity positions; named tables only.

From version 20220130 on prices and amounts are integers, the value x 10^6 cut off: six decimals are left, and of a
round number that no double holds the last one is a unit short (0.03 -> 29999). Three nines at the end are
read as the round number; what is left of a small price is 0, which is no price.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from retro.errors import InputError
from retro.ingest.amounts import figure_of
from retro.ingest.hummingbot.records import instant_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

__all__ = ["CLOSE_TYPES", "BotDatabase", "Executor", "number_of"]

Fields = dict[str, object]
"""One row: column -> value as the database holds it; None of a column that its version lacks."""

_SCALED_FROM: Final = 20220130
_SCALE: Final = 6
_TABLES: Final = {
    "TradeFill": (
        "config_file_path", "strategy", "market", "symbol", "base_asset", "quote_asset", "timestamp", "order_id",
        "trade_type", "price", "amount", "trade_fee", "exchange_trade_id",
    ),
    "FundingPayment": ("config_file_path", "market", "symbol", "timestamp", "amount"),
    "Executors": ("id", "close_type", "close_timestamp", "is_active", "net_pnl_quote", "config", "custom_info"),
    "RangePositionUpdate": (
        "id", "timestamp", "tx_hash", "config_file_path", "market", "order_action", "trading_pair",
        "position_address", "lower_price", "upper_price", "mid_price", "base_amount", "quote_amount", "base_fee",
        "quote_fee", "trade_fee_in_quote",
    ),
}  # fmt: skip
"""Every table and column that is read, besides the version in Metadata."""

CLOSE_TYPES: Final = {
    1: "time_limit", 2: "stop_loss", 3: "take_profit", 4: "expired", 5: "early_stop", 6: "trailing_stop",
    7: "insufficient_balance", 8: "failed", 9: "completed", 10: "position_hold",
}  # fmt: skip
"""hummingbot/strategy_v2/models/executors.py: why an executor ended."""


@dataclass(frozen=True, slots=True)
class Executor:
    """An executor that has ended: why, when (microseconds), what it says it made in the quote, net of fees, and its orders."""

    name: str
    reason: str
    closed: int
    result: Decimal
    orders: frozenset[str]


class BotDatabase:
    """A database that is open for reading."""

    def __init__(self, connection: sqlite3.Connection, where: str) -> None:
        self._connection = connection
        if not self._columns("TradeFill"):
            raise InputError(
                f"{where} has no table TradeFill: it is no database of hummingbot; name data/<config>.sqlite"
            )
        self._is_scaled = self._version() >= _SCALED_FROM

    def rows(self, table: str) -> Iterator[Fields]:
        """The rows of a table by their time; none where its version has no such table."""
        columns = self._columns(table)
        order = "timestamp" if "timestamp" in columns else "close_timestamp"
        if order not in columns:
            return
        wanted = _TABLES[table]
        listed = ", ".join(f'"{name}"' if name in columns else f"NULL AS {name}" for name in wanted)
        for values in self._connection.execute(f'SELECT {listed} FROM "{table}" ORDER BY {order}, rowid'):  # noqa: S608 - literals
            yield dict(zip(wanted, values, strict=True))

    def amount(self, value: object) -> Decimal:
        """A price or quantity as it was before the database cut it."""
        if not self._is_scaled or not isinstance(value, int):
            return number_of(value)
        whole = value + 1 if value % 1000 == 999 else value
        return Decimal(whole).scaleb(-_SCALE).normalize() if whole else Decimal(0)

    def executors(self) -> list[Executor]:
        """Those that have ended."""
        ended = []
        for row in self.rows("Executors"):
            if row["close_timestamp"] is None or row["is_active"]:
                continue
            kind = row["close_type"]
            ended.append(
                Executor(
                    name=str(row["id"]),
                    reason=CLOSE_TYPES.get(kind, "") if isinstance(kind, int) else "",
                    closed=instant_of(float(number_of(row["close_timestamp"]))),
                    result=number_of(row["net_pnl_quote"]),
                    orders=frozenset(_texts(_parsed(row["custom_info"])))
                    | frozenset(_texts(_parsed(row["config"]))),
                )
            )
        return ended

    def _columns(self, table: str) -> set[str]:
        return {str(row[1]) for row in self._connection.execute(f'PRAGMA table_info("{table}")')}

    def _version(self) -> int:
        """What Metadata says; without it what the column's type says."""
        if self._columns("Metadata"):
            query = "SELECT value FROM Metadata WHERE key = 'local_db_version'"
            for (value,) in self._connection.execute(query):
                return int(value) if str(value).isdigit() else 0
        types = {
            str(row[1]): str(row[2]) for row in self._connection.execute('PRAGMA table_info("TradeFill")')
        }
        return _SCALED_FROM if types.get("price", "").upper() == "BIGINT" else 0


def number_of(value: object) -> Decimal:
    """The figure of a cell; 0 of nothing; `ValueError` of what is none."""
    return figure_of(value) if value not in {None, ""} else Decimal(0)


def _parsed(text: object) -> object:
    try:
        return json.loads(str(text or "null"))
    except (ValueError, RecursionError):
        return None


def _texts(value: object) -> Iterator[str]:
    """Every text inside a JSON value: among them are the ids of an executor's orders."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _texts(entry)
