"""What an agent's closed positions made day by day: sums of rows of the book, so that no screen adds up a life.

Sums are exact before they are rounded once, so that they hang neither on the order of rows nor on how facts were read.
"""

from __future__ import annotations

from datetime import date
from math import fsum
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import BigInteger, Column, Double, Table, case, delete, func, insert, select

from retro.periods import day_of, midnight
from retro.store.books.positions import book_positions, is_counted
from retro.store.facts.agents import key_query, known_key
from retro.store.schema import metadata, reference, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from zoneinfo import ZoneInfo

    from sqlalchemy import Connection

__all__ = [
    "DayTotal",
    "closed_in_all",
    "closing_days",
    "forget_totals",
    "settle_totals",
    "total_columns",
    "totals_of",
]

book_totals: Final = Table(
    "book_totals",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("day", BigInteger, primary_key=True, autoincrement=False),
    Column("closed", BigInteger, nullable=False),
    Column("counted", BigInteger, nullable=False),
    Column("wins", BigInteger, nullable=False),
    Column("pnl", Double, nullable=False),
    Column("vs_inaction", Double, nullable=False),
)
"""One row a day of the agent's zone on which it closed anything, by the day's number (`date.toordinal`)."""


class DayTotal(NamedTuple):
    """A day's closed positions, in the agent's currency: of `counted` ones a result is known and believed."""

    day: int
    closed: int
    counted: int
    wins: int
    pnl: float
    vs_inaction: float


def total_columns() -> list[str]:
    """What a row holds: a book that was settled before there was a column is settled anew."""
    return [column.name for column in book_totals.c]


def closing_days(conn: Connection, agent: str, zone: ZoneInfo, names: Iterable[str]) -> set[date]:
    """The days on which those of these positions were closed that have a row."""
    c = book_positions.c
    query = select(c.closed_at).where(
        c.agent == key_query(agent), c.closed_at.is_not(None), within(conn, c.position, names)
    )
    return {day_of(at, zone) for at in conn.execute(query).scalars()}


def settle_totals(conn: Connection, agent: str, zone: ZoneInfo, days: Iterable[date]) -> None:
    """Add up these days anew, from the rows as they stand now."""
    key = known_key(conn, agent)
    for first, last in _runs(sorted({day.toordinal() for day in days})):
        own = (book_totals.c.agent == key, book_totals.c.day >= first, book_totals.c.day <= last)
        conn.execute(delete(book_totals).where(*own))
        rows = [{"agent": key, **total._asdict()} for total in _added_up(conn, agent, zone, first, last)]
        if rows:
            conn.execute(insert(book_totals), rows)


def _runs(days: list[int]) -> Iterator[tuple[int, int]]:
    """Days that follow one another, as (first, last)."""
    first = None
    for i, day in enumerate(days):
        first = day if first is None else first
        if i + 1 == len(days) or days[i + 1] != day + 1:
            yield first, day
            first = None


def _added_up(conn: Connection, agent: str, zone: ZoneInfo, first: int, last: int) -> list[DayTotal]:
    c = book_positions.c
    columns = (case((is_counted(), c[name])) for name in ("final_pnl", "vs_inaction"))
    query = select(c.closed_at, *columns).where(
        c.agent == key_query(agent),
        c.closed_at >= midnight(date.fromordinal(first), zone),
        c.closed_at < midnight(date.fromordinal(last + 1), zone),
    )
    by_day: dict[int, list[tuple[float | None, float | None]]] = {}
    for closed_at, pnl, vs_inaction in conn.execute(query):
        by_day.setdefault(day_of(closed_at, zone).toordinal(), []).append((pnl, vs_inaction))
    return [_total(day, lives) for day, lives in sorted(by_day.items())]


def _total(day: int, lives: list[tuple[float | None, float | None]]) -> DayTotal:
    results = [pnl for pnl, _ in lives if pnl is not None]
    against = [gap for _, gap in lives if gap is not None]
    wins = sum(pnl > 0 for pnl in results)
    return DayTotal(day, len(lives), len(results), wins, fsum(results), fsum(against))


def totals_of(conn: Connection, agent: str, since: date | None = None) -> list[DayTotal]:
    """An agent's days in order, from one on (None: all)."""
    c = book_totals.c
    query = select(c.day, c.closed, c.counted, c.wins, c.pnl, c.vs_inaction).where(
        c.agent == key_query(agent)
    )
    if since is not None:
        query = query.where(c.day >= since.toordinal())
    return list(map(DayTotal._make, conn.execute(query.order_by(c.day)).all()))


def closed_in_all(conn: Connection, agent: str) -> int | None:
    """How many positions an agent closed on all days; None where no day has a row, as in a book of before there were any."""
    query = select(func.sum(book_totals.c.closed)).where(book_totals.c.agent == key_query(agent))
    closed = conn.execute(query).scalar_one()
    return None if closed is None else int(closed)


def forget_totals(conn: Connection, agent: str) -> None:
    """Drop every day's row."""
    conn.execute(delete(book_totals).where(book_totals.c.agent == key_query(agent)))
