"""Read-only questions that every surface asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retro.app.settlement.book import read_rows
from retro.app.settlement.settle import ensure_settled
from retro.periods import FOREVER, format_instant
from retro.store.facts import agents, faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.app.settlement.settings import AgentSettings
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["list_agents", "list_faults", "list_positions"]


def list_agents(store: Store, settings_for: Callable[[Agent], AgentSettings]) -> list[dict[str, Any]]:
    """One row an agent: life, number of events and positions, currency."""
    with store.read() as conn:
        known_agents = agents.agents(conn)
    rows = []
    for agent in known_agents:
        settings = settings_for(agent)
        ensure_settled(store, agent, settings)
        with store.read() as conn:
            positions = read_rows(conn, agent.name, opened_before=FOREVER)
        rows.append(
            {
                "agent": agent.name,
                "first_event": None if agent.first_at is None else format_instant(agent.first_at),
                "last_event": None if agent.last_at is None else format_instant(agent.last_at),
                "events": agent.events,
                "positions": len(positions),
                "open": sum(row.closed_at is None for row in positions),
                "base_currency": settings.base_currency,
                "capital": None if settings.capital is None else float(settings.capital),
            }
        )
    return rows


def list_positions(store: Store, agent: Agent, settings: AgentSettings) -> list[dict[str, Any]]:
    """One row a position, oldest first; figures are null while it is open."""
    ensure_settled(store, agent, settings)
    with store.read() as conn:
        rows = read_rows(conn, agent.name, opened_before=FOREVER)
    return [
        {
            "position_id": row.position,
            "agent": agent.name,
            "kind": row.kind,
            "instrument": row.instrument,
            "strategy": row.strategy,
            "side": row.side,
            "entry_at": format_instant(row.opened_at),
            "exit_at": None if row.closed_at is None else format_instant(row.closed_at),
            "open": row.closed_at is None,
            "final_pnl": row.final_pnl,
            "vs_inaction": row.vs_inaction,
            "notional": row.notional,
            "flags": ",".join(
                flag
                for flag, on in (("open", row.closed_at is None), ("implausible", row.flagged_at is not None))
                if on
            ),
        }
        for row in rows
    ]


def list_faults(store: Store) -> list[dict[str, Any]]:
    """Foreign data that could not be used, in order of arrival."""
    with store.read() as conn:
        return [{"where": f.where, "line": f.line, "reason": f.reason} for f in faults.all(conn)]
