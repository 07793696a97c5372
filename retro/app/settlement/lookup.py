"""Which agent and which period a call means."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from retro.errors import UnknownError, UsageError
from retro.periods import SECOND, Period, day_of, format_instant, midnight, period_at, period_before
from retro.store.facts import agents
from retro.store.facts.departures import departure_of
from retro.store.jobs.grids import mark_of, period_key

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.app.settlement.settings import AgentSettings
    from retro.periods import Horizon
    from retro.store.facts.agents import Agent


__all__ = ["choose_period", "named_agent", "whole_life"]


def named_agent(conn: Connection, name: str | None) -> Agent:
    """The agent of that name, or the only one there is; `UsageError` lists them where one has to be chosen."""
    if name is not None and (named := agents.agent(conn, name)) is not None:
        return named
    if name is not None and (gone := departure_of(conn, name)) is not None:
        raise UsageError(gone.sentence(name))
    known_agents = agents.agents(conn)
    if name is not None:
        names = ", ".join(agent.name for agent in known_agents) or "none yet; see `retro ingest --help`"
        raise UsageError(f"there is no agent {name!r}; known: {names}")
    if not known_agents:
        raise UsageError(
            "the database holds no agent yet; start with `retro ingest journal FILE` or `retro ingest freqtrade DB`"
        )
    if len(known_agents) > 1:
        raise UsageError(
            "several agents; choose one with --agent: " + ", ".join(agent.name for agent in known_agents)
        )
    return known_agents[0]


def choose_period(
    agent: Agent,
    settings: AgentSettings,
    horizon: Horizon,
    *,
    at: int | None = None,
    span: tuple[int, int] | None = None,
    as_of: int | None = None,
) -> Period:
    """The period asked for: exactly `span`, the one that contains `at`, or the last one complete by the newest fact.

    An agent younger than one period gets the period it lives in.
    """
    if agent.first_at is None:
        raise UnknownError(f"agent {agent.name} has no events yet")
    if span is not None:
        start, end = span
        if start >= end:
            raise UsageError(f"--from {format_instant(start)} is not before --to {format_instant(end)}")
        return Period("custom", start, end, f"{format_instant(start)}_{format_instant(end)}")
    now = min(agent.known_until, as_of) if as_of is not None else agent.known_until
    epoch = {"birth": agent.first_at, "epoch_days": settings.epoch_days}
    current = period_at(horizon, now if at is None else at, settings.zone, **epoch)
    if at is None and current.end > now:
        before = period_before(current, settings.zone, **epoch)
        current = before if before.end > agent.first_at else current
    # as the stored review of this period has it
    return replace(current, key=period_key(current.key, mark_of(agent.grid, horizon)))


def whole_life(agent: Agent, settings: AgentSettings, as_of: int | None = None) -> Period:
    """From the start of the agent's first day to just after its newest event, or to `as_of`."""
    if agent.first_at is None:
        raise UnknownError(f"agent {agent.name} has no events yet")
    until = agent.known_until if as_of is None else min(agent.known_until, as_of)
    if until < agent.first_at:
        raise UsageError(f"--as-of lies before the agent's first event, {format_instant(agent.first_at)}")
    end = (until // SECOND + 1) * SECOND
    return Period("life", midnight(day_of(agent.first_at, settings.zone), settings.zone), end, "whole")
