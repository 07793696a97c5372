"""A freqtrade database of any age, read from a private copy so that the bot never waits for us.

Source: freqtrade's documentation ("SQL cheat-sheet") for tables and columns.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from retro.errors import InputError
from retro.ingest import sqlite

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["RawTrade", "open_copy", "owners", "trades", "wallet_states"]

_OLD_NAMES: Final = {"sell_reason": "exit_reason", "buy_tag": "enter_tag", "ticker_interval": "timeframe"}
_NEEDED: Final = ("id", "pair", "is_open", "open_rate", "amount", "open_date")

Fields = dict[str, Any]
"""One row: column name -> value as the database holds it, old names already replaced by today's."""


class RawTrade(NamedTuple):
    """One trade as its source holds it: its row, its orders in the order of their making, its custom data."""

    row: Fields
    orders: list[Fields]
    notes: list[Fields]


@contextmanager
def open_copy(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a consistent private copy of a freqtrade database; every way it can fail is one `InputError`."""
    with sqlite.open_copy(path) as connection:
        _check(connection, path.resolve())
        yield connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    columns = {_OLD_NAMES.get(name, name) for name in _columns(connection, "trades")}
    if not columns:
        raise InputError(f"{path} has no table of trades: it is not a freqtrade database")
    if missing := [name for name in _NEEDED if name not in columns]:
        raise InputError(f"{path}: its table of trades lacks {', '.join(missing)}: it is not freqtrade's")


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]


def _select(connection: sqlite3.Connection, table: str, clause: str) -> Iterator[Fields]:
    cursor = connection.execute(f"SELECT * FROM {table} {clause}")  # noqa: S608 - both are literals of this file
    names = [column[0] for column in cursor.description]
    for values in cursor:
        row = dict(zip(names, values, strict=True))
        for old, new in _OLD_NAMES.items():
            if old in row and row.get(new) is None:
                row[new] = row[old]
        yield row


def owners(connection: sqlite3.Connection) -> Iterator[Fields]:
    """One row for every strategy, stake currency and pair there are trades of, so far as the schema knows them."""
    columns = _columns(connection, "trades")
    names = ", ".join(name for name in ("pair", "stake_currency", "strategy") if name in columns)
    cursor = connection.execute(f"SELECT DISTINCT {names} FROM trades")  # noqa: S608 - literals of this file
    return (dict(zip(names.split(", "), values, strict=True)) for values in cursor)


def trades(connection: sqlite3.Connection) -> Iterator[RawTrade]:
    """Every trade by id with what belongs to it; three sorted passes side by side, so memory stays flat."""
    orders = _Pass(connection, "orders")
    notes = _Pass(connection, "trade_custom_data")
    for row in _select(connection, "trades", "ORDER BY id"):
        yield RawTrade(row, orders.of(row["id"]), notes.of(row["id"]))


class _Pass:
    """One pass over a table's rows in the order of their trades; a table that is not there has none."""

    __slots__ = ("_ahead", "_groups")

    def __init__(self, connection: sqlite3.Connection, table: str) -> None:
        has_trade_id = "ft_trade_id" in _columns(connection, table)
        clause = "WHERE typeof(ft_trade_id) = 'integer' ORDER BY ft_trade_id, id"
        rows = _select(connection, table, clause) if has_trade_id else iter(())
        self._groups = groupby(rows, key=lambda row: int(row["ft_trade_id"]))
        self._ahead = next(self._groups, None)

    def of(self, trade: int) -> list[Fields]:
        """The rows of a trade; to be asked in ascending order."""
        while self._ahead and self._ahead[0] < trade:
            self._ahead = next(self._groups, None)
        if not self._ahead or self._ahead[0] != trade:
            return []
        rows = list(self._ahead[1])
        self._ahead = next(self._groups, None)
        return rows


def wallet_states(connection: sqlite3.Connection) -> Iterator[tuple[str, str, list[Fields]]]:
    """(timestamp, quote currency, rows of what the bot manages) of each recorded state, in time; none before 2026."""
    if not {"timestamp", "quote_currency", "total_quote", "bot_managed"} <= set(
        _columns(connection, "wallet_history")
    ):
        return
    rows = _select(
        connection, "wallet_history", "WHERE bot_managed ORDER BY timestamp, quote_currency, currency"
    )
    for (at, quote), group in groupby(
        rows, key=lambda row: (str(row["timestamp"]), str(row["quote_currency"]))
    ):
        yield at, quote, list(group)
