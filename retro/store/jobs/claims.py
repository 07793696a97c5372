"""Who works on what: reviews are taken by one conditional update, held by a lease, and every step is fenced.

A worker that lost its lease, because it stalled or because it was taken for dead, finds its fence shut: nothing it
writes afterwards reaches the ledger. The lease itself is `queue.py`'s; here is what is a review's: which are ripe, the
checkpoints that outlive a crash, and what becomes of a review in the end.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import and_, bindparam, case, delete, func, insert, or_, update

from retro.errors import LostClaimError
from retro.invariant import invariant
from retro.store.jobs.queue import LeaseQueue
from retro.store.jobs.reviews import IS_AGAIN, IS_DUE, IS_LATE, Review, columns, review_of
from retro.store.jobs.staleness import Staleness, checked, checking
from retro.store.jobs.tables import documents, reviews
from retro.store.locks import in_bucket
from retro.store.schema import within_keys

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    from retro.store.jobs.queue import BucketHolder

__all__ = [
    "QUEUE",
    "Whole",
    "claim",
    "claim_done",
    "fail",
    "finish",
    "finish_wholes",
    "keep_document",
    "keep_numbers",
    "keep_twins",
    "lock",
    "release",
    "renew",
    "rescue",
]

QUEUE: Final = LeaseQueue(reviews, free_state="due", leased_state="running")
"""The leases of reviews."""


class Whole(NamedTuple):
    """A document with its words, the digest of its figures, and that of the facts in its period."""

    facts: str
    digest: str
    text: str


def claim(
    conn: Connection,
    owner: str,
    now: int,
    lease: int,
    *,
    limit: int = 1,
    singly: Collection[str] = (),
    bucket: int | None = None,
) -> list[Review]:
    """Take up to `limit` reviews that are due, or done and to be looked at again, of all agents or a bucket, oldest first.

    One of the kinds `singly` is taken by itself unless it is backfill, and so is one that was tried before.
    """
    ripe = or_(
        and_(reviews.c.state == "due", reviews.c.not_before <= now),
        and_(
            reviews.c.state == "done",
            or_(reviews.c.late != 0, func.coalesce(reviews.c.again_at <= now, False)),
        ),
    )
    oldest = [
        review_of(row) for query in _ripest(now, limit, bucket) for row in QUEUE.candidates(conn, query)
    ]
    oldest.sort(key=lambda review: (review.period_end, review.kind, review.subject, review.key))
    batch = _together(oldest[:limit], singly)
    leased = QUEUE.take(
        conn,
        [review.key for review in batch],
        ripe,
        owner,
        now + lease,
        reviews.c.attempts,
        reviews.c.late,
        # to look again is work of its own: it gets all its attempts, not those its first making left
        attempts=case((reviews.c.state == "done", 1), else_=reviews.c.attempts + 1),
        # of one that goes on from a checkpoint what arrived since is not read now: it stays, and brings the review back
        late=case((reviews.c.state == "done", checking(reviews.c.late)), else_=reviews.c.late),
    )
    return [
        review._replace(
            state="running",
            owner=owner,
            leased_until=now + lease,
            attempts=leased[review.key].attempts,
            late=Staleness.decode(leased[review.key].late),
        )
        for review in batch
        if review.key in leased
    ]


def claim_done(
    conn: Connection, wanted: Mapping[int, int], owner: str, now: int, lease: int
) -> dict[int, Review]:
    """Take reviews that are done in these revisions, by key, and of which nothing asks for another look.

    `LostClaimError` where one of them is not so any more, or another process is at it.
    """
    again = reviews.c.again_at
    untouched = and_(reviews.c.state == "done", reviews.c.late == 0, func.coalesce(again > now, True))
    query = columns().where(within_keys(conn, reviews.c.key, wanted), untouched).order_by(reviews.c.key)
    candidates = [review_of(row) for row in QUEUE.candidates(conn, query)]
    free = {review.key: review for review in candidates if review.revision == wanted[review.key]}
    leased = QUEUE.take(conn, [*free], untouched, owner, now + lease, attempts=1)
    if leased.keys() != wanted.keys():
        raise LostClaimError(f"{len(wanted) - len(leased)} reviews have changed or are being looked at")
    return {
        key: free[key]._replace(state="running", owner=owner, leased_until=now + lease, attempts=1)
        for key in leased
    }


def _ripest(now: int, limit: int, bucket: int | None) -> Iterator[Select[Any]]:
    """The first `limit` of each that can be taken, each by a partial index in its order, however many there are."""
    order = (reviews.c.period_end, reviews.c.kind, reviews.c.subject, reviews.c.key)
    mine = columns().where(*in_bucket(reviews, bucket))
    yield mine.where(IS_DUE, reviews.c.not_before <= now).order_by(*order).limit(limit)
    yield mine.where(IS_LATE).order_by(*order).limit(limit)
    again = mine.where(IS_AGAIN, reviews.c.again_at <= now, reviews.c.late == 0)
    yield again.order_by(reviews.c.again_at).limit(limit)


def _together(oldest: list[Review], singly: Collection[str]) -> list[Review]:
    """Of several reviews those that one worker may hold with the first.

    What was tried before may have killed its process: it is taken alone, so that it cannot wear out the attempts of
    others. What a model words takes minutes, in which another process could make the others.
    """
    may_share = [
        review for review in oldest if review.attempts == 0 and (review.backfill or review.kind not in singly)
    ]
    return may_share if oldest[:1] == may_share[:1] else oldest[:1]


def _fence(review: Review) -> ColumnElement[bool]:
    # with the attempt: the same process may have lost the review to another and got it back, under the same name
    return QUEUE.fence(review.key, review.owner, review.attempts)


def _through(conn: Connection, review: Review, **values: object) -> None:
    """Change a row that is still ours; `LostClaimError` when it is not."""
    if not QUEUE.write(conn, _fence(review), **values):
        raise LostClaimError(f"{review.id} was taken over by another process")


def renew(conn: Connection, claimed_reviews: Sequence[Review], until: int) -> int:
    """Prolong the leases of what is still ours; how many that are."""
    in_order = sorted(claimed_reviews, key=lambda review: review.key)
    return QUEUE.renew(conn, [_fence(review) for review in in_order], until)


def lock(conn: Connection, claimed_reviews: Sequence[Review]) -> None:
    """Keep the rows of several reviews to this transaction, in the order in which all do, so that nobody deadlocks."""
    QUEUE.lock(conn, [review.key for review in claimed_reviews])


def keep_numbers(
    conn: Connection, review: Review, *, revision: int, facts: str, digest: str, text: str
) -> Review:
    """The first checkpoint: the figures of a revision, before anybody is asked for words.

    `InvariantError` where the revision would not grow, or a finished one be overwritten: people have been sent it.
    """
    grows = review.revision <= revision <= review.revision + 1
    invariant(grows, "a revision only grows, by one", f"{review.id}: {review.revision} to {revision}")
    _through(conn, review, revision=revision, facts=facts)
    _clear(conn, [review], revision)
    row = {"review": review.key, "revision": revision, "digest": digest, "numbers": text}
    conn.execute(insert(documents).values(row))
    return review._replace(revision=revision, facts=facts)


def _clear(conn: Connection, claimed_reviews: Iterable[Review], revision: int) -> None:
    """What a killed process left of this revision of each gives way; not with it a document that somebody has read."""
    names = {review.key: review.id for review in claimed_reviews}
    mine = and_(within_keys(conn, documents.c.review, names), documents.c.revision == revision)
    replaced = delete(documents).where(mine).returning(documents.c.review, documents.c.done_at)
    read = [names[row.review] for row in conn.execute(replaced).all() if row.done_at is not None]
    invariant(not read, "a finished revision is never overwritten", f"{', '.join(read)}, revision {revision}")


def keep_document(conn: Connection, review: Review, text: str) -> None:
    """The second checkpoint: figures and words, as they will be shown."""
    # changes nothing: it asks the fence before the document changes
    _through(conn, review, revision=review.revision)
    mine = and_(documents.c.review == review.key, documents.c.revision == review.revision)
    conn.execute(update(documents).where(mine).values(document=text, numbers=None))


def finish(conn: Connection, review: Review, now: int, *, facts: str | None = None) -> None:
    """It is done. What arrived while it was made stays noted, and brings it back."""
    _through(conn, review, **_done(now), **({} if facts is None else {"facts": facts}))
    mine = and_(documents.c.review == review.key, documents.c.revision == review.revision)
    conn.execute(update(documents).where(mine, documents.c.done_at.is_(None)).values(done_at=now))


def finish_wholes(conn: Connection, wholes: Sequence[tuple[Review, Whole]], now: int) -> None:
    """They are done, and had no checkpoint: all rows and all documents in one step each, where years of history come.

    `LostClaimError` where one of them is not ours any more.
    """
    if not wholes:
        return
    fence = QUEUE.fence_of_many("of", "holder", "attempt")
    held = [
        {"of": review.key, "holder": review.owner, "attempt": review.attempts, "read": whole.facts}
        for review, whole in wholes
    ]
    done = update(reviews).where(fence).values(**_done(now), facts=bindparam("read"))
    if conn.execute(done, held).rowcount != len(held):
        raise LostClaimError(f"one of {', '.join(review.id for review, _ in wholes)} was taken over")
    for revision, some in groupby(sorted(wholes, key=_revision), key=_revision):
        _clear(conn, [review for review, _ in some], revision)
    rows = [
        {
            "review": review.key,
            "revision": review.revision,
            "digest": whole.digest,
            "document": whole.text,
            "done_at": now,
        }
        for review, whole in wholes
    ]
    conn.execute(insert(documents), rows)


def keep_twins(conn: Connection, twins: Mapping[tuple[int, int], str]) -> None:
    """What the twins of closed trades made, by the key and the revision of each one's review."""
    if not twins:
        return
    mine = and_(documents.c.review == bindparam("of"), documents.c.revision == bindparam("made"))
    rows = [{"of": review, "made": revision, "text": text} for (review, revision), text in twins.items()]
    conn.execute(update(documents).where(mine).values(twins=bindparam("text")), rows)


def _revision(whole: tuple[Review, Whole]) -> int:
    return whole[0].revision


def _done(now: int) -> dict[str, object]:
    """What a row says of itself when nobody works on it any more."""
    # an instant of another look that lies ahead stays; one that has passed is what this look was for
    again = case((reviews.c.again_at <= now, None), else_=reviews.c.again_at)
    return {
        "state": "done",
        "owner": None,
        "leased_until": None,
        "attempts": 0,
        "not_before": 0,
        "late": checked(reviews.c.late),
        "again_at": again,
        "reason": None,
        "done_at": now,
    }


def release(conn: Connection, review: Review) -> None:
    """Give it back as it was taken: this attempt does not count."""
    _through(
        conn, review, state="due", owner=None, leased_until=None, attempts=review.attempts - 1, not_before=0
    )


def fail(conn: Connection, review: Review, reason: str, *, not_before: int | None) -> None:
    """It went wrong: again at `not_before`, or (None) never without a person. The attempt counts, unlike in `release`."""
    values = {"state": "parked"} if not_before is None else {"state": "due", "not_before": not_before}
    _through(conn, review, owner=None, leased_until=None, reason=reason, **values)


def rescue(
    conn: Connection, now: int, max_attempts: int, *, alone: bool, holder: BucketHolder | None = None
) -> list[Review]:
    """Free what a dead process held: leases that ran out, or, when we are alone, every one. Gives those rows.

    `holder`: of the bucket alone that we hold, and there whatever was held with it.

    What has killed its process too often is parked: a review that exhausts the memory would do so for ever, and
    nobody would be left to note a failure.
    """
    query = columns().where(reviews.c.key.in_(QUEUE.expired_keys(now, alone=alone, holder=holder)))
    orphans = [review_of(row) for row in QUEUE.candidates(conn, query)]
    spent = [review.key for review in orphans if review.attempts >= max_attempts]
    died = f"the process that made it died {max_attempts} times"
    for keys, values in (
        (spent, {"state": "parked", "reason": died}),
        ([review.key for review in orphans if review.key not in spent], {"state": "due", "not_before": now}),
    ):
        if keys:
            dead = QUEUE.is_expired(now, alone=alone, holder=holder)
            freed = update(reviews).where(reviews.c.key.in_(keys), dead)
            conn.execute(freed.values(owner=None, leased_until=None, **values))
    keys = [review.key for review in orphans]
    return [review_of(row) for row in conn.execute(columns().where(reviews.c.key.in_(keys)))] if keys else []
