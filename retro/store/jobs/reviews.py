"""The ledger of reviews: every one that is owed has a row, from the moment its period ended.

States: `waiting` (its data are not settled yet), `due`, `running` (somebody holds it), `done`, `parked` (it failed too
often and needs a person), `skipped` (passed over, with the reason), `superseded` (done, on a grid that the agent has
left: it stays as it was written). Who works on a row and how is in `claims.py`.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, text, update

from retro.errors import UnknownError
from retro.kinds import CALENDAR, KINDS
from retro.periods import FOREVER
from retro.store.facts.agents import key_query
from retro.store.facts.departures import present_id
from retro.store.jobs.queue import any_row
from retro.store.jobs.staleness import Staleness, stale
from retro.store.jobs.tables import documents, reviews
from retro.store.locks import in_bucket
from retro.store.schema import agents, events, name_of, within_keys

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

__all__ = [
    "IS_AGAIN",
    "IS_DUE",
    "IS_LATE",
    "IS_PARKED",
    "IS_WAITING",
    "NEVER",
    "NO_FACTS",
    "Review",
    "StoredRevision",
    "any_waited",
    "by_id",
    "by_key",
    "by_keys",
    "columns",
    "digest_of_lines",
    "facts_digest",
    "listed",
    "look_again",
    "mark_due",
    "mark_stale",
    "newer_than",
    "newest_done",
    "newest_end",
    "review_of",
    "revision_of",
    "revisions_of",
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
_DOCUMENTS_AT_ONCE: Final = 5


class Review(NamedTuple):
    """A row of the ledger; `agent` by name. `late`: what arrived after its figures were read, and what of it is looked at.

    `result`, `against_nothing` and `reversal` are what revision `summed` says (`retro.store.jobs.results`).
    """

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
    result: float | None = None
    against_nothing: float | None = None
    reversal: float | None = None
    summed: int = 0

    @property
    def repeats_history(self) -> bool:
        """Whether it tells on another grid of a time that earlier reviews have told of: it is stored, and no more."""
        return self.backfill and bool(self.subject) and self.kind in CALENDAR

    @property
    def is_of_a_position(self) -> bool:
        """Whether it tells a position's life, its subject, and no stretch of time."""
        return KINDS[self.kind].scope == "position"

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

    `purged_at`: since when its text is gone, as the owner's configuration says; `twins`: of a closed trade what its twins
    made, as JSON.
    """

    revision: int
    digest: str
    numbers: str | None
    document: str | None
    done_at: int | None
    purged_at: int | None = None
    twins: str | None = None


def columns() -> Select[Any]:
    """A query for whole rows, to be narrowed."""
    own = [agents.c.name if name == "agent" else reviews.c[name] for name in Review._fields]
    return select(*own).join(agents, agents.c.key == reviews.c.agent)


def review_of(row: Sequence[Any]) -> Review:
    """A row of `columns()` as what it is."""
    review = Review._make(row)
    arrived: Any = review.late  # still as the column has it
    return review._replace(backfill=bool(review.backfill), late=Staleness.decode(arrived))


def any_waited(conn: Connection, now: int, bucket: int | None = None) -> bool:
    """Whether a review (of a bucket) waited and has settled, so that `mark_due` would change it."""
    return any_row(conn, _waited(now, bucket))


def _waited(now: int, bucket: int | None) -> Select[Any]:
    ripe = select(reviews.c.key).where(IS_WAITING, reviews.c.due_at <= now)
    return ripe.where(*in_bucket(reviews, bucket)).order_by(reviews.c.due_at)


def mark_due(conn: Connection, now: int, key: int | None = None, *, bucket: int | None = None) -> int:
    """What waited and has settled is due, a thousand rows at once (of a bucket) or the one of that key; how many.

    What another process is promoting is left to it.
    """
    ripe = _waited(now, bucket)
    ripe = ripe if key is None else ripe.where(reviews.c.key == key)
    free = conn.execute(ripe.limit(_AT_ONCE).with_for_update(skip_locked=True)).scalars().all()
    if not free:
        return 0
    chosen = within_keys(conn, reviews.c.key, free)
    return conn.execute(update(reviews).where(chosen).values(state="due", reason=None)).rowcount


def newer_than(conn: Connection, review: Review, now: int) -> bool:
    """Whether a later review of the agent and kind is due, being made or made."""
    return newest_end(conn, review.agent, review.kind, now=now) > review.period_end


def newest_end(conn: Connection, agent: str, kind: str, *, now: int) -> int:
    """Where the last period ends of which a review of the agent and kind is due, being made or made; -1: none is."""
    query = select(reviews.c.period_end).where(
        reviews.c.agent == key_query(agent),
        reviews.c.kind == kind,
        reviews.c.due_at <= now,
        reviews.c.state.not_in(("skipped", "superseded")),
    )
    newest: int | None = conn.execute(query.order_by(reviews.c.period_end.desc()).limit(1)).scalar()
    return -1 if newest is None else newest


# late data


def mark_stale(conn: Connection, agent: str, first: int, last: int, arrived: Staleness) -> None:
    """Facts or marks of these instants have changed: an agent's reviews whose period they touch are looked at again.

    Those not yet made will read them anyway: on PostgreSQL nobody claims them before this transaction has ended.
    """
    mine = reviews.c.agent == key_query(agent)
    touched = [mine, reviews.c.period_start <= last, reviews.c.period_end >= first]
    if conn.dialect.name == "postgresql":
        # in the order in which those take them that finish many: nobody deadlocks
        conn.execute(select(reviews.c.key).where(*touched).order_by(reviews.c.key).with_for_update())
    # one that waits for another try may have its figures already
    tried = and_(reviews.c.state == "due", reviews.c.attempts > 0)
    is_begun = or_(reviews.c.state.in_(("running", "done", "parked")), tried)
    conn.execute(update(reviews).where(is_begun, *touched).values(late=stale(reviews.c.late, arrived)))


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
        if review.is_of_a_position
        else and_(events.c.at >= review.period_start, events.c.at < review.period_end)
    )
    query = select(events.c.type, events.c.id, events.c.at, events.c.body)
    rows = conn.execute(query.where(events.c.agent == key_query(review.agent), own))
    return digest_of_lines(tuple(row) for row in rows)


def digest_of_lines(lines: Iterable[tuple[str, str, int, str]]) -> str:
    """The same of events that were read already: type, id, instant and the line as written of each."""
    digest = hashlib.sha256()
    for line in sorted(lines):
        digest.update(repr(line).encode())
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


def by_keys(conn: Connection, keys: Iterable[int]) -> list[Review]:
    """The reviews of those keys, in no order. Each looks up its agent: a join of a few dozen would read every agent."""
    name = select(agents.c.name).where(agents.c.key == reviews.c.agent).scalar_subquery()
    own = [name.label("agent") if field == "agent" else reviews.c[field] for field in Review._fields]
    return [
        review_of(row) for row in conn.execute(select(*own).where(within_keys(conn, reviews.c.key, keys)))
    ]


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
    query = _revisions().where(own.review == review)
    query = query.where(own.done_at.is_not(None) if revision is None else own.revision == revision)
    row = conn.execute(query.order_by(own.revision.desc()).limit(1)).one_or_none()
    return None if row is None else StoredRevision._make(row[1:])


def revisions_of(conn: Connection, wanted: Mapping[int, int]) -> Iterator[tuple[int, StoredRevision]]:
    """One revision each of some reviews, by their keys, as far as they are written; read one by one, in no order."""
    query = _revisions().where(within_keys(conn, documents.c.review, wanted))
    with conn.execute(query.execution_options(yield_per=_DOCUMENTS_AT_ONCE)) as rows:
        for review, *revision in rows:
            if revision[0] == wanted[review]:
                yield review, StoredRevision._make(revision)


def _revisions() -> Select[Any]:
    own = documents.c
    return select(
        *(own.review, own.revision, own.digest, own.numbers, own.document),
        *(own.done_at, own.purged_at, own.twins),
    )


def newest_done(conn: Connection) -> int | None:
    """When the review that was finished last was finished."""
    done_at: int | None = conn.execute(select(func.max(reviews.c.done_at))).scalar_one()
    return done_at
