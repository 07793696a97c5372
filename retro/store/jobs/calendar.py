"""The finished reviews of an agent's calendar: which stretches of its life are told of, and their stored texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select

from retro.kinds import CALENDAR
from retro.store.facts.agents import key_query
from retro.store.jobs.tables import documents, reviews

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["ToldPeriod", "told_periods"]


class ToldPeriod(NamedTuple):
    """A period of the calendar that a finished review tells of, by the key of its row."""

    review: int
    start: int
    end: int


def told_periods(conn: Connection, agent: str, until: int) -> list[ToldPeriod]:
    """The periods that ended by an instant and of which a revision is finished; those of a grid left are none."""
    c = reviews.c
    finished = select(documents.c.review).where(documents.c.review == c.key, documents.c.done_at.is_not(None))
    query = select(c.key, c.period_start, c.period_end).where(
        c.agent == key_query(agent),
        c.kind.in_(CALENDAR),
        c.state != "superseded",
        c.period_end <= until,
        finished.exists(),
    )
    return [ToldPeriod(*row) for row in conn.execute(query.order_by(c.period_start, c.period_end, c.key))]
