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
    columns = mark_series.c
    series = select(columns.key).where(columns.owner == name_of(agent.name), columns.first_at <= until)
    for key in conn.execute(series).scalars():
        instants += _last_mark(conn, key, until)
    return max(instants, default=0)


def _last_mark(conn: Connection, series: int, until: int) -> list[int]:
    """The last mark of a series at or before an instant, of its last two days that began by then; else nothing."""
    blocks = mark_blocks.c
    days = select(blocks.at_ms, blocks.micros).where(blocks.series == series, blocks.day <= until // DAY)
    for packed in conn.execute(days.order_by(blocks.day.desc()).limit(2)):
        try:
            stamps = instants_of(*packed)
        except ValueError as error:
            raise next(damage.blocks(conn, blocks.series == series), error) from error
        if inside := int(np.searchsorted(stamps, until, "right")):
            return [int(stamps[inside - 1])]
    return []
