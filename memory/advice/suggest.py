"""Plans that reviews make by themselves: defence in a drawdown, and what well-founded beliefs advise against.

Source: docs/memory.md, Formulas: Plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from memory.insight.belief import beliefs
from memory.insight.state import state
from memory.instants import written
from memory.planning.plan import Plan, create_plan, plans
from memory.settings import STANDARD, Settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from memory.insight.belief import Belief
    from memory.insight.state import State

DEFENSIVE: Final = 0.15
"""Drawdown beyond which a review plans for smaller sizes."""
HALVED: Final = 0.5
SURE: Final = 0.7
"""Posterior mean from which a belief that something loses becomes a plan to skip it ..."""
FOUNDED: Final = 20
"""... on at least this much evidence."""


def suggest_plans(
    conn: Connection, agent: str, *, as_of: int, review: str, settings: Settings = STANDARD
) -> tuple[Plan, ...]:
    """Make the plans that the agent's state and beliefs call for as of a review; those made.

    A plan is made only while none of the same origin is alive. Running the same review again makes none.
    """
    alive = {status.plan.id for status in plans(conn, agent, as_of=as_of, alive=True)}
    origins = {identity.split("@")[0] for identity in alive}
    suggestions = []
    now = state(conn, agent, as_of=as_of, settings=settings)
    if now.drawdown is not None and now.drawdown > DEFENSIVE and "defence" not in origins:
        suggestions.append(_defence(conn, agent, as_of, review, now))
    for belief in beliefs(conn, agent, as_of=as_of, settings=settings):
        losing = belief.claim == "loses" and belief.probability >= SURE and belief.evidence >= FOUNDED
        if losing and f"skip:{belief.id}" not in origins:
            suggestions.append(_skip(conn, agent, as_of, belief))
    return tuple(suggestions)


def _defence(conn: Connection, agent: str, as_of: int, review: str, now: State) -> Plan:
    return create_plan(
        conn,
        agent,
        at=as_of,
        trigger={"all": [{"field": "drawdown_pct", "op": ">", "value": DEFENSIVE}]},
        action={"type": "resize", "factor": HALVED},
        reasoning=f"{review}: the drawdown stands at {now.drawdown:.1%}; halve sizes until it is below 15 %",
        priority=0.9,
        source="review",
        identity=f"defence@{written(as_of)}",
    )


def _skip(conn: Connection, agent: str, as_of: int, belief: Belief) -> Plan:
    last = [
        identity for identity in (belief.last_confirmed, belief.last_contradicted) if identity is not None
    ]
    return create_plan(
        conn,
        agent,
        at=as_of,
        trigger=belief.conditions,
        action={"type": "skip_trade", "strategy": belief.domain["strategy"]},
        reasoning=f"belief: {belief.proposition} ({belief.words})",
        priority=belief.probability,
        source="belief",
        sources=last,
        identity=f"skip:{belief.id}@{written(as_of)}"[:200],
    )
