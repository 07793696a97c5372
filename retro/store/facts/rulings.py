"""What owners ruled on positions whose fills look impossible: that they are right, or that nothing of them is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from sqlalchemy import insert, select

from retro.store.facts.agents import key_query, known_key
from retro.store.schema import name_of, position_rulings

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["Ruling", "RulingRecord", "record", "rulings"]

Ruling = Literal["confirmed", "rejected"]


class RulingRecord(NamedTuple):
    """A ruling on a position: who gave it, and when (microseconds)."""

    position: str
    ruling: Ruling
    author: str
    at: int


def record(conn: Connection, agent: str, given: RulingRecord) -> None:
    """Add a ruling; the ones before it stay, and no longer count."""
    conn.execute(
        insert(position_rulings).values(
            agent=known_key(conn, agent),
            position=name_of(given.position),
            ruling=given.ruling,
            author=given.author,
            at=given.at,
        )
    )


def rulings(conn: Connection, agent: str) -> dict[str, RulingRecord]:
    """The newest ruling on each position of an agent that has one, by the position's key."""
    c = position_rulings.c
    query = select(c.position, c.ruling, c.author, c.at).where(c.agent == key_query(agent)).order_by(c.seq)
    return {
        row.position: RulingRecord(row.position, cast("Ruling", row.ruling), row.author, row.at)
        for row in conn.execute(query)
    }
