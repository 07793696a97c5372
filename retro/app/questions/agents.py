"""The agents that facts are stored of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.app.settlement.settle import settled_book
from retro.app.settlement.silence import silent_since
from retro.periods import format_instant
from retro.report.overviews import AgentOverview
from retro.store.books import pages
from retro.store.facts import agents as agent_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["agents", "silent_since_of", "stored_agent"]


def agents(
    store: Store, settings_for: Callable[[Agent], AgentSettings], config: Config, now: int
) -> list[AgentOverview]:
    """Every agent with facts, in order of name, and who of them is dormant at `now`."""
    with store.read() as conn:
        names = agent_store.agents(conn)
    return [_overview(store, agent, settings_for(agent), config, now) for agent in names]


def stored_agent(
    store: Store, agent: Agent, settings: AgentSettings, config: Config, now: int
) -> AgentOverview:
    """One agent as the book has it now: a reader settles nothing."""
    with store.read() as conn:
        number, still_open = pages.count_lives(conn, agent.name)
        since = silent_since(conn, config, agent, now)
    return _overview_of(agent, settings, number, still_open, since)


def silent_since_of(store: Store, config: Config, agent: str, now: int) -> str | None:
    """The last word of an agent that is dormant at `now`, RFC 3339; None of one that is awake, dead or has no facts."""
    with store.read() as conn:
        record = agent_store.agent(conn, agent)
        last = None if record is None else silent_since(conn, config, record, now)
    return None if last is None else format_instant(last)


def _overview(store: Store, agent: Agent, settings: AgentSettings, config: Config, now: int) -> AgentOverview:
    with settled_book(store, agent.name, settings, measured=False) as book:
        number, still_open = pages.count_lives(book.conn, agent.name)
        since = silent_since(book.conn, config, agent, now)
    return _overview_of(agent, settings, number, still_open, since)


def _overview_of(
    agent: Agent, settings: AgentSettings, number: int, still_open: int, since: int | None
) -> AgentOverview:
    return AgentOverview(
        name=agent.name,
        first_at=agent.first_at,
        last_at=agent.last_at,
        events=agent.events,
        positions=number,
        open=still_open,
        base_currency=settings.base_currency,
        capital=None if settings.capital is None else float(settings.capital),
        silent_since=since,
    )
