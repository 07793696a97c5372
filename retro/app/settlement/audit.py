"""The audit of a whole life."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from retro.app.settlement.book import history_of, known_until, read_rows
from retro.app.settlement.settle import ensure_settled
from retro.evaluate.audit.audit import audit_period
from retro.evaluate.audit.citations import items_of
from retro.evaluate.report import citations_of
from retro.periods import FOREVER, Period
from retro.store.facts import events

if TYPE_CHECKING:
    from retro.app.settlement.settings import AgentSettings
    from retro.report import HeuristicReport
    from retro.store.database import Store
    from retro.store.facts.agents import Agent


__all__ = ["audit_life"]


def _seed(agent: str, period: Period) -> int:
    text = f"{agent}|{period.horizon}|{period.start}|{period.end}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def audit_life(store: Store, agent: Agent, settings: AgentSettings) -> list[HeuristicReport]:
    """The citation audit over everything the agent ever did."""
    ensure_settled(store, agent, settings)
    end = known_until(agent) + 1
    period = Period("custom", agent.first_at or 0, max(end, (agent.first_at or 0) + 1), "life")
    rules = settings.options.rules
    with store.read() as conn:
        rows = read_rows(conn, agent.name, opened_before=FOREVER)
        history = history_of(conn, agent.name, settings, FOREVER)
        decided = events.between(conn, agent.name, period.start, period.end, types=["decision"])
    items = [item for row in rows for item in items_of(row, rules, rules.claims)]
    # marks may reach beyond the agent's last event: an exit they can judge is judged
    return audit_period(
        items,
        history,
        rules,
        period.start,
        FOREVER,
        _seed(agent.name, period),
        stray=citations_of(decided, rules.claims),  # type: ignore[arg-type]
    )
