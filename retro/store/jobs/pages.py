"""The ledger of reviews page by page: from one of them on, whatever lies before it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, func, literal, select, tuple_

from retro.store.jobs.reviews import columns, review_of
from retro.store.jobs.tables import reviews
from retro.store.schema import agents, name_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.store.jobs.reviews import Review

__all__ = ["count_reviews", "counts_by_state", "reviews_after"]


def reviews_after(
    conn: Connection,
    place: Review | None,
    limit: int,
    *,
    agent: str | None = None,
    state: str | None = None,
    newest: bool = False,
) -> list[Review]:
    """At most `limit` of all reviews, or of one agent's or one state's, that follow one (None: from the first on).

    In order of their period's end, then of agent, kind and subject; or the other way round.
    """
    c = reviews.c
    order = (c.period_end, agents.c.name, c.kind, c.subject, c.period_start)
    query = columns().where(*_chosen(agent, state))
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


def count_reviews(conn: Connection, agent: str | None = None, state: str | None = None) -> int:
    """How many reviews there are, or of one agent, or in one state."""
    query = select(func.count()).select_from(reviews.join(agents, agents.c.key == reviews.c.agent))
    return conn.execute(query.where(*_chosen(agent, state))).scalar_one()


def _chosen(agent: str | None, state: str | None) -> list[ColumnElement[bool]]:
    return [
        *([agents.c.name == name_of(agent)] if agent is not None else []),
        *([reviews.c.state == state] if state is not None else []),
    ]


def counts_by_state(conn: Connection) -> Counter[str]:
    """How many reviews are in each state."""
    query = select(reviews.c.state, func.count()).group_by(reviews.c.state)
    return Counter(dict(map(tuple, conn.execute(query))))
