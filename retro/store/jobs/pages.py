"""The ledger of reviews page by page: from one of them on, whatever lies before it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import ColumnElement, func, literal, null, select, tuple_

from retro.store.conditions import EVERY_ROW, clauses_of
from retro.store.jobs.reviews import columns, review_of
from retro.store.jobs.tables import documents, reviews
from retro.store.schema import agents, name_of, within_keys

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from retro.store.conditions import Selection
    from retro.store.jobs.reviews import Review

__all__ = ["count_reviews", "counts_by_state", "next_of_kind", "reviews_after", "revisions_by"]

_WORDS: Final = ("id", "subject", "reason")
_OWN: Final = ("id", "kind", "subject", "state", "reason", "revision", "attempts")
_OTHERS: Final = {"began": "period_start", "ended": "period_end", "made": "done_at"}
"""The columns that can be filtered by, under their own names or others."""


def reviews_after(
    conn: Connection,
    place: Review | None,
    limit: int,
    *,
    agent: str | None = None,
    state: str | None = None,
    newest: bool = False,
    selection: Selection = EVERY_ROW,
) -> list[Review]:
    """At most `limit` of all reviews, or of one agent's or one state's, that follow one (None: from the first on).

    In order of their period's end, then of agent, kind and subject; or the other way round.
    """
    c = reviews.c
    order = (c.period_end, agents.c.name, c.kind, c.subject, c.period_start)
    query = columns().where(*_chosen(conn, agent, state, selection))
    if place is not None:
        values = (place.period_end, name_of(place.agent), place.kind, place.subject, place.period_start)
        own, other = tuple_(*order), tuple_(*map(literal, values))
        # the first of them by itself too: the index on it then leads there
        query = query.where(
            *(
                (c.period_end <= place.period_end, own < other)
                if newest
                else (c.period_end >= place.period_end, own > other)
            )
        )
    ordered = query.order_by(*(column.desc() for column in order) if newest else order)
    return [review_of(row) for row in conn.execute(ordered.limit(limit))]


def next_of_kind(conn: Connection, review: Review, *, earlier: bool = False) -> Review | None:
    """The review of its agent and kind that is done and ends next after it, or before it."""
    c = reviews.c
    beyond = c.period_end < review.period_end if earlier else c.period_end > review.period_end
    query = columns().where(
        agents.c.name == name_of(review.agent), c.state == "done", c.kind == review.kind, beyond
    )
    order = (c.period_end, c.subject)
    query = query.order_by(*(column.desc() for column in order) if earlier else order).limit(1)
    row = conn.execute(query).first()
    return None if row is None else review_of(row)


def count_reviews(
    conn: Connection, agent: str | None = None, state: str | None = None, selection: Selection = EVERY_ROW
) -> int:
    """How many reviews there are, or of one agent, or in one state, or selected."""
    query = select(func.count()).select_from(reviews.join(agents, agents.c.key == reviews.c.agent))
    return conn.execute(query.where(*_chosen(conn, agent, state, selection))).scalar_one()


def _chosen(
    conn: Connection, agent: str | None, state: str | None, selection: Selection
) -> list[ColumnElement[bool]]:
    named = _columns(selection.as_of)
    return [
        *([named["agent"] == name_of(agent)] if agent is not None else []),
        *([named["state"] == state] if state is not None else []),
        *([] if selection.as_of is None else [named["revision"].is_not(None)]),
        *clauses_of(conn, selection.where, named, _WORDS),
    ]


def _columns(as_of: int | None) -> dict[str, ColumnElement[Any]]:
    """The expression of each column that can be filtered by; as of an instant, what was made by then."""
    c, own = reviews.c, documents.c
    columns: dict[str, ColumnElement[Any]] = {
        **{name: c[name] for name in _OWN},
        **{name: c[column] for name, column in _OTHERS.items()},
        "agent": agents.c.name,
    }
    if as_of is not None:
        by_then = own.review == reviews.c.key, own.done_at <= as_of
        for name, newest in (("revision", func.max(own.revision)), ("made", func.max(own.done_at))):
            columns[name] = select(newest).where(*by_then).correlate(reviews).scalar_subquery()
        columns |= {"state": literal("done"), "reason": null()}
    return columns


def revisions_by(conn: Connection, keys: Collection[int], as_of: int) -> dict[int, tuple[int, int]]:
    """The newest revision of each of these reviews that was finished by an instant, and when it was."""
    own = documents.c
    query = select(own.review, func.max(own.revision), func.max(own.done_at)).group_by(own.review)
    rows = conn.execute(query.where(within_keys(conn, own.review, keys), own.done_at <= as_of))
    return {review: (revision, done_at) for review, revision, done_at in rows}


def counts_by_state(conn: Connection) -> Counter[str]:
    """How many reviews are in each state."""
    query = select(reviews.c.state, func.count()).group_by(reviews.c.state)
    return Counter(dict(map(tuple, conn.execute(query))))
