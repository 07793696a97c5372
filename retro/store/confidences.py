"""Which confidences the mirror read in an agent's playbook, and when: a number the owner changed is a new claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import BigInteger, Column, Double, ForeignKey, Table, Text, insert, select

from retro.store.facts.agents import key_query, known_key
from retro.store.schema import metadata

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

__all__ = ["changed_at", "note"]

confidence_readings: Final = Table(
    "confidence_readings",
    metadata,
    Column("agent", BigInteger, ForeignKey("agents.key"), primary_key=True, autoincrement=False),
    Column("heuristic", Text, primary_key=True),
    Column("read_at", BigInteger, primary_key=True, autoincrement=False),
    Column("confidence", Double),
)
"""One row each time a heuristic's number was another than before; `read_at` is the agent's newest fact then."""


def note(conn: Connection, agent: str, read: Mapping[str, float | None], at: int) -> None:
    """Keep what a playbook says now, where it is another number than at the last reading."""
    newest = {name: rows[-1][1] for name, rows in _readings(conn, agent).items()}
    key = known_key(conn, agent)
    rows = [
        {"agent": key, "heuristic": name, "read_at": at, "confidence": confidence}
        for name, confidence in sorted(read.items())
        if name not in newest or newest[name] != confidence
    ]
    if rows:
        conn.execute(insert(confidence_readings), rows)


def changed_at(conn: Connection, agent: str) -> dict[str, int]:
    """When another number than before was first read, of the heuristics whose number ever changed."""
    return {name: rows[-1][0] for name, rows in _readings(conn, agent).items() if len(rows) > 1}


def _readings(conn: Connection, agent: str) -> dict[str, list[tuple[int, float | None]]]:
    c = confidence_readings.c
    query = select(c.heuristic, c.read_at, c.confidence).where(c.agent == key_query(agent))
    readings: dict[str, list[tuple[int, float | None]]] = {}
    for name, at, confidence in conn.execute(query.order_by(c.heuristic, c.read_at)):
        readings.setdefault(name, []).append((at, confidence))
    return readings
