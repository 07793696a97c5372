"""What new facts and marks mean for reviews: since when an agent is watched, what has to be looked at again.

What an agent tells itself is noted when it is told. Shared marks are noted of no agent then: its book has the version of
each series it was settled with, and what a later one changed is noted of an agent when its book is next asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.periods import DAY
from retro.store.books import positions, shared_marks
from retro.store.jobs import enrolments, reviews
from retro.store.jobs.staleness import Staleness

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

__all__ = [
    "invalidate_for_backtest",
    "invalidate_for_facts",
    "invalidate_for_marks",
    "invalidate_for_shared_marks",
    "united",
]


def invalidate_for_facts(conn: Connection, agent: str, first: int, last: int, now: int | None) -> None:
    """Facts of an agent between two instants are new or say something else; `now` is the clock of the ingest."""
    positions.mark_dirty(conn, agent, first)
    if now is not None:
        enrolments.enrol(conn, agent, now)
    enrolments.note_actions(conn, agent, first)
    reviews.mark_stale(conn, agent, first, last, Staleness(facts=True))


def invalidate_for_backtest(conn: Connection, lives: Iterable[str], first: int, last: int) -> None:
    """Between two instants a backtest says something else: what reviews of those who live by it say of that is too."""
    for live in lives:
        reviews.mark_stale(conn, live, first, last, Staleness(marks=True))


def invalidate_for_marks(conn: Connection, agent: str, first: int, last: int) -> None:
    """Marks that may price an agent's facts are new between two instants or say something else."""
    positions.mark_dirty(conn, agent, first)
    _look_again(conn, agent, first, last)


def invalidate_for_shared_marks(conn: Connection, agent: str, *, is_settled: bool = False) -> None:
    """What shared marks have changed since an agent's book noted them counts as told of this agent now.

    `is_settled`: the book was settled with them already.
    """
    for first, last in united(shared_marks.changes(conn, agent), apart=DAY):
        if not is_settled:
            positions.mark_dirty(conn, agent, first)
        _look_again(conn, agent, first, last)
    shared_marks.note(conn, agent)


def _look_again(conn: Connection, agent: str, first: int, last: int) -> None:
    enrolments.note_actions(conn, agent, first)
    reviews.mark_stale(conn, agent, first, last, Staleness(marks=True))


def united(spans: Iterable[tuple[int, int]], *, apart: int = 0) -> list[tuple[int, int]]:
    """Stretches of time, both ends included; those that meet, or lie no farther `apart`, are one.

    The marks of thousands of instruments mostly meet, and so do the candles of a day.
    """
    whole: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if whole and first <= whole[-1][1] + apart:
            whole[-1] = (whole[-1][0], max(last, whole[-1][1]))
        else:
            whole.append((first, last))
    return whole
