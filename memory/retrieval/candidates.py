"""Beliefs and plans as candidates of a recall."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from memory.documents import as_document
from memory.episodic import cache
from memory.episodic.episode import from_document
from memory.episodic.factors import BELIEF_DECAY, BELIEF_TAU, quality, recency, scale_at
from memory.insight.belief import beliefs
from memory.insight.evidence import ACTION
from memory.planning.plan import plans
from memory.retrieval.hit import Filters, Hit
from memory.retrieval.reasons import belief_reason, plan_reason
from memory.situation.predicate import Condition, Predicate, conditions_of, evaluate, predicate
from memory.store import ledger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from memory.planning.plan import Plan
    from memory.settings import Settings
    from memory.situation.context import Context

SAME_REGIME = 1.0
OTHER_REGIME = 0.3
UNKNOWN_REGIME = 0.6


def belief_hits(
    conn: Connection,
    agent: str,
    context: Context,
    as_of: int | None,
    instant: int,
    filters: Filters,
    settings: Settings,
) -> list[Hit]:
    """Each belief whose domain the filters do not exclude.

    Q is the posterior mean, Sim the share of its conditions on the situation that hold (its regime apart), Rec the
    decay since its last evidence times the regime factor; the other factors are 1.
    """
    hits = []
    for belief in beliefs(conn, agent, as_of=as_of, settings=settings):
        if _excluded(belief.domain, filters):
            continue
        share, factor = belief_fit(predicate(belief.conditions), context)
        since = belief.at if belief.last_evidence_at is None else belief.last_evidence_at
        newest = np.array([min(max(since, belief.at), instant)], dtype=np.int64)
        rec = float(recency(newest, instant, BELIEF_TAU, BELIEF_DECAY)[0]) * factor
        components = _components(belief.probability, share, rec)
        hits.append(
            Hit(
                id=belief.id,
                type="belief",
                score=math.prod(components.values()),
                components=components,
                reason=belief_reason(belief, share, factor),
                amended=False,
                memory=as_document(belief),
                at=since,
            )
        )
    return hits


def _components(quality: float, sim: float, rec: float) -> dict[str, float]:
    return {"Q": quality, "Sim": sim, "Rec": rec, "Conf": 1.0, "Aff": 1.0, "boost": 1.0}


def _excluded(domain: Mapping[str, str | None], filters: Filters) -> bool:
    asked = (("strategy", filters.strategy), ("symbol", filters.symbol), ("regime", filters.regime))
    return any(value is not None and domain[name] not in (None, value) for name, value in asked)


def belief_fit(conditions: Predicate, context: Context) -> tuple[float, float]:
    """(share of the conditions on the situation that hold, regime factor 1, .3 or .6).

    What a belief says of strategy, symbol and direction is its domain, not the situation; a belief that names no
    regime holds in all of them.
    """
    asked = conditions_of(conditions)
    return (
        _share([item for item in asked if item.field not in (*ACTION, "regime")], conditions.every, context),
        _regime([item for item in asked if item.field == "regime"], conditions.every, context),
    )


def _share(asked: list[Condition], every: bool, context: Context) -> float:
    return evaluate(Predicate(every, tuple(asked)), context).share if asked else 1.0


def _regime(asked: list[Condition], every: bool, context: Context) -> float:
    if not asked:
        return SAME_REGIME
    if context.get("regime") is None:
        return UNKNOWN_REGIME
    return SAME_REGIME if evaluate(Predicate(every, tuple(asked)), context).met else OTHER_REGIME


def plan_hits(
    conn: Connection,
    agent: str,
    context: Context,
    as_of: int | None,
    instant: int,
    filters: Filters,
    settings: Settings,
) -> list[Hit]:
    """Each plan that is alive.

    Q is its priority times the mean Q of the episodes it came from, Sim the share of its trigger that is met, Rec the
    decay since it was made; the other factors are 1. A plan for another strategy or symbol is left out.
    """
    columns = cache.columns(conn, agent, settings.registry)
    sigma = scale_at(columns, columns.until(instant))
    asked = {"strategy": filters.strategy, "symbol": filters.symbol, "direction": filters.direction}
    situation = {**context, **{name: value for name, value in asked.items() if value is not None}}
    hits = []
    for standing in plans(conn, agent, as_of=as_of, alive=True):
        plan = standing.plan
        if plan.expires_at <= instant or any(
            value is not None and plan.action.get(name) not in (None, value) for name, value in asked.items()
        ):
            continue
        verdict = evaluate(predicate(plan.trigger), situation)
        rec = float(recency(np.array([min(plan.at, instant)], dtype=np.int64), instant)[0])
        components = _components(plan.priority * _sources_quality(conn, plan, sigma), verdict.share, rec)
        hits.append(
            Hit(
                id=plan.id,
                type="plan",
                score=math.prod(components.values()),
                components=components,
                reason=plan_reason(standing, verdict.share, verdict.unevaluable),
                amended=False,
                memory=standing.document(),
                at=plan.at,
            )
        )
    return hits


def _sources_quality(conn: Connection, plan: Plan, sigma: float) -> float:
    """The mean Q of the episodes a plan came from; 1 when it came from none we know."""
    documents = ledger.documents_of(conn, plan.agent, list(plan.sources))
    r = [from_document(text).pnl_r for text in documents.values()]
    if not r:
        return 1.0
    return float(
        np.mean(quality(np.array([math.nan if outcome is None else outcome for outcome in r]), sigma))
    )
