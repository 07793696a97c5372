"""Rows of one named table of a SQLite database; no other is opened."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from retro.errors import InputError
from retro.ingest.rows.row import Row
from retro.ingest.sqlite import open_copy
from retro.journal import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.ingest.growth import Stretch

__all__ = ["Filling", "columns_of", "fillings", "rows"]


class Filling(NamedTuple):
    """How far a table is filled: the number that SQLite has for its last row, how many rows there are, their digest."""

    last: int
    rows: int
    digest: str


def fillings(path: str, table: str, until: int) -> tuple[Filling, Filling] | None:
    """The rows of a table up to a number, and all of them; None where rows have no number, as in a view."""
    digest, count, last = hashlib.sha256(), 0, 0
    before = Filling(0, 0, digest.hexdigest())
    with open_copy(Path(path)) as connection:
        try:
            cursor = connection.execute(f"SELECT _rowid_, * FROM {_name(table)} ORDER BY _rowid_")  # noqa: S608 - quoted as a name
        except sqlite3.OperationalError:
            return None
        for row in cursor:
            if not isinstance(row[0], int):
                return None
            if row[0] > until >= last:
                before = Filling(last, count, digest.hexdigest())
            last, count = row[0], count + 1
            digest.update(repr(row).encode(errors="surrogatepass"))
    after = Filling(last, count, digest.hexdigest())
    return (after if last <= until else before), after


def rows(path: str, table: str, stretch: Stretch | None = None) -> Iterator[Row]:
    """The rows of a table in the order they were written, of a `stretch` those after its first number up to its last.

    `line` counts them from 1. Numbers become texts with all their digits, an empty cell an empty text. `InputError` without that table.
    """
    with open_copy(Path(path)) as connection:
        columns = columns_of(connection, table)
        if not columns:
            raise InputError(
                f"{path} has no table {quote(table)}; it has {', '.join(_tables(connection)) or 'none'}"
            )
        statement = f"SELECT * FROM {_name(table)}"  # noqa: S608 - quoted as a name
        if stretch is None:
            cursor = connection.execute(statement)
        else:
            within = (stretch.start, stretch.end)
            cursor = connection.execute(
                f"{statement} WHERE _rowid_ > ? AND _rowid_ <= ? ORDER BY _rowid_", within
            )
        for number, values in enumerate(cursor, 1 + (stretch.lines if stretch is not None else 0)):
            yield Row(number, {name: _text(value) for name, value in zip(columns, values, strict=True)})


def columns_of(connection: sqlite3.Connection, table: str) -> list[str]:
    """The columns of a table; none where there is no such table."""
    return [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def _tables(connection: sqlite3.Connection) -> list[str]:
    names = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
    return [quote(name) for (name,) in names][:20]


def _name(table: str) -> str:
    return '"' + table.replace('"', '""') + '"'


def _text(value: Any) -> str:
    if value is None or isinstance(value, bytes):
        return ""
    return value if isinstance(value, str) else repr(value)
