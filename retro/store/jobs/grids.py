"""An agent's reviews on the calendar by the grid they lie on: what the ledger has of it, and what an old grid leaves.

The reviews of days, weeks and epochs bear in `subject` the mark of their grid: nothing on an agent's first, then `g2`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from sqlalchemy import and_, case, func, or_, select, update

from retro.kinds import CALENDAR, DEATH, EPOCH, KINDS
from retro.store.facts.agents import key_query
from retro.store.jobs.tables import documents, reviews

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement, Connection

    from retro.store.facts.agents import Grid

__all__ = [
    "StoredGrid",
    "calendar_key",
    "mark_of",
    "period_key",
    "spans",
    "starts",
    "stored_grid",
    "supersede",
]


class StoredGrid(NamedTuple):
    """What stored reviews say of the grid they were made on: a zone, the span of an epoch; None where none says it."""

    time_zone: str | None
    epoch: tuple[int, int] | None


class _Zoned(msgspec.Struct):
    """Of a stored report its zone alone."""

    time_zone: str | None = None


def mark_of(grid: Grid | None, kind: str) -> str:
    """What the reviews of a kind of the calendar bear as subject on a grid."""
    return "" if grid is None else grid.mark(epochs=KINDS[kind].from_birth)


def period_key(key: str, mark: str) -> str:
    """What ends the id of a period's review: its key on the calendar, and the mark of its grid where there is one."""
    return f"{key}.{mark}" if mark else key


def calendar_key(key: str) -> str:
    """The key of a period on the calendar, whatever its grid."""
    return key.partition(".")[0]


def spans(conn: Connection, agent: str, marks: Mapping[str, str]) -> dict[str, tuple[int, int, int]]:
    """Kind -> (rows, start of the first, start of the last) of an agent's reviews; `marks`: the grid of each kind."""
    starts = reviews.c.period_start
    query = (
        select(reviews.c.kind, func.count(), func.min(starts), func.max(starts))
        .where(reviews.c.agent == key_query(agent), or_(False, *_on(marks)))
        .group_by(reviews.c.kind)
    )
    return {kind: (count, first, last) for kind, count, first, last in conn.execute(query)}


def starts(conn: Connection, agent: str, kind: str, mark: str) -> frozenset[int]:
    """When the periods begin of which an agent has a review of a kind on a grid."""
    columns = reviews.c
    mine = and_(columns.agent == key_query(agent), columns.kind == kind, columns.subject == mark)
    return frozenset(conn.execute(select(columns.period_start).where(mine)).scalars())


def _on(marks: Mapping[str, str]) -> list[ColumnElement[bool]]:
    return [and_(reviews.c.kind == kind, reviews.c.subject == mark) for kind, mark in marks.items()]


def stored_grid(conn: Connection, agent: str) -> StoredGrid:
    """The grid of the reviews that were made last: the one in force when an older version of this program ended."""
    mine = reviews.c.agent == key_query(agent)
    newest = (
        select(documents.c.document)
        .join(reviews, reviews.c.key == documents.c.review)
        .where(mine, reviews.c.kind.in_(CALENDAR))
        .where(documents.c.done_at.is_not(None), documents.c.document.is_not(None))
        .order_by(documents.c.done_at.desc(), reviews.c.key.desc())
        .limit(1)
    )
    document = conn.execute(newest).scalar_one_or_none()
    epochs = select(reviews.c.period_start, reviews.c.period_end).where(mine, reviews.c.kind == EPOCH.name)
    epoch = conn.execute(epochs.order_by(reviews.c.key.desc()).limit(1)).one_or_none()
    # the last epoch of a life is as short as the life
    died = conn.execute(select(reviews.c.key).where(mine, reviews.c.kind == DEATH.name).limit(1)).first()
    return StoredGrid(
        None if document is None else msgspec.json.decode(document, type=_Zoned).time_zone,
        None if epoch is None or died is not None else (epoch.period_start, epoch.period_end),
    )


def supersede(conn: Connection, agent: str, marks: Mapping[str, str], reason: str) -> int:
    """Let the reviews of these kinds be history that are not on these grids; how many were done.

    Those that are done stay as they were written and are not looked at again; those nobody has begun are passed over.
    """
    columns = reviews.c
    old = and_(columns.agent == key_query(agent), columns.kind.in_(marks), ~or_(False, *_on(marks)))
    state = case((columns.state == "done", "superseded"), else_="skipped")
    ended = update(reviews).where(old, columns.state.in_(("done", "waiting", "due", "parked")))
    done = conn.execute(select(func.count()).select_from(reviews).where(old, columns.state == "done"))
    count: int = done.scalar_one()
    conn.execute(ended.values(state=state, reason=reason, late=0, again_at=None))
    return count
