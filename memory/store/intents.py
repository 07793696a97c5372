"""Seeded beliefs, plans and what became of them, and the halt flag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy import Connection

from memory.store.tables import beliefs, halts, plan_events, plans

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class PlanEvent:
    """One thing that happened to a plan; `document` is JSON."""

    plan: str
    number: int
    at: int
    kind: str
    document: str


def belief(conn: Connection, agent: str, identity: str) -> str | None:
    """The document of a seeded belief, or None."""
    query = sa.select(beliefs.c.document).where(beliefs.c.agent == agent, beliefs.c.id == identity)
    return conn.execute(query).scalar_one_or_none()


def seeded(conn: Connection, agent: str, as_of: int | None) -> list[str]:
    """The documents of the beliefs seeded by then (None: ever), oldest first."""
    query = sa.select(beliefs.c.document).where(beliefs.c.agent == agent)
    if as_of is not None:
        query = query.where(beliefs.c.at <= as_of)
    return list(conn.execute(query.order_by(beliefs.c.at, beliefs.c.id)).scalars())


def seed(conn: Connection, agent: str, identity: str, at: int, document: str) -> None:
    """Store a belief."""
    conn.execute(sa.insert(beliefs), [{"agent": agent, "id": identity, "at": at, "document": document}])


def plan(conn: Connection, agent: str, identity: str) -> str | None:
    """The document of a plan, or None."""
    query = sa.select(plans.c.document).where(plans.c.agent == agent, plans.c.id == identity)
    return conn.execute(query).scalar_one_or_none()


def plan_ids(conn: Connection, agent: str) -> list[str]:
    """The ids of the agent's plans."""
    return list(conn.execute(sa.select(plans.c.id).where(plans.c.agent == agent)).scalars())


def planned(conn: Connection, agent: str, as_of: int | None, *, alive: bool) -> list[str]:
    """The documents of the plans made by then (None: ever), oldest first; `alive`: only the unexpired."""
    query = sa.select(plans.c.document).where(plans.c.agent == agent)
    if as_of is not None:
        query = query.where(plans.c.at <= as_of)
        if alive:
            query = query.where(plans.c.expires_at > as_of)
    return list(conn.execute(query.order_by(plans.c.at, plans.c.id)).scalars())


def make(conn: Connection, agent: str, identity: str, at: int, expires_at: int, document: str) -> None:
    """Store a plan."""
    row = {"agent": agent, "id": identity, "at": at, "expires_at": expires_at, "document": document}
    conn.execute(sa.insert(plans), [row])


def events(conn: Connection, agent: str, as_of: int | None = None) -> dict[str, list[PlanEvent]]:
    """Each plan's events by then (None: ever), in the order in which they happened."""
    query = sa.select(plan_events).where(plan_events.c.agent == agent)
    if as_of is not None:
        query = query.where(plan_events.c.at <= as_of)
    events_by_plan: dict[str, list[PlanEvent]] = {}
    for row in conn.execute(query.order_by(plan_events.c.plan, plan_events.c.at, plan_events.c.number)):
        events_by_plan.setdefault(row.plan, []).append(
            PlanEvent(row.plan, row.number, row.at, row.kind, row.document)
        )
    return events_by_plan


def happen(conn: Connection, agent: str, rows: Sequence[tuple[str, int, str, str]]) -> None:
    """Add (plan, at, kind, document) events; the caller holds the agent's lock."""
    query = (
        sa.select(plan_events.c.plan, sa.func.max(plan_events.c.number))
        .where(plan_events.c.agent == agent, plan_events.c.plan.in_(sorted({row[0] for row in rows})))
        .group_by(plan_events.c.plan)
    )
    last: dict[str, int] = {row[0]: row[1] for row in conn.execute(query)}
    values = []
    for name, at, kind, document in rows:
        last[name] = last.get(name, -1) + 1
        values.append(
            {"agent": agent, "plan": name, "number": last[name], "at": at, "kind": kind, "document": document}
        )
    if values:
        conn.execute(sa.insert(plan_events), values)


def halted(conn: Connection, agent: str, as_of: int | None) -> tuple[bool, str | None]:
    """(whether the agent is halted, why) as of an instant; None: as last set."""
    query = sa.select(halts.c.halted, halts.c.reason).where(halts.c.agent == agent)
    if as_of is not None:
        query = query.where(halts.c.at <= as_of)
    row = conn.execute(query.order_by(halts.c.at.desc(), halts.c.number.desc()).limit(1)).one_or_none()
    return (True, row.reason) if row is not None and row.halted else (False, None)


def set_halt(conn: Connection, agent: str, at: int, reason: str, *, halted: bool) -> None:
    """Set or lift the halt flag; the caller holds the agent's lock."""
    query = sa.select(sa.func.count()).select_from(halts).where(halts.c.agent == agent)
    number = conn.execute(query).scalar_one()
    row = {"agent": agent, "number": number, "at": at, "halted": halted, "reason": reason}
    conn.execute(sa.insert(halts), [row])
