"""Plans: if this situation comes, then do that. Typed triggers, expiry, edge-triggered re-arming, scored outcomes.

Source: docs/memory.md, Formulas: Plans.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from memory.documents import as_document
from memory.episodic.episode import sane
from memory.errors import ConflictError, MissingError, RefusedError
from memory.instants import DAY, written
from memory.situation.predicate import evaluate, predicate, predicate_document
from memory.store import intents, ledger

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from memory.situation.context import Context
    from memory.store.intents import PlanEvent

LIFE: Final = 30 * DAY
"""How long a plan lives when nobody says."""
SOURCES: Final = ("review", "belief", "person", "agent")
_LONGEST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Plan:
    """A conditional intention: `trigger` is a predicate, `action` an object whose `type` says what to do."""

    id: str
    agent: str
    at: int
    trigger: dict[str, Any]
    action: dict[str, Any]
    reasoning: str
    priority: float
    expires_at: int
    source: str = "person"
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanStatus:
    """A plan as of an instant.

    `status` is active, triggered, expired or cancelled; an active plan that is not `armed` waits for its situation
    to pass. `outcomes` counts the scores, `mean_r` and `vs_inaction` (a sum; for a skip, what skipping was worth
    against trading) are None until something was scored.
    """

    plan: Plan
    status: str
    armed: bool
    triggered: int
    triggered_at: int | None
    outcomes: int
    mean_r: float | None
    vs_inaction: float | None
    reasons: dict[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The plan and how it stands as one JSON-ready object."""
        whole = as_document(self)
        return {**whole.pop("plan"), **whole}


@dataclass(frozen=True, slots=True)
class PlanCheck:
    """An unexpired plan held against a situation: `fires` when it is met while armed."""

    standing: PlanStatus
    met: bool
    fires: bool
    unevaluable: int


def create_plan(
    conn: Connection,
    agent: str,
    *,
    at: int,
    trigger: Mapping[str, Any],
    action: Mapping[str, Any],
    reasoning: str,
    priority: float = 0.5,
    expires_at: int | None = None,
    source: str = "person",
    sources: Iterable[str] = (),
    identity: str | None = None,
) -> Plan:
    """Store a plan and return it; the same plan again is no change, another one under its id a `ConflictError`."""
    plan = Plan(
        id=identity or _named(agent, at, trigger, action),
        agent=agent,
        at=at,
        trigger=predicate_document(predicate(trigger)),
        action=sane("action", dict(action)),
        reasoning=sane("reasoning", reasoning),
        priority=priority,
        expires_at=at + LIFE if expires_at is None else expires_at,
        source=source,
        sources=tuple(sources),
    )
    _check(plan)
    ledger.lock(conn, agent)
    text = json.dumps(asdict(plan), sort_keys=True)
    stored_text = intents.plan(conn, agent, plan.id)
    if stored_text is None:
        intents.make(conn, agent, plan.id, at, plan.expires_at, text)
    elif stored_text != text:
        raise ConflictError(f"agent {agent} has another plan {plan.id}")
    return plan


def _named(agent: str, at: int, trigger: Mapping[str, Any], action: Mapping[str, Any]) -> str:
    text = json.dumps([agent, at, dict(trigger), dict(action)], sort_keys=True, default=str)
    return "P-" + hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=5).hexdigest()


def _check(plan: Plan) -> None:
    written(plan.at)
    written(plan.expires_at)
    if not isinstance(plan.action.get("type"), str) or not plan.action["type"]:
        raise RefusedError(
            "action: needs a type, such as skip_trade, resize, adjust_param, force_exit or alert"
        )
    if not 0.0 <= plan.priority <= 1.0:
        raise RefusedError("priority: must lie between 0 and 1")
    if plan.expires_at <= plan.at:
        raise RefusedError("expires_at: must lie after the plan was made")
    if plan.source not in SOURCES:
        raise RefusedError(f"source: must be one of {', '.join(SOURCES)}")
    if not isinstance(plan.reasoning, str) or not plan.reasoning.strip() or len(plan.reasoning) > _LONGEST:
        raise RefusedError(f"reasoning: must be 1 to {_LONGEST} characters")
    if not 0 < len(plan.id) <= 200:
        raise RefusedError("id: must be 1 to 200 characters")


def _plan(text: str) -> Plan:
    raw = json.loads(text)
    return Plan(**raw | {"sources": tuple(raw["sources"])})


def plans(
    conn: Connection, agent: str, *, as_of: int | None = None, alive: bool = False
) -> tuple[PlanStatus, ...]:
    """The plans made by `as_of` (default: all), highest priority first; `alive`: only those that may still fire."""
    happened = intents.events(conn, agent, as_of)
    statuses = [
        standing(_plan(text), happened.get(_plan(text).id, ()), as_of)
        for text in intents.planned(conn, agent, as_of, alive=alive)
    ]
    if alive:
        statuses = [status for status in statuses if status.status in ("active", "triggered")]
    return tuple(
        sorted(statuses, key=lambda status: (-status.plan.priority, -status.plan.at, status.plan.id))
    )


def standing(plan: Plan, events: Iterable[PlanEvent], as_of: int | None) -> PlanStatus:
    """The plan after these events, which are in order; `as_of` decides expiry (None: unexpired)."""
    armed, triggered, triggered_at, cancelled = True, 0, None, False
    r_of: dict[str, float] = {}
    against: dict[str, float] = {}
    for event in events:
        if event.kind == "triggered":
            armed, triggered, triggered_at = False, triggered + 1, event.at
        elif event.kind == "rearmed":
            armed = True
        elif event.kind == "cancelled":
            cancelled = True
        elif event.kind == "scored":
            score = json.loads(event.document)
            subject = score.get("episode") or f"#{event.number}"
            if score.get("pnl_r") is not None:
                r_of[subject] = score["pnl_r"]
            if score.get("vs_inaction") is not None:
                against[subject] = score["vs_inaction"]
    expired = as_of is not None and as_of >= plan.expires_at
    quiet = "triggered" if triggered else "active"
    status = "cancelled" if cancelled else "expired" if expired else quiet
    reasons = {}
    if not r_of:
        reasons["mean_r"] = "no outcome in R was scored yet"
    if not against:
        reasons["vs_inaction"] = "no review has scored it yet"
    return PlanStatus(
        plan=plan,
        status=status,
        armed=armed,
        triggered=triggered,
        triggered_at=triggered_at,
        outcomes=len(r_of.keys() | against.keys()),
        mean_r=math.fsum(r_of.values()) / len(r_of) if r_of else None,
        vs_inaction=math.fsum(against.values()) if against else None,
        reasons=reasons,
    )


def check_plans(
    conn: Connection, agent: str, context: Context, *, as_of: int | None = None
) -> tuple[PlanCheck, ...]:
    """Hold every plan that is still alive against a situation; writes nothing."""
    checks = []
    for status in plans(conn, agent, as_of=as_of, alive=True):
        verdict = evaluate(predicate(status.plan.trigger), context)
        checks.append(PlanCheck(status, verdict.met, verdict.met and status.armed, verdict.unevaluable))
    return tuple(checks)


def observe_plans(conn: Connection, agent: str, context: Context, *, at: int) -> tuple[PlanCheck, ...]:
    """Let the agent's plans see a situation at an instant; those that fired.

    A plan fires when its predicate becomes true and then waits until it was seen false: a field that is missing does
    not re-arm. A situation older than the plan's last event is ignored, so seeing one twice changes nothing.
    """
    ledger.lock(conn, agent)
    newest = {
        name: row.at
        for name, rows in intents.events(conn, agent).items()
        for row in rows
        if row.kind in ("triggered", "rearmed")
    }
    fired, rows = [], []
    for check in check_plans(conn, agent, context, as_of=at):
        plan = check.standing.plan
        if plan.id in newest and at <= newest[plan.id]:
            continue
        if check.fires:
            fired.append(check)
            rows.append((plan.id, at, "triggered", json.dumps(sane("context", dict(context)))))
        elif not check.standing.armed and not check.met and not check.unevaluable:
            rows.append((plan.id, at, "rearmed", "{}"))
    if rows:
        intents.happen(conn, agent, rows)
    return tuple(fired)


def cancel_plan(conn: Connection, agent: str, identity: str, *, at: int, reason: str) -> None:
    """Withdraw a plan; raises `MissingError` without one."""
    lock_plan(conn, agent, identity)
    intents.happen(conn, agent, [(identity, at, "cancelled", json.dumps({"reason": reason}))])


def lock_plan(conn: Connection, agent: str, identity: str) -> None:
    """Hold the agent's lock if it has such a plan; raises `MissingError` without one."""
    if intents.plan(conn, agent, identity) is None:
        raise MissingError(f"agent {agent} has no plan {identity}")
    ledger.lock(conn, agent)
