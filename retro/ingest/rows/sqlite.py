"""Rows of one named table of a SQLite database; no other is opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from retro.errors import InputError
from retro.ingest.rows.row import Row
from retro.ingest.sqlite import open_copy
from retro.journal import quote

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

__all__ = ["columns_of", "rows"]


def rows(path: str, table: str) -> Iterator[Row]:
    """The rows of a table in the order they were written; `line` counts them from 1.

    Numbers become texts with all their digits, an empty cell an empty text. `InputError` without that table.
    """
    with open_copy(Path(path)) as connection:
        columns = columns_of(connection, table)
        if not columns:
            raise InputError(
                f"{path} has no table {quote(table)}; it has {', '.join(_tables(connection)) or 'none'}"
            )
        cursor = connection.execute(f"SELECT * FROM {_name(table)}")  # noqa: S608 - quoted as a name
        for number, values in enumerate(cursor, 1):
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
