"""The agents that have told nothing since an instant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import and_, exists, func, select

from retro.model import FACT_TYPES, Death
from retro.store.schema import agents, events, name_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["silent_agents"]

_DEATH: Final = next(name for name, kind in FACT_TYPES.items() if kind is Death)


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
