"""Since when each agent is watched, and what has to be looked at for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import func, or_, select, text, union_all, update

from retro.periods import FOREVER
from retro.store.books import shared_marks
from retro.store.books.positions import book
from retro.store.facts.agents import key_query, known_key
from retro.store.jobs.claims import QUEUE
from retro.store.jobs.queue import any_row
from retro.store.jobs.reviews import IS_AGAIN, IS_DUE, IS_LATE, IS_WAITING, NEVER
from retro.store.jobs.tables import enrolments, reviews
from retro.store.locks import bucket_of
from retro.store.schema import agents, insert_into, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Select

__all__ = [
    "Enrolment",
    "any_unsettled",
    "anything_to_do",
    "enrol",
    "enrolment",
    "existing_enrolment",
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


def enrol(conn: Connection, agent: str, now: int) -> None:
    """Watch an agent from now on, unless it already is. A clock that was ahead at the time is set right."""
    key = known_key(conn, agent)
    row = insert_into(conn, enrolments).values(
        agent=key, enrolled_at=now, losses_from=-FOREVER, bucket=bucket_of(agent)
    )
    conn.execute(row.on_conflict_do_nothing())
    ahead = update(enrolments).where(enrolments.c.agent == key, enrolments.c.enrolled_at > now)
    conn.execute(ahead.values(enrolled_at=now))


def enrolment(conn: Connection, agent: str) -> Enrolment | None:
    """Since when an agent is watched; None when it is not yet."""
    row = conn.execute(_QUERY.where(enrolments.c.agent == key_query(agent))).one_or_none()
    return None if row is None else Enrolment._make(row)


def existing_enrolment(conn: Connection, agent: str) -> Enrolment:
    """Since when an agent is watched, of one that is."""
    return Enrolment._make(conn.execute(_QUERY.where(enrolments.c.agent == key_query(agent))).one())


def note_actions(conn: Connection, agent: str, since: int) -> None:
    """Facts or marks from an instant on are new: losses from there are looked for again."""
    later = or_(enrolments.c.losses_from.is_(None), enrolments.c.losses_from > since)
    mine = enrolments.c.agent == key_query(agent)
    conn.execute(update(enrolments).where(mine, later).values(losses_from=since))


def look_again(conn: Connection, agent: str) -> None:
    """What is owed to an agent has changed by hand: the next knock looks, whatever it is waiting for."""
    conn.execute(update(enrolments).where(enrolments.c.agent == key_query(agent)).values(next_at=None))


def looked(conn: Connection, agent: str, before: Enrolment, next_at: int) -> None:
    """Everything owed until now stands in the ledger; nothing more falls due before `next_at`."""
    unchanged = enrolments.c.losses_from.is_not_distinct_from(before.losses_from)
    mine = enrolments.c.agent == key_query(agent)
    conn.execute(update(enrolments).where(mine).values(next_at=next_at))
    conn.execute(update(enrolments).where(mine, unchanged).values(losses_from=None))
    conn.execute(
        update(agents).where(agents.c.name == name_of(agent), agents.c.watched == 0).values(watched=1)
    )


def next_end(conn: Connection) -> int | None:
    """When the next period of any agent ends; None when none does."""
    end = conn.execute(select(func.min(enrolments.c.next_at))).scalar_one()
    return None if end is None or end >= NEVER else end


def unsettled(conn: Connection, now: int, bucket: int | None = None) -> list[str]:
    """The agents for which something may have fallen due, by name: new facts or marks, a period's end, or never looked at.

    Of a bucket, or of all: either is found in time that goes by their number.
    """
    names = shared_marks.agents_behind(conn, bucket)
    reasons = [select(reason.subquery().c.name) for reason in _reasons(now, bucket)]
    names.update(conn.execute(union_all(*reasons)).scalars())
    return sorted(names)  # no database's collation


def any_unsettled(conn: Connection, now: int) -> bool:
    """Whether `unsettled` would give anybody."""
    return any_row(conn, *_reasons(now, None)) or bool(shared_marks.series_ahead(conn))


def _reasons(now: int, bucket: int | None) -> Iterator[Select[Any]]:
    """Names of agents, each reason by an index of its own: for whom there is none is not looked at."""
    if bucket is not None:
        yield from _reasons_of_bucket(now, bucket)
        return
    lived = select(agents.c.name).where(agents.c.first_at.is_not(None))
    watched = lived.join(enrolments, enrolments.c.agent == agents.c.key)
    settled = lived.join(book, book.c.agent == agents.c.key)
    yield lived.where(text("agents.watched = 0")).order_by(agents.c.key)
    yield watched.where(enrolments.c.next_at.is_(None)).order_by(enrolments.c.agent)
    yield watched.where(enrolments.c.next_at <= now).order_by(enrolments.c.next_at)
    yield watched.where(enrolments.c.losses_from.is_not(None)).order_by(enrolments.c.agent)
    yield settled.where(book.c.dirty_from.is_not(None)).order_by(book.c.agent)


def _reasons_of_bucket(now: int, bucket: int) -> Iterator[Select[Any]]:
    """The same of one bucket: its agents are few, and each is looked up by its key."""
    lived = select(agents.c.name).where(agents.c.first_at.is_not(None), agents.c.bucket == bucket)
    mine = select(enrolments.c.agent).where(enrolments.c.bucket == bucket)
    for reason in (
        enrolments.c.next_at.is_(None),
        enrolments.c.next_at <= now,
        enrolments.c.losses_from.is_not(None),
    ):
        yield lived.where(agents.c.key.in_(mine.where(reason))).order_by(agents.c.key)
    yield lived.where(agents.c.watched == 0).order_by(agents.c.key)
    dirty = select(book.c.agent).where(book.c.agent == agents.c.key, book.c.dirty_from.is_not(None))
    yield lived.where(dirty.exists()).order_by(agents.c.key)


def anything_to_do(conn: Connection, now: int, bucket: int | None = None) -> bool:
    """Whether any review (of a bucket) can be made, looked at again or taken over now. Read by the partial indexes alone."""
    columns = reviews.c
    if bucket is not None:
        return any_row(conn, *_ripe_of_bucket(now, bucket))
    ripe = [
        select(columns.key).where(IS_WAITING, columns.due_at <= now).order_by(columns.due_at),
        select(columns.key).where(IS_DUE, columns.not_before <= now).order_by(columns.not_before),
        QUEUE.expired_keys(now, alone=False),
        select(columns.key).where(IS_LATE).order_by(columns.period_end),
        select(columns.key).where(IS_AGAIN, columns.again_at <= now).order_by(columns.again_at),
    ]
    return any_row(conn, *ripe)


def _ripe_of_bucket(now: int, bucket: int) -> Iterator[Select[Any]]:
    """What of a bucket can be worked on, in the order of its indexes: few rows wait longer than the first."""
    columns = reviews.c
    mine = select(columns.key).where(columns.bucket == bucket)
    yield mine.where(IS_WAITING, columns.due_at <= now).order_by(columns.due_at)
    yield mine.where(IS_DUE, columns.not_before <= now).order_by(columns.period_end, columns.kind)
    yield mine.where(QUEUE.is_expired(now, alone=False)).order_by(columns.leased_until)
    yield mine.where(IS_LATE).order_by(columns.period_end)
    yield mine.where(IS_AGAIN, columns.again_at <= now).order_by(columns.again_at)
