"""Facts that a source takes back: another one speaks in its place. What they said is kept among the corrections."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, func, insert, literal, select, update

from retro.store import schema as tables
from retro.store.facts.agents import known_key, remeasure_life
from retro.store.locks import lock_agents

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["Withdrawal", "withdraw"]


class Withdrawal(NamedTuple):
    """How many facts were taken back, and the instants of the first and the last."""

    facts: int
    first_at: int
    last_at: int


def withdraw(conn: Connection, agent: str, prefix: str, *, where: str, reason: str) -> Withdrawal | None:
    """Take back the agent's facts whose ids begin with `prefix`, and what their source said of it; None without any."""
    lock_agents(conn, [agent])
    key, events = known_key(conn, agent), tables.events
    # LIKE would not tell upper from lower case
    own = (events.c.agent == key) & (func.substr(events.c.id, 1, len(prefix)) == prefix)
    count, first_at, last_at = conn.execute(
        select(func.count(), func.min(events.c.at), func.max(events.c.at)).where(own)
    ).one()
    if not count:
        return None
    columns = ["agent", "type", "id", "at", "position", "body"]
    before = select(*(events.c[name] for name in columns), literal(where), literal(reason)).where(own)
    conn.execute(insert(tables.corrections).from_select([*columns, "place", "reason"], before))
    conn.execute(delete(events).where(own))
    remaining = tables.agents.c.events - count
    conn.execute(
        update(tables.agents)
        .where(tables.agents.c.key == key)
        .values(events=remaining, as_of=None, origin=None)
    )
    remeasure_life(conn, key)
    return Withdrawal(count, first_at, last_at)
