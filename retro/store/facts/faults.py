"""What could not be used and why, kept until its source is read afresh."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from sqlalchemy import delete, func, insert, select

from retro.model import Fault
from retro.store.schema import faults as table
from retro.store.schema import ingest_alone, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

__all__ = ["add", "all", "count", "forget"]

_LONGEST_REASON: Final = 2000


def add(conn: Connection, where: str, faults: Sequence[Fault]) -> int:
    """Keep the faults of a source (`where`), each (place, line, reason) once; how many were new."""
    ingest_alone(conn)
    source = _plain(where)
    last = conn.execute(select(func.coalesce(func.max(table.c.seq), 0))).scalar_one()
    rows = {
        key: {"key": key, "source": source, "place": place, "line": line, "reason": reason}
        for place, line, reason in ((_plain(f.where), f.line, _plain(f.reason)) for f in faults)
        for key in (_key(source, place, line, reason),)
    }
    stored_keys = set(conn.execute(select(table.c.key).where(within(conn, table.c.key, rows))).scalars())
    fresh = [
        {**row, "seq": seq}
        for seq, row in enumerate((r for r in rows.values() if r["key"] not in stored_keys), last + 1)
    ]
    if fresh:
        conn.execute(insert(table), fresh)
    return len(fresh)


def all(conn: Connection, where: str | None = None) -> list[Fault]:  # noqa: A001  read as faults.all
    """The faults that are kept, of one source or of every one, in order of arrival."""
    query = select(table.c.place, table.c.line, table.c.reason).order_by(table.c.seq)
    if where is not None:
        query = query.where(table.c.source == _plain(where))
    return [Fault(*row) for row in conn.execute(query)]


def count(conn: Connection) -> int:
    """How many faults are kept."""
    return conn.execute(select(func.count()).select_from(table)).scalar_one()


def forget(conn: Connection, where: str) -> None:
    """Drop the faults of a source, before it is read afresh from its start."""
    conn.execute(delete(table).where(table.c.source == _plain(where)))


def _plain(text: str) -> str:
    """Foreign text that every database takes: no NUL, no lone surrogate, no book."""
    return text[:_LONGEST_REASON].replace("\0", "\N{SYMBOL FOR NULL}").encode("utf-8", "replace").decode()


def _key(source: str, place: str, line: int | None, reason: str) -> str:
    return hashlib.sha256("\n".join((source, place, str(line), reason)).encode()).hexdigest()
