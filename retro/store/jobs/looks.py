"""Until when an owner has looked: one row, written by an explicit act and by no reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import select

from retro.store.jobs.tables import owner_looks
from retro.store.schema import insert_into

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["OwnerLook", "last_look", "note_look"]

_OWNER: Final = "owner"
"""There is one; a second would have a row of their own."""


class OwnerLook(NamedTuple):
    """An owner has seen what there was at an instant (microseconds); `digest` is of what then wanted a person."""

    at: int
    digest: str


def last_look(conn: Connection) -> OwnerLook | None:
    """The newest; None where nobody has said yet to have looked."""
    c = owner_looks.c
    row = conn.execute(select(c.at, c.digest).where(c.owner == _OWNER)).one_or_none()
    return None if row is None else OwnerLook(row.at, row.digest)


def note_look(conn: Connection, look: OwnerLook) -> None:
    """The owner has looked; an older look than the one that is noted changes nothing."""
    row = insert_into(conn, owner_looks).values(owner=_OWNER, at=look.at, digest=look.digest)
    values = {"at": look.at, "digest": look.digest}
    later = owner_looks.c.at < look.at
    conn.execute(row.on_conflict_do_update(index_elements=["owner"], set_=values, where=later))
