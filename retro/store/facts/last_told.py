"""How far an agent's own story reaches as of an instant, and when it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from retro.model import FACT_TYPES
from retro.periods import DAY
from retro.store.facts import damage
from retro.store.facts.agents import key_query
from retro.store.schema import events, mark_blocks, name_of
from retro.store.schema import series as mark_series

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sqlalchemy import ColumnElement, Connection

    from retro.store.facts.agents import Agent

__all__ = ["last_fact", "last_told", "next_told"]


def last_told(conn: Connection, agent: Agent, until: int) -> int:
    """The agent's last fact or own mark at or before an instant; 0 where there is none."""
    if agent.last_at is None or agent.last_at <= until:
        return agent.last_at or 0
    return max(last_fact(conn, agent, until), *_last_mark(conn, agent.name, until), 0)


def last_fact(conn: Connection, agent: Agent, until: int) -> int:
    """The agent's last fact at or before an instant, whatever it marked since; 0 where there is none."""
    own = events.c.agent == key_query(agent.name)  # type by type: each is one step into the index
    newest = [
        select(func.max(events.c.at))
        .where(own, events.c.type == kind, events.c.at <= until)
        .scalar_subquery()
        for kind in FACT_TYPES
    ]
    return max((at for at in conn.execute(select(*newest)).one() if at is not None), default=0)


def next_told(conn: Connection, agent: Agent, since: int) -> int | None:
    """The agent's first fact or own mark at or after an instant; None where there is none yet."""
    if agent.last_at is None or agent.last_at < since:
        return None
    own = events.c.agent == key_query(agent.name)
    first = [
        select(func.min(events.c.at))
        .where(own, events.c.type == kind, events.c.at >= since)
        .scalar_subquery()
        for kind in FACT_TYPES
    ]
    facts = [at for at in conn.execute(select(*first)).one() if at is not None]
    return min([*facts, *_first_mark(conn, agent.name, since)], default=None)


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
        stamps = _stamps(conn, of_day)
        if (stamps <= until).any():
            return [int(stamps[stamps <= until].max())]
        limit = day - 1
    return []


def _first_mark(conn: Connection, agent: str, since: int) -> list[int]:
    """The first of an agent's own marks at or after an instant; nothing where there is none."""
    columns, c = mark_series.c, mark_blocks.c
    own = (columns.owner == name_of(agent)) & (columns.last_at >= since)
    limit = since // DAY
    for _ in range(2):  # all marks of the instant's own day may come before it
        of_one = select(func.min(c.day)).where(c.series == columns.key, c.day >= limit).scalar_subquery()
        day = conn.execute(select(func.min(of_one)).where(own)).scalar()
        if day is None:
            break
        of_day = c.series.in_(select(columns.key).where(own)) & (c.day == day)
        stamps = _stamps(conn, of_day)
        if (stamps >= since).any():
            return [int(stamps[stamps >= since].min())]
        limit = day + 1
    return []


def _stamps(conn: Connection, chosen: ColumnElement[bool]) -> NDArray[np.int64]:
    """The instants of blocks, shape (n,), in no order."""
    import numpy as np  # noqa: PLC0415  who reads no marks needs no arrays

    from retro.store.facts.blocks import instants as instants_of  # noqa: PLC0415  as above

    stamps = [np.empty(0, np.int64)]
    for packed in conn.execute(select(mark_blocks.c.at_ms, mark_blocks.c.micros).where(chosen)):
        try:
            stamps.append(instants_of(*packed))
        except ValueError as error:
            raise next(damage.blocks(conn, chosen), error) from error
    return np.concatenate(stamps)
