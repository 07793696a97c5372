"""An agent's life in a store, from journal lines to reviews, for tests."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from retro import config
from retro.app.intake.ingest import Ingested, ingest
from retro.app.reviews import build as review
from retro.app.settlement.lookup import choose_period
from retro.app.settlement.settings import AgentSettings, settings_of
from retro.ingest.journal import reader as journal
from retro.store.facts import agents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retro.periods import Horizon
    from retro.report import PositionRetrospective, RetrospectiveReport
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

LATER = 4_102_444_800_000_000  # 2100: nothing told here lies in the future


def settings_for(configuration: Mapping[str, object] | None = None):
    """Settings by agent, from the tables of a configuration."""
    loaded = config.Config.model_validate(configuration or {})

    def settings(agent: Agent) -> AgentSettings:
        return settings_of(loaded, agent, None)

    return settings


def live(
    store: Store, lines: bytes, *, configuration: Mapping[str, object] | None = None, name: str = "life.jsonl"
) -> Ingested:
    """Ingest a journal."""
    return ingest(store, name, journal.read(io.BytesIO(lines), name, now=LATER), settings_for(configuration))


def agent_of(store: Store, name: str) -> Agent:
    """One agent's row."""
    with store.read() as conn:
        return next(agent for agent in agents.agents(conn) if agent.name == name)


def report(
    store: Store,
    name: str,
    horizon: Horizon = "weekly",
    *,
    at: int | None = None,
    span: tuple[int, int] | None = None,
    configuration: Mapping[str, object] | None = None,
) -> RetrospectiveReport:
    """A review as `retro review` computes it, without words."""
    agent = agent_of(store, name)
    settings = settings_for(configuration)(agent)
    return review.review_period(
        store, agent, settings, choose_period(agent, settings, horizon, at=at, span=span)
    )


def position(
    store: Store, name: str, position_id: str, configuration: Mapping[str, object] | None = None
) -> PositionRetrospective:
    """A position review."""
    agent = agent_of(store, name)
    return review.review_position(store, agent, settings_for(configuration)(agent), position_id)
