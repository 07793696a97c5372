"""Giving an agent another name: every row that is known by the name takes the new one, and ids of reviews begin with it.

What was written stays as it was: lines of events, documents of reviews, ledgers of the memory (they are chained by
digest), branches and requests. The old name leads to the new one (`retro.store.facts.departures`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Text, func, literal, update

from retro.store.estate.holdings import holdings, key_of_agent, rebucket
from retro.store.facts.departures import depart, welcome
from retro.store.jobs.tables import reviews
from retro.store.locks import lock_estate
from retro.store.schema import agents
from retro.store.spend import spend

if TYPE_CHECKING:
    from sqlalchemy import Column, ColumnElement, Connection

__all__ = ["rename"]


def rename(conn: Connection, name: str, successor: str, now: int) -> None:
    """Rename an agent, in the caller's transaction; nobody is called by the new name yet."""
    lock_estate(conn)
    key = key_of_agent(conn, name)
    welcome(conn, successor)  # it may have been called so before
    for holding in holdings():
        if holding.parent is None:
            mine = update(holding.table).where(holding.column == name)
            conn.execute(mine.values({holding.column.name: successor}))
    conn.execute(update(agents).where(agents.c.key == key).values(name=successor))
    if key is not None:
        rebucket(conn, key, successor)
    conn.execute(
        update(reviews)
        .where(reviews.c.agent == key, _begins(reviews.c.id, name))
        .values(id=_instead(reviews.c.id, name, successor))
    )
    conn.execute(
        update(spend)
        .where(spend.c.agent == successor, _begins(spend.c.review, name))
        .values(review=_instead(spend.c.review, name, successor))
    )
    if key is not None:
        depart(conn, name, "renamed", successor, now)


def _begins(column: Column[str], name: str) -> ColumnElement[bool]:
    return func.substr(column, 1, len(name) + 1) == f"{name}."


def _instead(column: Column[str], name: str, successor: str) -> ColumnElement[str]:
    return literal(successor, Text).concat(func.substr(column, len(name) + 1))
