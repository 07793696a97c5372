"""An agent's positions page by page: from a place on, in the order of their entries, whatever lies before it.

A place is the instant and the name of a row, and the index on both leads to what follows it; so the last page of a
hundred thousand costs what the first one does, and a row that comes or goes in between moves no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import func, literal, select, tuple_

from retro.store.books.positions import book_positions
from retro.store.facts.agents import key_query
from retro.store.schema import name_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["Place", "count_lives", "count_positions", "place_of", "position_at", "positions_after"]


class Place(NamedTuple):
    """Where a position stands in the list of its agent's: by its entry (microseconds), then by its name."""

    opened_at: int
    position: str


def positions_after(
    conn: Connection, agent: str, place: Place | None, limit: int, *, newest: bool = False
) -> list[Any]:
    """At most `limit` rows that follow a place (None: from the start), oldest first, or newest first."""
    c = book_positions.c
    query = select(book_positions).where(c.agent == key_query(agent))
    if place is not None:
        own, other = (
            tuple_(c.opened_at, c.position),
            tuple_(literal(place.opened_at), literal(place.position)),
        )
        query = query.where(own < other if newest else own > other)
    order = (c.opened_at.desc(), c.position.desc()) if newest else (c.opened_at, c.position)
    return list(conn.execute(query.order_by(*order).limit(limit)))


def position_at(conn: Connection, agent: str, place: Place) -> Any:
    """The row at a place."""
    c = book_positions.c
    query = select(book_positions).where(
        c.agent == key_query(agent), c.opened_at == place.opened_at, c.position == place.position
    )
    return conn.execute(query).one()


def place_of(conn: Connection, agent: str, position: str) -> Place | None:
    """Where the agent's position of that name stands; None where it has no row."""
    c = book_positions.c
    query = select(c.opened_at, c.position).where(
        c.agent == key_query(agent), c.position == name_of(position)
    )
    row = conn.execute(query).one_or_none()
    return None if row is None else Place(row.opened_at, row.position)


def count_positions(conn: Connection, agent: str) -> int:
    """How many positions the agent's book holds."""
    query = select(func.count()).select_from(book_positions).where(book_positions.c.agent == key_query(agent))
    return conn.execute(query).scalar_one()


def count_lives(conn: Connection, agent: str) -> tuple[int, int]:
    """How many positions the agent's book holds, and how many of them are open."""
    c = book_positions.c
    query = select(func.count(), func.count() - func.count(c.closed_at)).where(c.agent == key_query(agent))
    every, still_open = conn.execute(query).one()
    return int(every), int(still_open)
