"""Records put by in the order of their files and given back in the order of their time, however many there are.

They wait in a private database of SQLite that has no name, spills to disk by itself and is gone with the process.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

__all__ = ["Spool"]

_Record = TypeVar("_Record")


class Spool(Generic[_Record]):
    """Records of one `kind`, a struct or a union of tagged ones; a second one of the same name is left out."""

    def __init__(self, kind: Any) -> None:
        self._decoder = msgspec.msgpack.Decoder(kind)
        self._connection = sqlite3.connect("", isolation_level=None)
        self._connection.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;"
            "CREATE TABLE spool (owner TEXT, at INTEGER, place INTEGER, name TEXT, record BLOB,"
            " PRIMARY KEY (owner, name)) WITHOUT ROWID"
        )

    def __enter__(self) -> Spool[_Record]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def put(self, owner: str, at: int, place: int, name: str, record: _Record) -> bool:
        """Put a record by; False where one of that owner and name is there already.

        `at` is its instant (microseconds), `place` decides between records of one instant.
        """
        row = (owner, at, place, name, msgspec.msgpack.encode(record))
        return (
            self._connection.execute("INSERT OR IGNORE INTO spool VALUES (?, ?, ?, ?, ?)", row).rowcount == 1
        )

    def __iter__(self) -> Iterator[_Record]:
        """All of them: owner by owner, by instant, by place."""
        for (record,) in self._connection.execute("SELECT record FROM spool ORDER BY owner, at, place, name"):
            yield self._decoder.decode(record)
