"""Who works on what: reviews are taken by one conditional update, held by a lease, and every step is fenced.

A worker that lost its lease, because it stalled or because it was taken for dead, finds its fence shut: nothing it
writes afterwards reaches the ledger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import and_, case, delete, func, insert, or_, select, update

from retro.errors import LostClaimError
from retro.store.jobs.reviews import IS_LATE, IS_OPEN, Review, columns, review_of
from retro.store.jobs.tables import documents, reviews
from retro.store.schema import ingest_quiet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

__all__ = [
    "claim",
    "clamp_leases",
    "fail",
    "finish",
    "has_expired_leases",
    "has_future_leases",
    "keep_document",
    "keep_numbers",
    "leases_of_others",
    "lock",
    "release",
    "renew",
    "rescue",
    "stale_reasons_in_progress",
]

_BOTH: Final = 3
"""The bits of `late`; those that a worker looks at stand two places up."""


def claim(conn: Connection, owner: str, now: int, lease: int, *, limit: int = 1) -> list[Review]:
    """Take up to `limit` reviews that are due, or done and to be looked at again, oldest first.

    More than one only where all are backfill of one agent, so that years of history come in few transactions.
    """
    ingest_quiet(conn)
    ripe = or_(
        and_(reviews.c.state == "due", reviews.c.not_before <= now),
        and_(
            reviews.c.state == "done",
            or_(reviews.c.late != 0, func.coalesce(reviews.c.again_at <= now, False)),
        ),
    )
    query = columns().where(reviews.c.key.in_(_candidates(now)), ripe)
    query = query.order_by(reviews.c.period_end, reviews.c.kind, reviews.c.subject, reviews.c.key)
    batch = [
        review_of(row)
        for row in conn.execute(query.limit(limit).with_for_update(skip_locked=True, of=reviews))
    ]
    if len(batch) > 1:
        first = batch[0]
        alike = [
            review
            for review in batch
            if review.backfill and review.agent == first.agent and review.state == "due"
        ]
        batch = alike if first in alike else [first]
    changed = conn.execute(
        update(reviews)
        .where(reviews.c.key.in_([review.key for review in batch]), ripe)
        .values(
            state="running",
            owner=owner,
            leased_until=now + lease,
            attempts=case((reviews.c.state == "done", 1), else_=reviews.c.attempts + 1),
            late=_looking(),
        )
        .returning(reviews.c.key, reviews.c.attempts, reviews.c.late)
    )
    claimed = {row.key: (row.attempts, row.late) for row in changed}
    return [
        review._replace(
            state="running",
            owner=owner,
            leased_until=now + lease,
            attempts=claimed[review.key][0],
            late=claimed[review.key][1],
        )
        for review in batch
        if review.key in claimed
    ]


def _candidates(now: int) -> ColumnElement[bool]:
    """Keys by the partial indexes alone, so that ten thousand reviews that are done cost nothing."""
    open_ = select(reviews.c.key).where(IS_OPEN, reviews.c.state == "due")
    late = select(reviews.c.key).where(IS_LATE)
    again = select(reviews.c.key).where(reviews.c.again_at.is_not(None), reviews.c.again_at <= now)
    return open_.union_all(late, again)  # type: ignore[return-value]  # a query is a set to look into


def _looking() -> ColumnElement[int]:
    late = reviews.c.late
    return late.bitwise_or(late.bitwise_and(_BOTH).bitwise_lshift(2)).bitwise_and(_BOTH << 2)


def stale_reasons_in_progress(review: Review) -> int:
    """The bits of what arrived late and is being looked at."""
    return review.late >> 2 & _BOTH


def _fence(review: Review) -> ColumnElement[bool]:
    return and_(
        reviews.c.key == review.key,
        reviews.c.state == "running",
        reviews.c.owner == review.owner,
        reviews.c.attempts == review.attempts,
    )


def _through(conn: Connection, review: Review, **values: object) -> None:
    """Change a row that is still ours; `LostClaimError` when it is not."""
    if conn.execute(update(reviews).where(_fence(review)).values(values)).rowcount != 1:
        raise LostClaimError(f"{review.id} was taken over by another process")


def renew(conn: Connection, claimed_reviews: Sequence[Review], until: int) -> int:
    """Prolong the leases of what is still ours; how many that are."""
    return sum(
        conn.execute(update(reviews).where(_fence(review)).values(leased_until=until)).rowcount
        for review in sorted(claimed_reviews, key=lambda review: review.key)
    )


def lock(conn: Connection, claimed_reviews: Sequence[Review]) -> None:
    """Keep the rows of several reviews to this transaction, in the order in which all do, so that nobody deadlocks."""
    mine = select(reviews.c.key).where(reviews.c.key.in_([review.key for review in claimed_reviews]))
    conn.execute(mine.order_by(reviews.c.key).with_for_update())


def keep_numbers(
    conn: Connection, review: Review, *, revision: int, facts: str, digest: str, text: str
) -> Review:
    """The first checkpoint: the figures of a revision, before anybody is asked for words."""
    _through(conn, review, revision=revision, facts=facts)
    mine = and_(documents.c.review == review.key, documents.c.revision == revision)
    conn.execute(delete(documents).where(mine))
    row = {"review": review.key, "revision": revision, "digest": digest, "numbers": text}
    conn.execute(insert(documents).values(row))
    return review._replace(revision=revision, facts=facts)


def keep_document(conn: Connection, review: Review, text: str) -> None:
    """The second checkpoint: figures and words, as they will be shown."""
    _through(conn, review, revision=review.revision)
    mine = and_(documents.c.review == review.key, documents.c.revision == review.revision)
    conn.execute(update(documents).where(mine).values(document=text, numbers=None))


def finish(conn: Connection, review: Review, now: int, *, facts: str | None = None) -> None:
    """It is done. What arrived while it was made stays noted."""
    again = case((reviews.c.again_at <= now, None), else_=reviews.c.again_at)
    _through(
        conn,
        review,
        state="done",
        owner=None,
        leased_until=None,
        attempts=0,
        not_before=0,
        late=reviews.c.late.bitwise_and(_BOTH),
        again_at=again,
        reason=None,
        done_at=now,
        **({} if facts is None else {"facts": facts}),
    )
    mine = and_(documents.c.review == review.key, documents.c.revision == review.revision)
    conn.execute(update(documents).where(mine, documents.c.done_at.is_(None)).values(done_at=now))


def release(conn: Connection, review: Review) -> None:
    """Give it back as it was taken: this attempt does not count."""
    _through(
        conn, review, state="due", owner=None, leased_until=None, attempts=review.attempts - 1, not_before=0
    )


def fail(conn: Connection, review: Review, reason: str, *, not_before: int | None) -> None:
    """It went wrong: again at `not_before`, or (None) never without a person."""
    values = {"state": "parked"} if not_before is None else {"state": "due", "not_before": not_before}
    _through(conn, review, owner=None, leased_until=None, reason=reason, **values)


def rescue(conn: Connection, now: int, max_attempts: int, *, alone: bool) -> list[Review]:
    """Free what a dead process held: leases that ran out, or, when we are alone, every one. Gives those rows.

    What has killed its process too often is parked.
    """
    gone = reviews.c.state == "running"
    if not alone:
        gone = and_(gone, reviews.c.leased_until <= now)
    query = columns().where(reviews.c.key.in_(select(reviews.c.key).where(IS_OPEN, gone)))
    orphans = [review_of(row) for row in conn.execute(query.with_for_update(skip_locked=True, of=reviews))]
    spent = [review.key for review in orphans if review.attempts >= max_attempts]
    died = f"the process that made it died {max_attempts} times"
    for keys, values in (
        (spent, {"state": "parked", "reason": died}),
        ([review.key for review in orphans if review.key not in spent], {"state": "due", "not_before": now}),
    ):
        if keys:
            freed = update(reviews).where(reviews.c.key.in_(keys), gone)
            conn.execute(freed.values(owner=None, leased_until=None, **values))
    keys = [review.key for review in orphans]
    return [review_of(row) for row in conn.execute(columns().where(reviews.c.key.in_(keys)))] if keys else []


def has_expired_leases(conn: Connection, now: int, *, alone: bool) -> bool:
    """Whether a dead process holds anything: a lease ran out, or we are alone and somebody holds one."""
    gone = reviews.c.state == "running"
    query = select(reviews.c.key).where(IS_OPEN, gone if alone else and_(gone, reviews.c.leased_until <= now))
    return conn.execute(query.limit(1)).one_or_none() is not None


def leases_of_others(conn: Connection, owner: str) -> dict[int, int]:
    """Key -> end of the lease, of everything that other processes hold."""
    query = select(reviews.c.key, reviews.c.leased_until).where(
        IS_OPEN, reviews.c.state == "running", reviews.c.owner != owner
    )
    return {row.key: row.leased_until for row in conn.execute(query)}


def has_future_leases(conn: Connection, now: int, lease: int, longest: int) -> bool:
    """Whether a lease or a back-off reaches further than it could from now: the clock went back."""
    query = select(reviews.c.key).where(IS_OPEN, _ahead(now, lease, longest))
    return conn.execute(query.limit(1)).one_or_none() is not None


def clamp_leases(conn: Connection, now: int, lease: int, longest: int) -> int:
    """After the clock went back: nothing is held or waits longer than it could from now; how many did."""
    leases = update(reviews).where(IS_OPEN, reviews.c.leased_until > now + 2 * lease)
    waits = update(reviews).where(IS_OPEN, reviews.c.not_before > now + longest)
    return (
        conn.execute(leases.values(leased_until=now + lease)).rowcount
        + conn.execute(waits.values(not_before=now)).rowcount
    )


def _ahead(now: int, lease: int, longest: int) -> ColumnElement[bool]:
    return or_(reviews.c.leased_until > now + 2 * lease, reviews.c.not_before > now + longest)
