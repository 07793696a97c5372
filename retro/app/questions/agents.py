"""The agents that facts are stored of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retro.app.settlement.settle import settled_book
from retro.periods import format_instant
from retro.store.facts import agents as agent_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.app.settlement.settings import AgentSettings
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["AgentOverview", "agents"]


@dataclass(frozen=True, slots=True)
class AgentOverview:
    """An agent: when it lived (microseconds; None before its first event), how much is stored, what it counts in."""

    name: str
    first_at: int | None
    last_at: int | None
    events: int
    positions: int
    open: int
    base_currency: str
    capital: float | None

    def document(self) -> dict[str, Any]:
        """What `retro agents --json` prints of it."""
        return {
            "agent": self.name,
            "first_event": None if self.first_at is None else format_instant(self.first_at),
            "last_event": None if self.last_at is None else format_instant(self.last_at),
            "events": self.events,
            "positions": self.positions,
            "open": self.open,
            "base_currency": self.base_currency,
            "capital": self.capital,
        }


def agents(store: Store, settings_for: Callable[[Agent], AgentSettings]) -> list[AgentOverview]:
    """Every agent with facts, in order of name."""
    with store.read() as conn:
        names = agent_store.agents(conn)
    return [_overview(store, agent, settings_for(agent)) for agent in names]


def _overview(store: Store, agent: Agent, settings: AgentSettings) -> AgentOverview:
    with settled_book(store, agent.name, settings) as book:
        positions = book.positions()
    return AgentOverview(
        name=agent.name,
        first_at=agent.first_at,
        last_at=agent.last_at,
        events=agent.events,
        positions=len(positions),
        open=sum(row.closed_at is None for row in positions),
        base_currency=settings.base_currency,
        capital=None if settings.capital is None else float(settings.capital),
    )
