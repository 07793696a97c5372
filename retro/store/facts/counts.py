"""How many facts there are, without reading one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from retro.model import FACT_TYPES
from retro.store.facts.agents import key_query
from retro.store.schema import events, within

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

__all__ = ["of_positions", "since"]


def since(conn: Connection, agent: str, at: int, limit: int) -> int:
    """The facts from an instant on; counted no further than `limit`."""
    of_time = (events.c.agent == key_query(agent)) & events.c.type.in_(FACT_TYPES) & (events.c.at >= at)
    counted = select(events.c.seq).where(of_time).limit(limit).subquery()
    return int(conn.execute(select(func.count()).select_from(counted)).scalar_one())


def of_positions(conn: Connection, agent: str, positions: Iterable[str]) -> int:
    """The facts that name one of these positions."""
    named = (events.c.agent == key_query(agent)) & within(conn, events.c.position, positions)
    return int(conn.execute(select(func.count()).where(named)).scalar_one())
