"""Keep settled what a book holds of an agent's own claims, shadows and tiers, each a fold over the facts since an instant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.app.settlement.claims import settle_claims
from retro.app.settlement.evaluations import settle_evaluations
from retro.store.books.claims import forget_claims
from retro.store.books.competence import forget_competence, settle_competence
from retro.store.books.shadow_days import forget_shadow_days, settle_results, settle_shadow_days
from retro.store.books.shadow_exits import forget_shadow_exits
from retro.store.books.tier_costs import forget_tier_costs, settle_tier_costs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from retro.app.settlement.settings import AgentSettings
    from retro.store.facts.agents import Agent

__all__ = ["forget_evaluators", "settle_evaluators"]


def settle_evaluators(
    conn: Connection,
    agent: Agent,
    settings: AgentSettings,
    since: int,
    entries: Iterable[int],
    *,
    whole: bool,
) -> None:
    """Settle what facts from `since` on change, once the positions are: those entered at `entries`.

    `whole`: the book is made from nothing.
    """
    name = agent.name
    claims = settle_claims(conn, name, since, settings.claims)
    settle_tier_costs(conn, name, since)
    settle_competence(conn, name, since)
    settle_evaluations(conn, agent, settings, None if whole else since, claims)
    settle_shadow_days(conn, name, since, settings.zone)
    settle_results(conn, name, entries)


def forget_evaluators(conn: Connection, agent: str) -> None:
    """Drop all of it but the summaries of epochs, which are folded anew."""
    forget_claims(conn, agent)
    forget_tier_costs(conn, agent)
    forget_competence(conn, agent)
    forget_shadow_exits(conn, agent)
    forget_shadow_days(conn, agent)
