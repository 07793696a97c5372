"""What newly told facts and marks mean for reviews: since when an agent is watched, what has to be looked at again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.store.books import positions
from retro.store.jobs import enrolments, reviews
from retro.store.jobs.staleness import Staleness

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

__all__ = ["invalidate_for_facts", "invalidate_for_marks", "united"]


def invalidate_for_facts(conn: Connection, agent: str, first: int, last: int, now: int | None) -> None:
    """Facts of an agent between two instants are new or say something else; `now` is the clock of the ingest."""
    positions.mark_dirty(conn, agent, first)
    if now is not None:
        enrolments.enrol(conn, agent, now)
    enrolments.note_actions(conn, agent, first)
    reviews.mark_stale(conn, agent, first, last, Staleness(facts=True))


def invalidate_for_marks(conn: Connection, owner: str | None, first: int, last: int) -> None:
    """Marks between two instants are new or say something else; owner None: they are shared by all agents."""
    positions.mark_dirty(conn, owner, first)
    enrolments.note_actions(conn, owner, first)
    reviews.mark_stale(conn, owner, first, last, Staleness(marks=True))


def united(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches of time, both ends included, those that meet as one: the marks of thousands of instruments mostly are."""
    whole: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if whole and first <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(last, whole[-1][1]))
        else:
            whole.append((first, last))
    return whole
