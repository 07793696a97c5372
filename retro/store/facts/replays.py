"""How often positions were gone through again: somebody's word, not derived, so it goes where the agent goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import BigInteger, Column, Table, Text, func, insert, select

from retro.store.facts.agents import key_query, known_key
from retro.store.schema import metadata, name_of, reference

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["record_replay", "replay_counts"]

position_replays: Final = Table(
    "position_replays",
    metadata,
    Column("seq", BigInteger, primary_key=True),
    reference("agent", "agents"),
    Column("position", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
)
"""One row each time that a position was replayed; `at` by the clock of whoever said so, microseconds."""


def record_replay(conn: Connection, agent: str, position: str, at: int) -> None:
    """Note that a position was replayed once more."""
    row = {"agent": known_key(conn, agent), "position": name_of(position), "at": at}
    conn.execute(insert(position_replays).values(row))


def replay_counts(conn: Connection, agent: str, before: int) -> dict[str, int]:
    """Position (as a key: `name_of`) -> how often it had been replayed before an instant."""
    c = position_replays.c
    query = select(c.position, func.count()).where(c.agent == key_query(agent), c.at < before)
    return {position: int(count) for position, count in conn.execute(query.group_by(c.position))}
