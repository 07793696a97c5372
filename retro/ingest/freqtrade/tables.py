"""A freqtrade database of any age, read from a private copy so that the bot never waits for us.

Sources: freqtrade's documentation ("SQL cheat-sheet") for tables and columns, https://www.sqlite.org/wal.html for
what a reader of a WAL database may create beside it.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from retro.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RawTrade", "open_copy", "owners", "trades", "wallet_states"]

BUSY_SECONDS: Final = 5.0
_BESIDE: Final = ("", "-wal", "-journal")
_OLD_NAMES: Final = {"sell_reason": "exit_reason", "buy_tag": "enter_tag", "ticker_interval": "timeframe"}
_NEEDED: Final = ("id", "pair", "is_open", "open_rate", "amount", "open_date")
_WAL_FORMAT: Final = 2
"""Byte 18 of the file: the version a writer must know."""

Fields = dict[str, Any]
"""One row: column name -> value as the database holds it, old names already replaced by today's."""


class RawTrade(NamedTuple):
    """One trade as its source holds it: its row, its orders in the order of their making, its custom data."""

    row: Fields
    orders: list[Fields]
    notes: list[Fields]


@contextmanager
def open_copy(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a consistent private copy of the database; every way it can fail is one `InputError`.

    The copy is made in one step under SQLite's own read lock, so a bot that writes is not held up by a slow reader.
    A database nobody has open is copied as a file: opening one in WAL mode would leave files beside it.
    """
    path = path.resolve()
    with tempfile.TemporaryDirectory(prefix="retro-") as room:
        copy = Path(room) / "copy.sqlite"
        try:
            _copy(path, copy)
            with closing(sqlite3.connect(copy)) as connection:
                connection.text_factory = lambda raw: raw.decode(errors="replace")
                _check(connection, path)
                yield connection
        except sqlite3.Error as error:
            raise InputError(_sentence(path, error)) from error
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def _copy(path: Path, copy: Path) -> None:
    with path.open("rb") as file:
        header = file.read(20)
        page = int.from_bytes(header[16:18], "big")
        if page > 1 and path.stat().st_size % page:  # SQLite would read the missing end of a page as zeros
            raise InputError(
                f"{path} is damaged or cut short (its last page is not whole): use a backup of it"
            )
    if header[18:19] == bytes([_WAL_FORMAT]) and not _beside(path, "-shm").exists():
        _copy_files(path, copy)
        return
    try:
        _backup(path, copy)
    except sqlite3.OperationalError as error:
        # a journal left by a crash cannot be rolled back by a reader, nor a WAL index be made in a foreign folder
        if not error.sqlite_errorname.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR")):
            raise
        _copy_files(path, copy)


def _backup(path: Path, copy: Path) -> None:
    source = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    with closing(source), closing(sqlite3.connect(copy)) as target:
        target.execute("PRAGMA synchronous = OFF")  # the copy need not outlive a power cut
        source.execute("BEGIN")
        # takes the read lock, or gives up after BUSY_SECONDS: `backup` alone would wait for ever
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        source.backup(target)


def _copy_files(path: Path, copy: Path) -> None:
    for _ in range(3):
        before = _stamps(path)
        for suffix in _BESIDE:
            _beside(copy, suffix).unlink(missing_ok=True)
            if _beside(path, suffix).exists():
                shutil.copyfile(_beside(path, suffix), _beside(copy, suffix))
        if _stamps(path) == before:
            return
    raise InputError(f"{path} keeps changing while it is read: try again in a moment")


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _stamps(path: Path) -> list[tuple[int, int] | None]:
    files = [_beside(path, suffix) for suffix in _BESIDE]
    return [(file.stat().st_size, file.stat().st_mtime_ns) if file.exists() else None for file in files]


def _check(connection: sqlite3.Connection, path: Path) -> None:
    for (verdict,) in connection.execute("PRAGMA quick_check(3)"):
        if verdict != "ok" and not verdict.startswith(("NULL value in", "CHECK constraint failed")):
            raise InputError(f"{path} is damaged ({' '.join(verdict.split())[:120]}): use a backup of it")
    columns = {_OLD_NAMES.get(name, name) for name in _columns(connection, "trades")}
    if not columns:
        raise InputError(f"{path} has no table of trades: it is not a freqtrade database")
    if missing := [name for name in _NEEDED if name not in columns]:
        raise InputError(f"{path}: its table of trades lacks {', '.join(missing)}: it is not freqtrade's")


def _sentence(path: Path, error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"{path} is locked by another program and stayed so for {BUSY_SECONDS:.0f} s: try again in a moment"
    if name.startswith("SQLITE_NOTADB"):
        return f"{path} is not an SQLite database"
    if name.startswith("SQLITE_CORRUPT"):
        return f"{path} is damaged or cut short ({error}): use a backup of it"
    return f"{path} cannot be read: {error}"


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
