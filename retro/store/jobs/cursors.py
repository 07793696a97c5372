"""How far each `[[source]]` was read, and the alarm it raised, so that the same trouble is told once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from retro.store.jobs.tables import sources
from retro.store.schema import insert_into

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

__all__ = ["alarms", "keep", "raise_alarm", "rewind", "state_of"]


def state_of(conn: Connection, key: str) -> dict[str, Any]:
    """What was kept about a source; empty when it was never read."""
    text = conn.execute(select(sources.c.state).where(sources.c.key == key)).scalar_one_or_none()
    state: dict[str, Any] = {} if text is None else json.loads(text)
    return state


def keep(conn: Connection, key: str, state: Mapping[str, Any]) -> str | None:
    """It was read as far as `state` says; its alarm, which this ends, or None."""
    before = conn.execute(select(sources.c.alarm).where(sources.c.key == key)).scalar_one_or_none()
    _put(conn, key, {"state": json.dumps(state), "alarm": None})
    return before


def raise_alarm(conn: Connection, key: str, reason: str, state: Mapping[str, Any]) -> bool:
    """It could not be read further than `state`; whether that is news."""
    before = conn.execute(select(sources.c.alarm).where(sources.c.key == key)).scalar_one_or_none()
    _put(conn, key, {"state": json.dumps(state), "alarm": reason})
    return before != reason


def alarms(conn: Connection) -> dict[str, str]:
    """Key -> what stands in the way of a source."""
    query = select(sources.c.key, sources.c.alarm).where(sources.c.alarm.is_not(None))
    return {row.key: row.alarm for row in conn.execute(query)}


def rewind(conn: Connection) -> None:
    """Every source is read from its start at the next knock; what is known of it changes nothing."""
    conn.execute(update(sources).values(state="{}"))


def _put(conn: Connection, key: str, values: Mapping[str, Any]) -> None:
    statement = insert_into(conn, sources).values(key=key, **values)
    conn.execute(statement.on_conflict_do_update(index_elements=["key"], set_=dict(values)))
