"""All agents at once, in as many statements whether there are three or thirty thousand: what was stored of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import and_, exists, func, select, text, update

from retro.kinds import WEEKLY
from retro.model import FACT_TYPES, Death
from retro.periods import DAY, HOUR
from retro.store.jobs.claims import QUEUE
from retro.store.jobs.outbox import FLEET
from retro.store.jobs.queue import any_row
from retro.store.jobs.reviews import IS_WAITING
from retro.store.jobs.tables import documents, outbox, reviews
from retro.store.proposals import proposals
from retro.store.schema import agents, events

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

__all__ = [
    "AgentCounts",
    "FleetLetters",
    "StoredWeek",
    "counts_by_agent",
    "dead_agents",
    "document_text",
    "is_week_open",
    "keep_line",
    "letters_together",
    "line_text",
    "newest_week_end",
    "weeks_ended",
    "zones",
]

_DEATH: Final = next(name for name, kind in FACT_TYPES.items() if kind is Death)
_WAITING: Final = ("proposed", "open")


class StoredWeek(NamedTuple):
    """A week of an agent: its review as it stands, and the newest revision that is done (None: none is).

    `line` sums it up; None in a revision of a version that kept none.
    """

    agent: str
    key: int
    review: str
    state: str
    period_end: int
    revision: int | None
    line: str | None


class AgentCounts(NamedTuple):
    """What of an agent waits for a person."""

    parked: dict[str, int]
    failed: dict[str, int]
    proposals: dict[str, int]


def keep_line(conn: Connection, review: int, revision: int, line: str) -> None:
    """Keep what sums up a revision beside it."""
    conn.execute(update(documents).where(_revision(review, revision)).values(line=line))


def newest_week_end(conn: Connection) -> int | None:
    """When the newest week that a review is done of ended; None before the first."""
    query = (
        select(reviews.c.period_end)
        .where(reviews.c.kind == WEEKLY.name, reviews.c.state == "done")
        .order_by(reviews.c.period_end.desc())
        .limit(1)
    )
    return conn.execute(query).scalar_one_or_none()


def weeks_ended(conn: Connection, after: int, until: int) -> list[StoredWeek]:
    """Every agent's weeks that ended in (after, until], each with its newest revision that is done."""
    d, r = documents.c, reviews.c
    done = and_(d.review == r.key, d.done_at.is_not(None))
    query = (
        select(agents.c.name, r.key, r.id, r.state, r.period_end, d.revision, d.line)
        .select_from(reviews.join(agents, agents.c.key == r.agent).outerjoin(documents, done))
        .where(r.kind == WEEKLY.name, r.period_end > after, r.period_end <= until)
        .order_by(r.period_end, r.key, d.revision)
    )
    newest = {row.key: StoredWeek._make(row) for row in conn.execute(query)}
    return list(newest.values())


def document_text(conn: Connection, review: int, revision: int) -> str | None:
    """The document of a revision."""
    return conn.execute(select(documents.c.document).where(_revision(review, revision))).scalar_one_or_none()


def line_text(conn: Connection, review: int, revision: int) -> str | None:
    """What was kept to sum up a revision."""
    return conn.execute(select(documents.c.line).where(_revision(review, revision))).scalar_one_or_none()


def _revision(review: int, revision: int) -> ColumnElement[bool]:
    return and_(documents.c.review == review, documents.c.revision == revision)


class FleetLetters(NamedTuple):
    """What waits to go out through a channel for all agents together, in microseconds.

    `newest_end`: the end of the newest week that was not told yet, `week_written_at` when its first letter was written;
    None and 0: only corrections wait, the oldest since `written_at`.
    """

    written_at: int
    newest_end: int | None
    week_written_at: int


def letters_together(conn: Connection, channel: str) -> FleetLetters | None:
    """What waits for all agents together; None where nothing does."""
    o, r = outbox.c, reviews.c
    waiting = and_(
        text("outbox.state IN ('pending', 'sending')"),
        o.state == "pending",
        o.digest == FLEET,
        o.channel == channel,
    )
    joined = outbox.join(reviews, r.key == o.review)
    oldest = conn.execute(select(func.min(o.written_at)).select_from(joined).where(waiting)).scalar_one()
    if oldest is None:
        return None
    fresh = and_(waiting, o.revision == 1)
    newest = conn.execute(select(func.max(r.period_end)).select_from(joined).where(fresh)).scalar_one()
    if newest is None:
        return FleetLetters(oldest, None, 0)
    of_week = and_(fresh, r.period_end > newest - DAY - 3 * HOUR)
    written = conn.execute(select(func.min(o.written_at)).select_from(joined).where(of_week)).scalar_one()
    return FleetLetters(oldest, newest, written)


def is_week_open(conn: Connection, after: int, until: int) -> bool:
    """Whether any agent's week that ended in (after, until] is still to be made."""
    r = reviews.c
    week = select(r.key).where(r.kind == WEEKLY.name, r.period_end > after, r.period_end <= until)
    return any_row(
        conn,
        week.where(IS_WAITING).order_by(r.due_at),
        week.where(QUEUE.is_free).order_by(r.period_end),
        week.where(QUEUE.is_leased).order_by(r.leased_until),
    )


def zones(conn: Connection) -> set[str]:
    """The time zones of all agents' grids."""
    zone = agents.c.time_zone
    return set(conn.execute(select(zone).where(zone.is_not(None)).distinct()).scalars())


def counts_by_agent(conn: Connection) -> AgentCounts:
    """What is parked, what failed for good on its way, and what is proposed and waits, each by agent."""
    by_agent = select(agents.c.name, func.count()).group_by(agents.c.name)
    parked = by_agent.join(reviews, reviews.c.agent == agents.c.key).where(text("reviews.state = 'parked'"))
    failed = (
        by_agent.join(reviews, reviews.c.agent == agents.c.key)
        .join(outbox, outbox.c.review == reviews.c.key)
        .where(text("outbox.state = 'failed'"))
    )
    waiting = by_agent.join(proposals, proposals.c.agent == agents.c.key).where(
        proposals.c.state.in_(_WAITING)
    )
    counts = (dict(map(tuple, conn.execute(query))) for query in (parked, failed, waiting))
    return AgentCounts(*counts)


def dead_agents(conn: Connection) -> set[str]:
    """Whoever has told of its death."""
    dead = exists().where(events.c.agent == agents.c.key, events.c.type == _DEATH)
    return set(conn.execute(select(agents.c.name).where(dead)).scalars())
