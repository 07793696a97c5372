"""What a person decides of a review by its id: to let it be made after all, to pass it over, to have it made again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import or_, select, update

from retro.errors import UsageError
from retro.store.facts.agents import key_query
from retro.store.jobs.reviews import by_id, mark_due
from retro.store.jobs.staleness import Staleness, stale
from retro.store.jobs.tables import documents, reviews

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.store.jobs.reviews import Review

__all__ = ["remake", "remake_since", "retry", "skip"]

_TOUCHED = Staleness(facts=True, marks=True)


def retry(conn: Connection, id: str, now: int) -> Review:  # noqa: A002  the field's name
    """Let a parked or skipped review be made after all; `UsageError` when it is neither."""
    review = by_id(conn, id)
    changed = conn.execute(
        update(reviews)
        .where(
            reviews.c.key == review.key,
            or_(reviews.c.state.in_(("parked", "skipped")), reviews.c.not_before > now),
        )
        .where(reviews.c.state.in_(("parked", "skipped", "due")))
        .values(state="waiting", attempts=0, not_before=0, reason=None)
    ).rowcount
    if not changed:
        raise UsageError(
            f"{review.id} is {review.state}; only a parked, skipped or delayed review can be retried"
        )
    mark_due(conn, now, review.key)
    return by_id(conn, id)


def skip(conn: Connection, id: str, why: str) -> Review:  # noqa: A002  the field's name
    """Pass a review over for good; `UsageError` when it is done or somebody is at it."""
    review = by_id(conn, id)
    changed = conn.execute(
        update(reviews)
        .where(reviews.c.key == review.key, reviews.c.state.in_(("waiting", "due", "parked")))
        .values(state="skipped", reason=why)
    ).rowcount
    if not changed:
        raise UsageError(
            f"{review.id} is {review.state}; only one that waits, is due or parked can be skipped"
        )
    return by_id(conn, id)


def remake(conn: Connection, id: str) -> Review:  # noqa: A002  the field's name
    """Let a review that is done be made again at the next knock: a new revision, whether or not a figure moves.

    The stored text stays as it was written. `UsageError` where the review is not done.
    """
    review = by_id(conn, id)
    changed = conn.execute(
        update(reviews)
        .where(reviews.c.key == review.key, reviews.c.state == "done")
        .values(late=stale(reviews.c.late, _TOUCHED), facts=None)
    ).rowcount
    if not changed:
        raise UsageError(f"{review.id} is {review.state}; only a review that is done can be made again")
    # without the digest of its figures the new ones count as others, although none may differ: the words do
    newest = (documents.c.review == review.key) & (documents.c.revision == review.revision)
    conn.execute(update(documents).where(newest).values(digest=""))
    return by_id(conn, review.id)


def remake_since(conn: Connection, since: int, agent: str | None = None) -> int:
    """Let every review that is done and whose period ends after an instant be looked at again; how many.

    Those of which a figure has changed get a new revision, the others stay.
    """
    chosen = [reviews.c.state == "done", reviews.c.period_end > since]
    if agent is not None:
        chosen.append(reviews.c.agent == key_query(agent))
    in_order = select(reviews.c.key).where(*chosen).order_by(reviews.c.key).with_for_update()
    values = {"late": stale(reviews.c.late, _TOUCHED), "facts": None}
    return conn.execute(update(reviews).where(reviews.c.key.in_(in_order)).values(values)).rowcount
