"""Names under which nobody lives here any more: agents that were forgotten, renamed, or merged into another.

What a source tells of a forgotten agent is passed over, and of a renamed one it is told of the name it has now. Of a
forgotten agent nothing is kept but a digest of its name, by which it is known again.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from sqlalchemy import BigInteger, Column, ForeignKey, Table, Text, delete, insert, select, update

from retro.periods import format_instant
from retro.store import schema as tables
from retro.store.facts.agents import key_query, known_key
from retro.store.schema import insert_into, metadata, name_of, within_keys

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = [
    "Departure",
    "DepartureReason",
    "Departures",
    "depart",
    "departure_of",
    "departures",
    "departures_of",
    "forget_name",
    "present_id",
    "welcome",
]

DepartureReason = Literal["forgotten", "renamed", "merged"]

departed: Final = Table(
    "departures",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("reason", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("name", Text),
    Column("agent", BigInteger, ForeignKey("agents.key")),
)
"""One row a name. `name` and `agent`, who lives on, are null of a forgotten one: its digest alone is kept."""


class Departure(NamedTuple):
    """Why nobody has a name any more, since when (microseconds), and who its life went to; None of a forgotten one."""

    reason: DepartureReason
    at: int
    successor: str | None

    def sentence(self, name: str) -> str:
        """What became of an agent of that name, and what to do."""
        day = format_instant(self.at)[:10]
        if self.successor is None:
            undo = f"`retro agents forget {name} --undo` lets its sources tell of it again"
            return f"agent {name!r} was forgotten on {day}; {undo}"
        how = "renamed to" if self.reason == "renamed" else "merged into"
        return f"agent {name!r} was {how} {self.successor!r} on {day}"


class Departures(dict[str, Departure]):
    """Every departure by the digest of its name, asked by name."""

    def of(self, name: str) -> Departure | None:
        """What became of a name; None of one that is in use or was never heard of."""
        return self.get(_digest_of(name)) if self else None


def _digest_of(name: str) -> str:
    """By what a name is known again."""
    return hashlib.sha256(name_of(name).encode("utf-8", "surrogatepass")).hexdigest()


def departures(conn: Connection) -> Departures:
    """All of them: few, in nearly every database none."""
    c = departed.c
    rows = conn.execute(select(c.digest, c.reason, c.at, c.agent)).all()
    # not joined: the database would read all agents, who may be many, to name the successors of nobody
    keys = {row.agent for row in rows} - {None}
    key, name = tables.agents.c.key, tables.agents.c.name
    successors = select(key, name).where(within_keys(conn, key, keys))
    names = {row.key: row.name for row in conn.execute(successors)} if keys else {}
    return Departures(
        (row.digest, Departure(cast("DepartureReason", row.reason), row.at, names.get(row.agent)))
        for row in rows
    )


def departure_of(conn: Connection, name: str) -> Departure | None:
    """What became of one name."""
    return departures(conn).of(name)


def departures_of(conn: Connection, agent: str) -> list[tuple[str, DepartureReason, int]]:
    """The names whose lives went to an agent: (name, why, when), oldest first."""
    c = departed.c
    query = select(c.name, c.reason, c.at).where(c.agent == key_query(agent)).order_by(c.at, c.name)
    return [(name, cast("DepartureReason", reason), at) for name, reason, at in conn.execute(query)]


def depart(conn: Connection, name: str, reason: DepartureReason, successor: str, at: int) -> None:
    """Note that the life told under a name goes on under another from now on."""
    row = {"name": name_of(name), "reason": reason, "at": at, "agent": known_key(conn, successor)}
    statement = insert_into(conn, departed).values(digest=_digest_of(name), **row)
    conn.execute(statement.on_conflict_do_update(index_elements=["digest"], set_=row))


def forget_name(conn: Connection, name: str, at: int) -> None:
    """Keep of a name, and of those whose lives went to it, nothing but digests; while its agent is still there."""
    row = {"reason": "forgotten", "at": at, "name": None, "agent": None}
    conn.execute(update(departed).where(departed.c.agent == key_query(name)).values(row))
    conn.execute(delete(departed).where(departed.c.digest == _digest_of(name)))
    conn.execute(insert(departed).values(digest=_digest_of(name), **row))


def welcome(conn: Connection, name: str) -> bool:
    """Let a name be used again; whether anybody had departed under it."""
    return conn.execute(delete(departed).where(departed.c.digest == _digest_of(name))).rowcount > 0


def present_id(conn: Connection, id: str) -> str | None:  # noqa: A002  the field's name
    """The id that a review has since its agent was renamed; None where its id names nobody who was."""
    c = departed.c
    query = select(c.name, tables.agents.c.name).join(tables.agents, tables.agents.c.key == c.agent)
    for old, new in conn.execute(query.where(c.reason == "renamed")):
        if id.startswith(f"{old}."):
            return f"{new}{id[len(old) :]}"
    return None
