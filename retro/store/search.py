"""What is called something: agents, reviews and positions whose names hold a text, the newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import literal, or_, select

from retro.store.books.positions import book_positions
from retro.store.conditions import text_within
from retro.store.jobs.tables import reviews
from retro.store.schema import agents

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select

__all__ = ["NamedThing", "agents_named", "positions_named", "reviews_named"]


class NamedThing(NamedTuple):
    """Whose it is, what it is called, and what it is."""

    agent: str
    name: str
    detail: str


def agents_named(conn: Connection, text: str, limit: int) -> list[NamedThing]:
    """Agents, by name."""
    name = agents.c.name
    query = select(name, name, literal("")).where(text_within(conn, name, text)).order_by(name)
    return _rows(conn, query.limit(limit))


def reviews_named(conn: Connection, text: str, limit: int) -> list[NamedThing]:
    """Reviews whose id holds it."""
    c = reviews.c
    query = select(agents.c.name, c.id, c.state).join(agents, agents.c.key == c.agent)
    query = query.where(text_within(conn, c.id, text)).order_by(c.period_end.desc(), c.id.desc())
    return _rows(conn, query.limit(limit))


def positions_named(conn: Connection, text: str, limit: int) -> list[NamedThing]:
    """Positions whose name or instrument holds it."""
    c = book_positions.c
    query = select(agents.c.name, c.position, c.instrument).join(agents, agents.c.key == c.agent)
    named = or_(text_within(conn, c.position, text), text_within(conn, c.instrument, text))
    return _rows(conn, query.where(named).order_by(c.opened_at.desc(), c.position.desc()).limit(limit))


def _rows(conn: Connection, query: Select[tuple[str, str, str]]) -> list[NamedThing]:
    return [NamedThing._make(row) for row in conn.execute(query)]
