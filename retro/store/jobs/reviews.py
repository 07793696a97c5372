"""The ledger of reviews: every one that is owed has a row, from the moment its period ended.

States: `waiting` (its data are not settled yet), `due`, `running` (somebody holds it), `done`, `parked` (it failed too
often and needs a person), `skipped` (passed over, with the reason), `superseded` (done, on a grid that the agent has
left: it stays as it was written). Who works on a row and how is in `claims.py`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, text, update

from retro.errors import UnknownError
from retro.kinds import CALENDAR, KINDS, POSITION
from retro.periods import FOREVER
from retro.store.books.positions import book_positions
from retro.store.facts.agents import key_query, known_key
from retro.store.facts.departures import present_id
from retro.store.jobs.staleness import Staleness, stale
from retro.store.jobs.tables import documents, reviews
from retro.store.schema import agents, events, insert_into, name_of, within_keys

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import Connection, Row

__all__ = [
    "IS_AGAIN",
    "IS_DUE",
    "IS_LATE",
    "IS_PARKED",
    "IS_WAITING",
    "NEVER",
    "NO_FACTS",
    "Obligation",
    "Review",
    "StoredRevision",
    "by_id",
    "by_key",
    "columns",
    "facts_digest",
    "insert",
    "lifespan",
    "listed",
    "look_again",
    "mark_due",
    "mark_stale",
    "newer_than",
    "newest_done",
    "reschedule",
    "review_of",
    "revision_of",
    "skip_superseded",
    "subjects",
    "unreviewed_positions",
]

NEVER: Final = FOREVER
"""An instant that no clock reaches: what waits for something else than time falls due then."""
NO_FACTS: Final = hashlib.sha256().hexdigest()
"""`facts_digest` where there is none."""
IS_WAITING: Final = text("reviews.state = 'waiting'")
IS_DUE: Final = text("reviews.state = 'due'")
IS_LATE: Final = text("reviews.late <> 0 AND reviews.state = 'done'")
IS_AGAIN: Final = text("reviews.again_at IS NOT NULL AND reviews.state = 'done'")
IS_PARKED: Final = text("reviews.state = 'parked'")
"""As the partial indexes spell them, so that the database finds that they apply."""
_AT_ONCE: Final = 1000
"""Rows that one statement touches or counts at most, however many agents have something due on a Monday."""


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


class Review(NamedTuple):
    """A row of the ledger; `agent` by name. `late`: what arrived after its figures were read, and what of it is looked at."""

    key: int
    agent: str
    id: str
    kind: str
    subject: str
    period_start: int
    period_end: int
    due_at: int
    again_at: int | None
    state: str
    revision: int
    backfill: bool
    attempts: int
    not_before: int
    owner: str | None
    leased_until: int | None
    late: Staleness
    facts: str | None
    reason: str | None
    done_at: int | None

    @property
    def repeats_history(self) -> bool:
        """Whether it tells on another grid of a time that earlier reviews have told of: it is stored, and no more."""
        return self.backfill and bool(self.subject) and self.kind in CALENDAR

    @property
    def period_key(self) -> str:
        """The part of the id after the kind: `2026-W47`, a position's id; empty for a death.

        A review of an agent that was merged into this one has the id it was written under.
        """
        if self.id.startswith(f"{self.agent}.{self.kind}"):
            return self.id[len(self.agent) + len(self.kind) + 2 :]
        return self.id.partition(f".{self.kind}.")[2]


class StoredRevision(NamedTuple):
    """A revision as it is stored: its figures alone, or with its words; without `done_at` it is not finished.

    `purged_at`: since when its text is gone, as the owner's configuration says.
    """

    revision: int
    digest: str
    numbers: str | None
    document: str | None
    done_at: int | None
    purged_at: int | None = None


def columns() -> Select[Any]:
    """A query for whole rows, to be narrowed."""
    own = [agents.c.name if column.name == "agent" else column for column in reviews.c]
    return select(*own).join(agents, agents.c.key == reviews.c.agent)


def review_of(row: Row[Any]) -> Review:
    """A row of `columns()` as what it is."""
    review = Review._make(row)
    return review._replace(backfill=bool(review.backfill), late=Staleness.decode(row.late))


# what is owed


def insert(conn: Connection, agent: str, obligations: Iterable[Obligation]) -> None:
    """Add the obligations that are not there yet; those that are stay as they are."""
    key = known_key(conn, agent)
    rows = [
        {
            "agent": key,
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


def mark_due(conn: Connection, now: int, key: int | None = None) -> int:
    """What waited and has settled is due, a thousand rows at once or the one of that key; how many.

    What another process is promoting is left to it.
    """
    ripe = select(reviews.c.key).where(IS_WAITING, reviews.c.due_at <= now).order_by(reviews.c.due_at)
    ripe = ripe if key is None else ripe.where(reviews.c.key == key)
    free = conn.execute(ripe.limit(_AT_ONCE).with_for_update(skip_locked=True)).scalars().all()
    if not free:
        return 0
    chosen = within_keys(conn, reviews.c.key, free)
    return conn.execute(update(reviews).where(chosen).values(state="due", reason=None)).rowcount


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


def newer_than(conn: Connection, review: Review, now: int) -> bool:
    """Whether a later review of the agent and kind is due, being made or made."""
    query = select(reviews.c.key).where(
        reviews.c.agent == key_query(review.agent),
        reviews.c.kind == review.kind,
        reviews.c.period_end > review.period_end,
        reviews.c.due_at <= now,
        reviews.c.state.not_in(("skipped", "superseded")),
    )
    return conn.execute(query.limit(1)).one_or_none() is not None


# late data


def mark_stale(conn: Connection, agent: str, first: int, last: int, arrived: Staleness) -> None:
    """Facts or marks of these instants have changed: an agent's reviews whose period they touch are looked at again.

    Those not yet made will read them anyway.
    """
    mine = reviews.c.agent == key_query(agent)
    touched = [mine, reviews.c.period_start <= last, reviews.c.period_end >= first]
    # one that waits for another try may have its figures already
    tried = and_(reviews.c.state == "due", reviews.c.attempts > 0)
    is_begun = or_(reviews.c.state.in_(("running", "done", "parked")), tried)
    begun = select(reviews.c.key).where(is_begun, *touched)
    in_order = begun.order_by(
        reviews.c.key
    ).with_for_update()  # as those do that finish many: nobody deadlocks
    conn.execute(
        update(reviews).where(reviews.c.key.in_(in_order)).values(late=stale(reviews.c.late, arrived))
    )


def look_again(conn: Connection, keys: Collection[int]) -> None:
    """What these reviews say rests on facts outside their periods, and those have changed."""
    if keys:
        again = stale(reviews.c.late, Staleness(marks=True))
        conn.execute(
            update(reviews).where(reviews.c.key.in_(keys), reviews.c.state == "done").values(late=again)
        )


def facts_digest(conn: Connection, review: Review) -> str:
    """A digest of the facts inside a review's period (a position's: that name it), whatever order they came in."""
    own: ColumnElement[bool] = (
        events.c.position == review.subject
        if KINDS[review.kind].scope == "position"
        else and_(events.c.at >= review.period_start, events.c.at < review.period_end)
    )
    query = select(events.c.type, events.c.id, events.c.at, events.c.body)
    digest = hashlib.sha256()
    rows = conn.execute(query.where(events.c.agent == key_query(review.agent), own))
    for row in sorted(tuple(row) for row in rows):
        digest.update(repr(row).encode())
    return digest.hexdigest()


# for people


def by_id(conn: Connection, id: str, agent: str | None = None) -> Review:  # noqa: A002  the field's name
    """The review of that id, or only if it is this agent's; `UnknownError` when there is none.

    An id from before its agent was renamed leads to the review, too.
    """
    name = id.replace("\0", "")
    query = columns().order_by(reviews.c.period_start.desc()).limit(1)
    if agent is not None:
        query = query.where(agents.c.name == name_of(agent))
    row = conn.execute(query.where(reviews.c.id == name)).one_or_none()
    if row is None and (renamed := present_id(conn, name)) is not None:
        row = conn.execute(query.where(reviews.c.id == renamed)).one_or_none()
    if row is None:
        raise UnknownError(f"there is no review {id!r}; `retro reviews` lists them")
    return review_of(row)


def by_key(conn: Connection, key: int) -> Review:
    """The review of that key, which is there."""
    return review_of(conn.execute(columns().where(reviews.c.key == key)).one())


def listed(conn: Connection, agent: str | None = None) -> list[Review]:
    """Every review, or one agent's, in order of its period's end."""
    query = columns()
    if agent is not None:
        query = query.where(agents.c.name == name_of(agent))
    order = (reviews.c.period_end, agents.c.name, reviews.c.kind, reviews.c.subject)
    return [review_of(row) for row in conn.execute(query.order_by(*order))]


def revision_of(conn: Connection, review: int, revision: int | None = None) -> StoredRevision | None:
    """A revision as far as it is written, or (None) the newest that is done; None when there is none."""
    own = documents.c
    query = select(own.revision, own.digest, own.numbers, own.document, own.done_at, own.purged_at).where(
        own.review == review
    )
    query = query.where(own.done_at.is_not(None) if revision is None else own.revision == revision)
    row = conn.execute(query.order_by(own.revision.desc()).limit(1)).one_or_none()
    return None if row is None else StoredRevision._make(row)


def newest_done(conn: Connection) -> int | None:
    """When the review that was finished last was finished."""
    done_at: int | None = conn.execute(select(func.max(reviews.c.done_at))).scalar_one()
    return done_at
