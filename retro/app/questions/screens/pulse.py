"""Whether something has come in: what a page that stays open asks again and again. Nothing is settled or written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retro.store.facts.agents import agents
from retro.store.jobs.backlog import backlog_of, newest_done_at

if TYPE_CHECKING:
    from retro.store.database import Store

__all__ = ["PulseReading", "pulse"]


@dataclass(frozen=True, slots=True)
class PulseReading:
    """A digest of all that came in, equal as long as nothing did; `wanting`: how many things want a person."""

    digest: str
    wanting: int


def pulse(store: Store, now: int) -> PulseReading:
    """Facts told, reviews made, owed and parked, letters unsent, at an instant of the clock in microseconds."""
    with store.read() as conn:
        backlog = backlog_of(conn, now)
        facts = [(agent.name, agent.last_at) for agent in agents(conn)]
        parts = (facts, backlog, newest_done_at(conn))
    failed = sum(number for (_, state), number in backlog.letters.items() if state == "failed")
    return PulseReading(hashlib.sha256(repr(parts).encode()).hexdigest()[:16], backlog.parked + failed)
