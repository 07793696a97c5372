"""Since when each agent is watched, and what has to be looked at for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, or_, select, update

from retro.periods import FOREVER
from retro.store.books.positions import book
from retro.store.facts.agents import key_query, known_key
from retro.store.jobs.reviews import IS_LATE, IS_OPEN, NEVER
from retro.store.jobs.tables import enrolments, reviews
from retro.store.schema import agents, insert_into

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = [
    "Enrolment",
    "anything_to_do",
    "enrol",
    "enrolment",
    "look_again",
    "looked",
    "next_end",
    "note_actions",
    "unsettled",
]


class Enrolment(NamedTuple):
    """`enrolled_at`: when the first facts came in; `losses_from`: actions from then on were not looked at."""

    enrolled_at: int
    next_at: int | None
    losses_from: int | None


_QUERY = select(enrolments.c.enrolled_at, enrolments.c.next_at, enrolments.c.losses_from)


def enrol(conn: Connection, agent: str, now: int) -> Enrolment:
    """Watch an agent from now on, unless it already is. A clock that was ahead at the time is set right."""
    key = known_key(conn, agent)
    row = insert_into(conn, enrolments).values(agent=key, enrolled_at=now, losses_from=-FOREVER)
    conn.execute(row.on_conflict_do_nothing())
    ahead = update(enrolments).where(enrolments.c.agent == key, enrolments.c.enrolled_at > now)
    conn.execute(ahead.values(enrolled_at=now))
    return Enrolment._make(conn.execute(_QUERY.where(enrolments.c.agent == key)).one())


def enrolment(conn: Connection, agent: str) -> Enrolment | None:
    """Since when an agent is watched; None when it is not yet."""
    row = conn.execute(_QUERY.where(enrolments.c.agent == key_query(agent))).one_or_none()
    return None if row is None else Enrolment._make(row)


def note_actions(conn: Connection, agent: str | None, since: int) -> None:
    """Facts or marks from an instant on are new: losses from there are looked for again. None: of every agent."""
    later = or_(enrolments.c.losses_from.is_(None), enrolments.c.losses_from > since)
    chosen = enrolments.c.agent == key_query(agent) if agent is not None else enrolments.c.agent.is_not(None)
    conn.execute(update(enrolments).where(chosen, later).values(losses_from=since))


def look_again(conn: Connection, agent: str) -> None:
    """What is owed to an agent has changed by hand: the next knock looks, whatever it is waiting for."""
    conn.execute(update(enrolments).where(enrolments.c.agent == key_query(agent)).values(next_at=None))


def looked(conn: Connection, agent: str, before: Enrolment, next_at: int) -> None:
    """Everything owed until now stands in the ledger; nothing more falls due before `next_at`."""
    unchanged = enrolments.c.losses_from.is_not_distinct_from(before.losses_from)
    mine = enrolments.c.agent == key_query(agent)
    conn.execute(update(enrolments).where(mine).values(next_at=next_at))
    conn.execute(update(enrolments).where(mine, unchanged).values(losses_from=None))


def next_end(conn: Connection) -> int | None:
    """When the next period of any agent ends; None when none does."""
    end = conn.execute(select(func.min(enrolments.c.next_at))).scalar_one()
    return None if end is None or end >= NEVER else end


def unsettled(conn: Connection, now: int) -> list[str]:
    """The agents for which something may have fallen due: new facts, a period's end, or never looked at."""
    query = (
        select(agents.c.name)
        .outerjoin(enrolments, enrolments.c.agent == agents.c.key)
        .outerjoin(book, book.c.agent == agents.c.key)
        .where(
            agents.c.first_at.is_not(None),
            or_(
                enrolments.c.next_at.is_(None),
                enrolments.c.next_at <= now,
                enrolments.c.losses_from.is_not(None),
                book.c.agent.is_(None),
                book.c.dirty_from.is_not(None),
            ),
        )
        .order_by(agents.c.name)
    )
    return list(conn.execute(query).scalars())


def anything_to_do(conn: Connection, now: int) -> bool:
    """Whether any review can be made, looked at again or taken over now. Read by the partial indexes alone."""
    columns = reviews.c
    ripe = [
        select(columns.key).where(IS_OPEN, columns.state == "waiting", columns.due_at <= now),
        select(columns.key).where(IS_OPEN, columns.state == "due", columns.not_before <= now),
        select(columns.key).where(IS_OPEN, columns.state == "running", columns.leased_until <= now),
        select(columns.key).where(IS_LATE, columns.state == "done"),
        select(columns.key).where(
            columns.again_at.is_not(None), columns.again_at <= now, columns.state == "done"
        ),
    ]
    return any(conn.execute(query.limit(1)).one_or_none() is not None for query in ripe)
