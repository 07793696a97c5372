"""What is owed becomes rows of the ledger: reviews of periods that ended, of positions closed, of losses and of a death.

Which they are `app.engine` finds; here is how they are added, fitted to what the facts say now, and passed over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import and_, func, or_, select, update

from retro.kinds import CALENDAR, POSITION
from retro.store.books.positions import book_positions
from retro.store.facts.agents import key_query, known_key
from retro.store.jobs.staleness import Staleness, stale
from retro.store.jobs.tables import reviews
from retro.store.locks import bucket_of, lock_agents
from retro.store.schema import insert_into

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

__all__ = [
    "Obligation",
    "insert",
    "lifespan",
    "reschedule",
    "skip_superseded",
    "subjects",
    "unreviewed_positions",
]


@dataclass(frozen=True, slots=True)
class Obligation:
    """A review that has to be made: its subject is a position, a loss or a period's grid (`""`: the first); `key` ends its id."""

    kind: str
    subject: str
    key: str
    start: int
    end: int
    due_at: int
    again_at: int | None = None
    backfill: bool = False
    reason: str | None = None


def insert(conn: Connection, agent: str, obligations: Iterable[Obligation]) -> None:
    """Add the obligations that are not there yet; those that are stay as they are.

    Nobody tells of the agent meanwhile: what is told marks the reviews that stand here, and these read what was told.
    """
    lock_agents(conn, [agent])
    key = known_key(conn, agent)
    rows = [
        {
            "agent": key,
            "bucket": bucket_of(agent),
            "id": f"{agent}.{obligation.kind}" + (f".{obligation.key}" if obligation.key else ""),
            "kind": obligation.kind,
            "subject": obligation.subject,
            "period_start": obligation.start,
            "period_end": obligation.end,
            "due_at": obligation.due_at,
            "again_at": obligation.again_at,
            "state": "waiting",
            "revision": 1,
            "backfill": int(obligation.backfill),
            "attempts": 0,
            "not_before": 0,
            "late": 0,
            "reason": obligation.reason,
        }
        for obligation in obligations
    ]
    if rows:
        conn.execute(insert_into(conn, reviews).on_conflict_do_nothing(), rows)


def unreviewed_positions(conn: Connection, agent: str) -> list[tuple[str, str, int, int]]:
    """(position, kind, opened, closed) of the closed positions that no review of that life is owed for."""
    book = book_positions.c
    join_on = and_(
        reviews.c.agent == book.agent,
        reviews.c.kind == POSITION.name,
        reviews.c.subject == book.position,
        reviews.c.period_start == book.opened_at,
        reviews.c.period_end == book.closed_at,
    )
    query = (
        select(book.position, book.kind, book.opened_at, book.closed_at)
        .outerjoin(reviews, join_on)
        .where(book.agent == key_query(agent), book.closed_at.is_not(None), reviews.c.key.is_(None))
        .order_by(book.closed_at, book.position)
    )
    return [(row.position, row.kind, row.opened_at, row.closed_at) for row in conn.execute(query)]


def subjects(conn: Connection, agent: str, kind: str) -> set[str]:
    """The subjects of an agent's reviews of a kind."""
    query = select(reviews.c.subject).where(reviews.c.agent == key_query(agent), reviews.c.kind == kind)
    return set(conn.execute(query).scalars())


def lifespan(conn: Connection, agent: str) -> tuple[int, int | None]:
    """How many of an agent's positions are open, and when the last of the others was closed."""
    book = book_positions.c
    query = select(func.count() - func.count(book.closed_at), func.max(book.closed_at))
    still_open, last = conn.execute(query.where(book.agent == key_query(agent))).one()
    return still_open, last


def reschedule(conn: Connection, agent: str, owed: Obligation) -> None:
    """Fit the row of an event's review to what the facts say now; what was made of it is looked at again."""
    columns = reviews.c
    differs = or_(
        columns.period_start != owed.start,
        columns.period_end != owed.end,
        columns.due_at != owed.due_at,
        func.coalesce(columns.reason, "") != (owed.reason or ""),
    )
    mine = and_(columns.agent == key_query(agent), columns.kind == owed.kind, columns.subject == owed.subject)
    conn.execute(
        update(reviews)
        .where(mine, or_(columns.state == "waiting", columns.period_end != owed.end), differs)
        .values(
            period_start=owed.start,
            period_end=owed.end,
            due_at=owed.due_at,
            again_at=owed.again_at,
            reason=owed.reason,
            late=stale(columns.late, Staleness(facts=True)),
        )
    )


def skip_superseded(conn: Connection, agent: str, now: int, reason: str) -> int:
    """Skip the due reviews of the calendar that nobody has begun and that a later one of their kind has overtaken."""
    later = reviews.alias("later")
    overtaken = (
        select(later.c.key)
        .where(
            later.c.agent == reviews.c.agent,
            later.c.kind == reviews.c.kind,
            later.c.subject == reviews.c.subject,
            later.c.period_start > reviews.c.period_start,
            later.c.due_at <= now,
        )
        .exists()
    )
    ripe = and_(reviews.c.state.in_(("waiting", "due")), reviews.c.due_at <= now, reviews.c.attempts == 0)
    mine = and_(reviews.c.agent == key_query(agent), reviews.c.kind.in_(CALENDAR))
    values = {"state": "skipped", "reason": reason}
    return conn.execute(update(reviews).where(mine, ripe, overtaken).values(values)).rowcount
