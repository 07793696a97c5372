"""The machines that work on this database: when each did last, and with which version."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select

from retro.store.jobs.tables import hosts
from retro.store.schema import insert_into, name_of
from retro.version import __version__

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["Host", "hosts_of_database", "note_knock"]


class Host(NamedTuple):
    """A machine, the instant of its last knock (microseconds) and the version it ran."""

    name: str
    knocked_at: int
    version: str


def note_knock(conn: Connection, host: str, now: int) -> None:
    """This machine has worked on the database now."""
    values = {"knocked_at": now, "version": __version__}
    row = insert_into(conn, hosts).values(host=name_of(host), **values)
    conn.execute(row.on_conflict_do_update(index_elements=["host"], set_=values))


def hosts_of_database(conn: Connection) -> list[Host]:
    """Every machine that ever did, by name."""
    return [Host._make(row) for row in conn.execute(select(hosts).order_by(hosts.c.host))]
