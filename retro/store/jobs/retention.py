"""Texts of reviews that the owner does not keep: each leaves its row, with the digest of its figures.

A few at a time, so that nobody waits for it. A text that is on its way to somebody stays until it has arrived.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import and_, bindparam, select, update

from retro.kinds import DAILY
from retro.store.jobs.tables import documents, outbox, reviews

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

__all__ = ["purge_daily_reviews", "purge_revisions"]

_FINAL: Final = ("done", "superseded")


def purge_daily_reviews(conn: Connection, before: int, now: int, limit: int) -> int:
    """Put away daily reviews that ended and were written before an instant; how many texts, `limit` at most."""
    old = and_(reviews.c.kind == DAILY.name, reviews.c.period_end < before, documents.c.done_at < before)
    return _purge(conn, and_(old, reviews.c.state.in_(_FINAL)), now, limit)


def purge_revisions(conn: Connection, newest: int, now: int, limit: int) -> int:
    """Put away all but the `newest` revisions of every review; how many texts, `limit` at most."""
    old = and_(reviews.c.revision > newest, documents.c.revision <= reviews.c.revision - newest)
    return _purge(conn, and_(old, documents.c.done_at.is_not(None)), now, limit)


def _purge(conn: Connection, condition: ColumnElement[bool], now: int, limit: int) -> int:
    on_its_way = (
        select(outbox.c.key)
        .where(
            outbox.c.review == documents.c.review,
            outbox.c.revision == documents.c.revision,
            outbox.c.state.in_(("pending", "sending")),
        )
        .exists()
    )
    query = (
        select(documents.c.review.label("of"), documents.c.revision.label("number"))
        .join(reviews, reviews.c.key == documents.c.review)
        .where(condition, documents.c.document.is_not(None), ~on_its_way)
        .order_by(documents.c.review, documents.c.revision)
        .limit(limit)
    )
    rows = [row._asdict() for row in conn.execute(query)]
    if rows:
        mine = and_(documents.c.review == bindparam("of"), documents.c.revision == bindparam("number"))
        conn.execute(update(documents).where(mine).values(document=None, numbers=None, purged_at=now), rows)
    return len(rows)
