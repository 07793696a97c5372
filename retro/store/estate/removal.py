"""Deleting everything that belongs to an agent, and what the database says of its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, delete, or_, select

from retro.store.estate.holdings import counts, holdings, key_of_agent, of_agent
from retro.store.facts.departures import forget_name
from retro.store.jobs.tables import outbox, reviews, sources
from retro.store.locks import lock_estate
from retro.store.schema import faults, source_agents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

__all__ = ["at_work", "own_sources", "remove"]


def at_work(conn: Connection, name: str, now: int) -> str | None:
    """What somebody is doing for an agent at this moment, in words; None when nobody is."""
    mine = reviews.c.agent == key_of_agent(conn, name)
    review = select(reviews.c.id).where(mine, reviews.c.state == "running", reviews.c.leased_until > now)
    letter = (
        select(reviews.c.id)
        .join(outbox, outbox.c.review == reviews.c.key)
        .where(mine, outbox.c.state == "sending", outbox.c.leased_until > now)
    )
    for query, word in ((review, "making"), (letter, "sending")):
        row = conn.execute(query.limit(1)).one_or_none()
        if row is not None:
            return f"{word} {row.id}"
    return None


def own_sources(conn: Connection, name: str) -> list[str]:
    """The sources that told of this agent and of no other, in order of name."""
    key, c = key_of_agent(conn, name), source_agents.c
    shared = select(c.source).where(c.agent != key)
    query = select(c.source).where(c.agent == key, c.source.not_in(shared)).order_by(c.source)
    return list(conn.execute(query).scalars())


def remove(conn: Connection, name: str, now: int, cursors: Sequence[str]) -> dict[str, int]:
    """Delete every row of an agent, in the caller's transaction; table -> rows. Its name stays as a digest.

    `cursors` are the keys of the `[[source]]` tables that told of nobody else: how far they were read goes too, and so
    do the faults of sources that told of this agent alone.
    """
    lock_estate(conn)  # no reading under way may tell of it again with what it knew before
    sizes, key = counts(conn, name), key_of_agent(conn, name)
    alone = own_sources(conn, name)
    forget_name(conn, name, now)
    nobody_else = and_(faults.c.agent.is_(None), faults.c.source.in_(alone))
    gone = conn.execute(delete(faults).where(or_(faults.c.agent == name, nobody_else))).rowcount
    of_cursors = delete(sources).where(sources.c.key.in_(list(cursors)))
    read = conn.execute(of_cursors).rowcount
    for holding in reversed(holdings()):
        conn.execute(delete(holding.table).where(of_agent(holding, name, key)))
    sizes |= {table: size for table, size in (("faults", gone), ("sources", read)) if size}
    sizes.pop("departures", None)
    return dict(sorted(sizes.items()))
