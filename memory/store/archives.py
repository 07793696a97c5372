"""The archive: which texts lie in which compressed block, and when an item was last used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
from sqlalchemy import Connection

from memory.store.library_tables import archives, edges, items, layer_states, tombstones, vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

_CHUNK: Final = 500


def block(conn: Connection, agent: str, number: int) -> tuple[int, bytes] | None:
    """(crc, data) of an archive block."""
    query = sa.select(archives.c.crc, archives.c.data).where(
        archives.c.agent == agent, archives.c.number == number
    )
    row = conn.execute(query).one_or_none()
    return None if row is None else (row.crc, row.data)


def next_number(conn: Connection, agent: str) -> int:
    """The number after that of every block there is, and of every item that lies in one."""
    query = sa.select(sa.func.max(archives.c.number)).where(archives.c.agent == agent)
    last = conn.execute(query).scalar_one()
    return 0 if last is None else int(last) + 1


def put(conn: Connection, agent: str, number: int, at: int, count: int, crc: int, data: bytes) -> None:
    """Store a block."""
    values = {"agent": agent, "number": number, "at": at, "items": count, "crc": crc, "data": data}
    conn.execute(sa.insert(archives), [values])


def rewrite(conn: Connection, agent: str, number: int, count: int, crc: int, data: bytes) -> None:
    """Write a block anew, or drop it when nothing is left in it."""
    own = sa.and_(archives.c.agent == agent, archives.c.number == number)
    if count:
        conn.execute(sa.update(archives).where(own).values(items=count, crc=crc, data=data))
    else:
        conn.execute(sa.delete(archives).where(own))


def move_in(conn: Connection, agent: str, ids: Sequence[str], number: int, at: int, reason: str) -> None:
    """Say that these items' texts lie in a block."""
    values = {"text": None, "archive": number, "archived_at": at, "archive_reason": reason}
    for start in range(0, len(ids), _CHUNK):
        own = sa.and_(items.c.agent == agent, items.c.id.in_(ids[start : start + _CHUNK]))
        conn.execute(sa.update(items).where(own).values(values))


def move_out(conn: Connection, agent: str, identity: str, text: str) -> None:
    """Say that an item's text lies in its row again."""
    values = {"text": text, "archive": None, "archived_at": None, "archive_reason": None}
    own = sa.and_(items.c.agent == agent, items.c.id == identity)
    conn.execute(sa.update(items).where(own).values(values))


def residents(conn: Connection, agent: str, number: int) -> list[str]:
    """The ids of the items whose text lies in a block, in order."""
    query = sa.select(items.c.id).where(items.c.agent == agent, items.c.archive == number)
    return list(conn.execute(query.order_by(items.c.id)).scalars())


def unused(conn: Connection, agent: str, before: int, most: int) -> list[str]:
    """Ids of at most so many items outside the archive that nothing has used since `before`, in order."""
    query = (
        sa.select(items.c.id)
        .where(items.c.agent == agent, items.c.archive.is_(None), items.c.used_at < before)
        .order_by(items.c.id)
        .limit(most)
    )
    return list(conn.execute(query).scalars())


def use(conn: Connection, agent: str, ids: Sequence[str], at: int) -> None:
    """Note that these items were used then: by a search, feedback or lineage."""
    for start in range(0, len(ids), _CHUNK):
        own = sa.and_(items.c.agent == agent, items.c.id.in_(ids[start : start + _CHUNK]))
        conn.execute(sa.update(items).where(own, items.c.used_at < at).values(used_at=at))


def bury(conn: Connection, agent: str, identity: str, at: int, who: str) -> None:
    """Delete an item with its vectors and layer; its edges stay, and a tombstone."""
    for table in (vectors, layer_states, items):
        conn.execute(sa.delete(table).where(table.c.agent == agent, table.c.id == identity))
    conn.execute(sa.insert(tombstones), [{"agent": agent, "id": identity, "at": at, "who": who}])


def sizes(conn: Connection, agent: str) -> tuple[int, int, int]:
    """(blocks, items in them, bytes) of the archive."""
    query = sa.select(
        sa.func.count(),
        sa.func.coalesce(sa.func.sum(archives.c["items"]), 0),
        sa.func.coalesce(sa.func.sum(sa.func.length(archives.c.data)), 0),
    ).where(archives.c.agent == agent)
    row = conn.execute(query).one()
    return int(row[0]), int(row[1]), int(row[2])


def orphan_edges(conn: Connection, agent: str) -> int:
    """How many edges begin at an item that is neither there nor has a tombstone."""
    item = sa.exists().where(items.c.agent == edges.c.agent, items.c.id == edges.c.child)
    stone = sa.exists().where(tombstones.c.agent == edges.c.agent, tombstones.c.id == edges.c.child)
    query = sa.select(sa.func.count()).select_from(edges).where(edges.c.agent == agent, ~item, ~stone)
    return int(conn.execute(query).scalar_one())
