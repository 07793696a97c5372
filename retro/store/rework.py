"""Whose reviews are still to be looked at anew, by a call of `retro rework` or by the workers of a fleet.

A row an agent: it goes with the transaction that stores what became of its reviews, so that whoever comes after a kill
goes on with what is left. Beside it the stamp by which facts are known again.
"""

from __future__ import annotations

import hashlib
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import delete, func, insert, select, update

from retro.store.books.positions import book
from retro.store.books.shared_marks import book_marks
from retro.store.facts.agents import key_query
from retro.store.jobs.reviews import columns, review_of
from retro.store.jobs.tables import IS_FOR_WORKERS, reviews, rework_agents
from retro.store.locks import bucket_of
from retro.store.schema import agents, corrections, events, position_rulings, series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from retro.store.jobs.reviews import Review

__all__ = [
    "MOST_TRIES",
    "UNIT",
    "ReworkUnit",
    "abandon",
    "count_failures",
    "count_open",
    "enlist",
    "facts_stamp",
    "failures",
    "hand_over",
    "next_of_bucket",
    "note_change",
    "note_failure",
    "open_units",
    "reviews_done_since",
    "strike_out",
]

UNIT: Final = 100
"""Agents that are computed in one piece, on one processor."""
_AT_ONCE: Final = 1_000
MOST_TRIES: Final = 5
"""How often an agent is begun whose facts change all the time, or that kills who computes it."""


class ReworkUnit(NamedTuple):
    """Agents whose reviews of periods that end after `since` are looked at as of `at`; instants in microseconds."""

    number: int
    agents: tuple[str, ...]
    since: int
    at: int


def enlist(conn: Connection, names: Sequence[str], since: int, at: int) -> None:
    """Write down that the reviews of these agents are to be looked at anew."""
    keys: dict[str, int] = dict(conn.execute(select(agents.c.name, agents.c.key)).all())
    rows = [
        {"agent": keys[name], "unit": place // UNIT, "since": since, "at": at, "bucket": bucket_of(name)}
        for place, name in enumerate(names)
    ]
    for first in range(0, len(rows), _AT_ONCE):
        conn.execute(insert(rework_agents), rows[first : first + _AT_ONCE])


def open_units(conn: Connection) -> list[ReworkUnit]:
    """What is left to do, in order."""
    c = rework_agents.c
    query = select(c.unit, agents.c.name, c.since, c.at).join(agents, agents.c.key == c.agent)
    rows = sorted(conn.execute(query).all())
    return [
        ReworkUnit(unit, tuple(name for _, name, _, _ in some), since, at)
        for (unit, since, at), group in groupby(rows, key=lambda row: (row[0], row[2], row[3]))
        for some in [list(group)]
    ]


def count_open(conn: Connection) -> int:
    """How many agents are left."""
    return conn.execute(select(func.count()).select_from(rework_agents)).scalar_one()


def count_failures(conn: Connection) -> int:
    """How many of them workers have left as they were."""
    failed = select(func.count()).select_from(rework_agents).where(rework_agents.c.failure.is_not(None))
    return conn.execute(failed).scalar_one()


def failures(conn: Connection, limit: int | None = None) -> dict[str, str]:
    """Why workers have left agents as they were, by name; the first of them."""
    c = rework_agents.c
    query = (
        select(agents.c.name, c.failure).join(agents, agents.c.key == c.agent).where(c.failure.is_not(None))
    )
    return dict(conn.execute(query.order_by(agents.c.name).limit(limit)).all())


def hand_over(conn: Connection, *, by_workers: bool) -> None:
    """Let the workers of a fleet do what is left, or a call of `retro rework`; from the beginning, what failed too."""
    conn.execute(update(rework_agents).values(by_workers=int(by_workers), tries=0, failure=None))


def next_of_bucket(conn: Connection, bucket: int | None) -> ReworkUnit | None:
    """The agent of a bucket that a worker begins with, as a unit of its own; None: there is none.

    Its try is counted; who has had five fails for good. Who comes after a worker that died looks at it as of the same instant.
    """
    c = rework_agents.c
    mine = (c.bucket == bucket, IS_FOR_WORKERS)
    never_ended = f"begun {MOST_TRIES} times and never ended: its facts changed meanwhile, or its worker died"
    conn.execute(update(rework_agents).where(*mine, c.tries >= MOST_TRIES).values(failure=never_ended))
    query = select(c.agent, agents.c.name, c.unit, c.since, c.at).join(agents, agents.c.key == c.agent)
    row = conn.execute(query.where(*mine).order_by(c.tries, c.unit, c.agent).limit(1)).first()
    if row is None:
        return None
    conn.execute(update(rework_agents).where(c.agent == row.agent).values(tries=c.tries + 1))
    return ReworkUnit(row.unit, (row.name,), row.since, row.at)


def note_change(conn: Connection, agent: str, at: int) -> None:
    """Its facts have changed while it was computed: the next try is as of this instant."""
    conn.execute(update(rework_agents).where(rework_agents.c.agent == key_query(agent)).values(at=at))


def note_failure(conn: Connection, agent: str, reason: str) -> None:
    """No worker is to begin with it again."""
    mine = rework_agents.c.agent == key_query(agent)
    conn.execute(update(rework_agents).where(mine).values(failure=reason))


def strike_out(conn: Connection, agent: str) -> None:
    """An agent's reviews have been looked at."""
    conn.execute(delete(rework_agents).where(rework_agents.c.agent == key_query(agent)))


def abandon(conn: Connection) -> int:
    """Leave everything as it is; of how many agents."""
    return conn.execute(delete(rework_agents)).rowcount


def reviews_done_since(conn: Connection, agent: str, since: int, now: int) -> list[Review]:
    """An agent's reviews that are done and whose period ends after an instant, in order; not what the service looks at."""
    query = columns().where(
        agents.c.key == key_query(agent),
        reviews.c.agent == key_query(agent),
        reviews.c.state == "done",
        reviews.c.late == 0,
        func.coalesce(reviews.c.again_at > now, True),
        reviews.c.period_end > since,
    )
    return [review_of(row) for row in conn.execute(query.order_by(reviews.c.period_end, reviews.c.key))]


def facts_stamp(conn: Connection, agent: str) -> str:
    """Another one as soon as anything was told of an agent that its figures rest on, or its book was settled by it.

    Its own facts, corrections, marks and rulings, when its book became stale, the versions of the shared marks in it.
    """
    key = key_query(agent)
    own = select(agents).where(agents.c.key == key)
    names = select(agents.c.name).where(agents.c.key == key).scalar_subquery()
    marks = select(series.c.instrument, series.c.first_at, series.c.last_at).where(series.c.owner == names)
    noted = select(book_marks.c.instrument, book_marks.c.version).where(book_marks.c.agent == key)
    newest = [
        select(func.max(table.c.seq), func.count()).where(table.c.agent == key)
        for table in (events, corrections, position_rulings)
    ]
    state = select(book.c.dirty_from, book.c.settings).where(book.c.agent == key)
    parts: list[Any] = [
        sorted(map(tuple, conn.execute(query)), key=repr) for query in (own, marks, noted, *newest, state)
    ]
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()
