"""When agents told something, and who has told nothing since an instant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import and_, case, exists, func, select

from retro.model import FACT_TYPES, Death
from retro.store.facts.agents import key_query
from retro.store.schema import agents, events, name_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["left_open", "silent_agents", "told_at"]

_DEATH: Final = next(name for name, kind in FACT_TYPES.items() if kind is Death)
_TYPES: Final = tuple(name for name in FACT_TYPES if name != "mark")


def silent_agents(
    conn: Connection, before: int, limit: int, *, besides: str
) -> tuple[list[tuple[str, int]], int]:
    """(name, last word) of the agents whose last word came before an instant, newest first up to `limit`; how many.

    The dead are silent for good, and not counted.
    """
    dead = exists().where(events.c.agent == agents.c.key, events.c.type == _DEATH)
    quiet = and_(agents.c.last_at < before, agents.c.name != name_of(besides), ~dead)
    total: int = conn.execute(select(func.count()).select_from(agents).where(quiet)).scalar_one()
    if not total:
        return [], 0
    newest = (
        select(agents.c.name, agents.c.last_at).where(quiet).order_by(agents.c.last_at.desc(), agents.c.name)
    )
    return [(row.name, row.last_at) for row in conn.execute(newest.limit(limit))], total


def told_at(conn: Connection, agent: str, start: int, end: int) -> list[int]:
    """The distinct instants of an agent's facts with start <= at < end, ascending; marks are none."""
    query = select(events.c.at).where(
        events.c.agent == key_query(agent), events.c.type.in_(_TYPES), events.c.at >= start, events.c.at < end
    )
    return sorted({*conn.execute(query).scalars().all()})


def left_open(conn: Connection, agent: str, start: int, end: int) -> list[str]:
    """The positions with facts in [start, end) and no `exit` among them, sorted, in the form that `of_positions` takes."""
    exits = func.sum(case((events.c.type == "exit", 1), else_=0))
    query = select(events.c.position).where(
        events.c.agent == key_query(agent),
        events.c.type.in_(_TYPES),
        events.c.position.is_not(None),
        events.c.at >= start,
        events.c.at < end,
    )
    return sorted(conn.execute(query.group_by(events.c.position).having(exits == 0)).scalars().all())
