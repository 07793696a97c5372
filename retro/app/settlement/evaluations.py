"""Keep what evaluators saw of each epoch settled: a closed epoch is folded again only when a fact of it is late."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from retro.evaluate.claims.record import ClaimHistory
from retro.evaluate.claims.summaries import KeySummary, summaries_of
from retro.periods import period_at
from retro.report.evaluators.summaries import EvaluationStatistics
from retro.store.books.claims import claims_of
from retro.store.books.evaluations import EpochSummaries, epoch_bounds, replace_evaluations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from retro.app.settlement.settings import AgentSettings
    from retro.periods import Period
    from retro.store.facts.agents import Agent

__all__ = ["epoch_at", "epochs_of", "read_summaries", "settle_evaluations"]


def settle_evaluations(
    conn: Connection, agent: Agent, settings: AgentSettings, since: int | None, claims: ClaimHistory | None
) -> None:
    """Fold the epochs that reach beyond `since` (None: all of them) once more.

    `claims` is the whole history where it has changed since then, None where it has not. An agent's epochs move when an
    older event of its own comes, or on another grid: then all are folded.
    """
    bounds = epoch_bounds(conn, agent.name)
    periods = [epoch_at(agent, settings, start) for start, _ in bounds]
    moved = [(period.start, period.end) for period in periods] != bounds
    if moved or (bounds and since is None and claims is None):
        since, claims = None, claims_of(conn, agent.name)
    if claims is None:
        return
    ring = settings.claims.ring.size
    rows = [
        EpochSummaries(epoch.start, epoch.end, _text(summaries_of(part, ring)))
        for epoch, part in epochs_of(agent, settings, claims, since)
    ]
    replace_evaluations(conn, agent.name, since, rows)


def epoch_at(agent: Agent, settings: AgentSettings, at: int) -> Period:
    """The agent's epoch that contains an instant."""
    birth, days = agent.first_at or 0, settings.epoch_days
    return period_at("epoch", at, settings.zone, birth=birth, epoch_days=days)


def epochs_of(
    agent: Agent, settings: AgentSettings, claims: ClaimHistory, since: int | None = None
) -> Iterator[tuple[Period, ClaimHistory]]:
    """Each epoch in which a claim resolved, with those that did: all of them, or from the one that contains `since` on."""
    resolved = claims.records["resolved_at"]
    first = 0
    if since is not None and len(resolved) and since > resolved[0]:
        first = int(np.searchsorted(resolved, epoch_at(agent, settings, since).start, "left"))
    while first < len(resolved):
        epoch = epoch_at(agent, settings, int(resolved[first]))
        last = int(np.searchsorted(resolved, epoch.end, "left"))
        yield epoch, ClaimHistory(claims.names, claims.records[first:last])
        first = last


def read_summaries(text: str) -> list[KeySummary]:
    """What a row of the book says."""
    return [
        KeySummary(evaluator, (category, regime), n, EvaluationStatistics.model_validate(statistics))
        for evaluator, category, regime, n, statistics in json.loads(text)
    ]


def _text(summaries: list[KeySummary]) -> str:
    rows = [[s.evaluator, *s.key, s.n, s.statistics.model_dump(mode="json")] for s in summaries]
    return json.dumps(rows, separators=(",", ":"))
