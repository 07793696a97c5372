"""How far an agent's own story reaches, as of an instant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import func, select

from retro.model import FACT_TYPES
from retro.periods import DAY
from retro.store.facts import damage
from retro.store.facts.agents import key_query
from retro.store.facts.blocks import instants as instants_of
from retro.store.schema import events, mark_blocks, name_of
from retro.store.schema import series as mark_series

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.store.facts.agents import Agent

__all__ = ["last_told"]


def last_told(conn: Connection, agent: Agent, until: int) -> int:
    """The agent's last fact or own mark at or before an instant; 0 where there is none."""
    if agent.last_at is None or agent.last_at <= until:
        return agent.last_at or 0
    own = events.c.agent == key_query(agent.name)  # type by type: each is one step into the index
    newest = [
        select(func.max(events.c.at))
        .where(own, events.c.type == kind, events.c.at <= until)
        .scalar_subquery()
        for kind in FACT_TYPES
    ]
    instants = [at for at in conn.execute(select(*newest)).one() if at is not None]
    return max([*instants, *_last_mark(conn, agent.name, until)], default=0)


def _last_mark(conn: Connection, agent: str, until: int) -> list[int]:
    """The last of an agent's own marks at or before an instant; nothing where there is none."""
    columns, c = mark_series.c, mark_blocks.c
    own = (columns.owner == name_of(agent)) & (columns.first_at <= until)
    limit = until // DAY
    for _ in range(2):  # all marks of the instant's own day may come after it
        of_one = select(func.max(c.day)).where(c.series == columns.key, c.day <= limit).scalar_subquery()
        day = conn.execute(select(func.max(of_one)).where(own)).scalar()
        if day is None:
            break
        of_day = c.series.in_(select(columns.key).where(own)) & (c.day == day)
        instants: list[int] = []
        for packed in conn.execute(select(c.at_ms, c.micros).where(of_day)):
            try:
                stamps = instants_of(*packed)
            except ValueError as error:
                raise next(damage.blocks(conn, of_day), error) from error
            inside = int(np.searchsorted(stamps, until, "right"))
            instants += [int(stamps[inside - 1])] if inside else []
        if instants:
            return [max(instants)]
        limit = day - 1
    return []
