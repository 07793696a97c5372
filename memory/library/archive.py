"""The archive: texts nobody has used for long lie compressed in blocks, are still found, and come back bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from memory.errors import MissingError
from memory.library.columns import BLOCK
from memory.library.texts import archived_texts, pack_texts, unpack_texts
from memory.store import archives
from memory.store import library as rows
from memory.store import vectors as meanings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

__all__ = ["UNUSED", "archive_items", "archive_unused", "forget_item", "note_use", "restore"]

UNUSED: Final = "unused"
"""The reason of items that nothing has used for long; those that a layer cleaned up have that layer's."""
MOST: Final = 1024
"""Items of an archive block."""


def archive_unused(conn: Connection, agent: str, before: int, at: int) -> int:
    """Move one block of items that nothing has used since `before` into the archive; how many. 0: there are no more.

    Each call belongs in a transaction of its own: one that is killed leaves every item where it was, or in the block.
    """
    return archive_items(conn, agent, archives.unused(conn, agent, before, MOST), at, UNUSED)


def archive_items(conn: Connection, agent: str, ids: Sequence[str], at: int, reason: str) -> int:
    """Move these items' texts into one block of the archive; how many were outside of it until now."""
    now = rows.lock(conn, agent)
    stored = rows.rows(conn, agent, ids)
    texts = {row.id: row.text for row in stored.values() if row.text is not None}
    if not texts:
        return 0
    number = archives.next_number(conn, agent)
    archives.put(conn, agent, number, at, len(texts), *pack_texts(texts))
    archives.move_in(conn, agent, sorted(texts), number, at, reason)
    rows.changed(conn, agent, now, "archive", reason, *sorted(texts))
    return len(texts)


def restore(conn: Connection, agent: str, identity: str) -> bool:
    """Take an item out of the archive; False for one that was not in it, `MissingError` for one that is not there."""
    now = rows.lock(conn, agent)
    row = rows.rows(conn, agent, [identity]).get(identity)
    if row is None:
        raise MissingError(f"no item {identity!r} in the library")
    if row.archive is None:
        return False
    text = archived_texts(conn, agent, [row])[identity]
    archives.move_out(conn, agent, identity, text)
    _take_out(conn, agent, row.archive, identity)
    rows.changed(conn, agent, now, "restore", identity)
    return True


def _take_out(conn: Connection, agent: str, number: int, identity: str) -> None:
    """Write an archive block without one of its texts."""
    stored = archives.block(conn, agent, number)
    if stored is None:
        return
    texts = unpack_texts(*stored, where=f"archive block {number}")
    texts.pop(identity, None)
    archives.rewrite(conn, agent, number, len(texts), *pack_texts(texts))


def forget_item(conn: Connection, agent: str, identity: str, at: int, who: str) -> None:
    """Erase an item: text, metadata, vector, every copy of them. Its edges stay, and a tombstone of id, instant and who."""
    now = rows.lock(conn, agent)
    row = rows.rows(conn, agent, [identity]).get(identity)
    if row is None:
        raise MissingError(f"no item {identity!r} in the library")
    if row.archive is not None:
        _take_out(conn, agent, row.archive, identity)
    archives.bury(conn, agent, identity, at, who)
    meanings.unseal(conn, agent, [row.number // BLOCK])
    rows.rewritten(conn, agent, now, "forget", identity)


def note_use(conn: Connection, agent: str, ids: Sequence[str], at: int) -> None:
    """Note that a search, feedback or lineage has used these items then; what is used is not archived."""
    archives.use(conn, agent, ids, at)
