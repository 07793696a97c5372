"""What evaluators saw of each epoch of a life: written when a book settles, one row an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import BigInteger, Column, Table, Text, delete, insert, select

from retro.store.facts.agents import key_query, known_key
from retro.store.schema import metadata, reference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

__all__ = ["EpochSummaries", "epoch_bounds", "evaluations_of", "replace_evaluations"]

book_evaluations: Final = Table(
    "book_evaluations",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("start_at", BigInteger, primary_key=True, autoincrement=False),
    Column("end_at", BigInteger, nullable=False),
    Column("summaries", Text, nullable=False),
)


class EpochSummaries(NamedTuple):
    """What evaluators saw of [start, end), as JSON."""

    start: int
    end: int
    summaries: str


def evaluations_of(conn: Connection, agent: str) -> list[EpochSummaries]:
    """Every epoch in which something was seen, in time order."""
    c = book_evaluations.c
    query = select(c.start_at, c.end_at, c.summaries).where(c.agent == key_query(agent))
    return [EpochSummaries(*row) for row in conn.execute(query.order_by(c.start_at))]


def epoch_bounds(conn: Connection, agent: str) -> list[tuple[int, int]]:
    """Start and end of these epochs, in time order; what was seen is not read."""
    c = book_evaluations.c
    query = select(c.start_at, c.end_at).where(c.agent == key_query(agent)).order_by(c.start_at)
    return [(start, end) for start, end in conn.execute(query)]


def replace_evaluations(
    conn: Connection, agent: str, since: int | None, epochs: Iterable[EpochSummaries]
) -> None:
    """Put these epochs in the place of those that end after an instant; None: of all."""
    c, key = book_evaluations.c, known_key(conn, agent)
    stale = c.agent == key if since is None else (c.agent == key) & (c.end_at > since)
    conn.execute(delete(book_evaluations).where(stale))
    rows = [
        {"agent": key, "start_at": epoch.start, "end_at": epoch.end, "summaries": epoch.summaries}
        for epoch in epochs
    ]
    if rows:
        conn.execute(insert(book_evaluations), rows)
