"""An agent's life in a store, from journal lines to reviews, for tests."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING

from retro import config
from retro.app.intake.ingest import Ingested, ingest
from retro.app.reviews import build as review
from retro.app.settlement.lookup import choose_period
from retro.app.settlement.settings import AgentSettings, settings_of
from retro.app.settlement.settle import settled_book
from retro.ingest.journal import reader as journal
from retro.store.facts import agents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retro.periods import Horizon
    from retro.report import PositionRetrospective, RetrospectiveReport
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

LATER = 4_102_444_800_000_000  # 2100: nothing told here lies in the future


def settings_for(configuration: Mapping[str, object] | None = None) -> Callable[[Agent], AgentSettings]:
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
        return agents.existing_agent(conn, name)


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
    period = choose_period(agent, settings, horizon, at=at, span=span)
    with settled_book(store, name, settings) as book:
        return review.review_period(book, period)


def position(
    store: Store, name: str, position_id: str, configuration: Mapping[str, object] | None = None
) -> PositionRetrospective:
    """A position review."""
    with settled_book(store, name, settings_for(configuration)(agent_of(store, name))) as book:
        return review.review_position(book, position_id)
