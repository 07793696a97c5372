"""The finished reviews of an agent's calendar: which stretches of its life are told of, and their stored texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from sqlalchemy import and_, select

from retro.kinds import CALENDAR
from retro.store.facts.agents import key_query
from retro.store.jobs.tables import documents, reviews

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["ToldPeriod", "ToldSilence", "silences_told", "told_periods"]


class ToldPeriod(NamedTuple):
    """A period of the calendar that a finished review tells of, by the key of its row."""

    review: int
    start: int
    end: int


class ToldSilence(NamedTuple):
    """A finished review by the key of its row, its period, and since when it says that the agent is silent (RFC 3339)."""

    key: int
    start: int
    end: int
    silent_since: str | None


class _Silent(msgspec.Struct):
    """Of a stored report what it says of silence alone."""

    silent_since: str | None = None


def silences_told(conn: Connection, agent: str, kind: str, after: int, until: int) -> list[ToldSilence]:
    """What the newest finished revisions of a kind say of silence, of periods that ended in (after, until]."""
    c = reviews.c
    query = (
        select(c.key, c.period_start, c.period_end, documents.c.document)
        .join(documents, and_(documents.c.review == c.key, documents.c.revision == c.revision))
        .where(
            c.agent == key_query(agent),
            c.kind == kind,
            c.state == "done",
            c.period_end > after,
            c.period_end <= until,
            documents.c.done_at.is_not(None),
        )
    )
    return [
        ToldSilence(key, start, end, msgspec.json.decode(text, type=_Silent).silent_since)
        for key, start, end, text in conn.execute(query.order_by(c.period_end, c.key))
    ]


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
