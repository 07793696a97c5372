"""Two agents become one: the rows of one are given to the other, what follows from them is dropped and settled anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import Text, case, delete, literal, select, true, update

from retro.errors import InputError
from retro.invariant import invariant
from retro.kinds import CALENDAR, DEATH
from retro.model import MarkSeries
from retro.store.checks import checks
from retro.store.confidences import confidence_readings
from retro.store.estate.holdings import (
    counts,
    holdings,
    is_derived,
    of_agent,
    rebucket,
    references,
)
from retro.store.facts import agents, marks
from retro.store.facts.departures import depart
from retro.store.jobs.tables import enrolments, reviews, rework_agents
from retro.store.locks import lock_estate
from retro.store.proposals import proposals, pull_requests
from retro.store.schema import agents as agent_table
from retro.store.schema import (
    events,
    faults,
    insert_into,
    mark_blocks,
    mark_corrections,
    series,
    source_agents,
)
from retro.store.spend import spend

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Table

__all__ = ["merge", "shared_ids"]

_UNITED: Final = (checks, confidence_readings, source_agents)
"""Tables of which both agents may have the same row: it is one row then."""


def shared_ids(conn: Connection, name: str, successor: str) -> list[tuple[str, str]]:
    """(what, id) of everything that both agents have under one id, in order: facts, positions, proposals, branches."""
    keys = agents.known_key(conn, name), agents.known_key(conn, successor)
    shared: set[tuple[str, str]] = set()
    own, other = events, events.alias()
    same_fact = (own.c.type == other.c.type) & (own.c.id == other.c.id)
    pairs = select(own.c.type, own.c.id).join(other, same_fact & (other.c.agent == keys[1]))
    shared.update((kind, id_) for kind, id_ in conn.execute(pairs.where(own.c.agent == keys[0])))
    names = [
        set(conn.execute(select(own.c.position).where(own.c.agent == key).distinct()).scalars()) - {None}
        for key in keys
    ]
    shared.update(("position", str(position)) for position in names[0] & names[1])
    asked = (proposals.c.state != "proposed") | proposals.c.branch.is_not(None)
    shared.update(("proposal", id_) for id_ in _in_both(conn, proposals, "id", keys, asked))
    shared.update(("branch", id_) for id_ in _in_both(conn, pull_requests, "branch", keys, true()))
    return sorted(shared)


def _in_both(
    conn: Connection, table: Table, column: str, keys: tuple[int, int], condition: ColumnElement[bool]
) -> list[str]:
    other = table.alias()
    same_fact = (other.c[column] == table.c[column]) & (other.c.agent == keys[1])
    query = select(table.c[column]).join(other, same_fact).where(table.c.agent == keys[0], condition)
    return list(conn.execute(query).scalars())


def merge(conn: Connection, name: str, successor: str, now: int) -> None:
    """Give everything of an agent to another, with whom it shares no id, in the caller's transaction.

    Reviews keep their ids and documents; those of the calendar bear in `subject` whose life they tell of. The memory is
    not ours to merge: its rows must be gone by then.
    """
    lock_estate(conn)
    old, new = agents.known_key(conn, name), agents.known_key(conn, successor)
    for holding in holdings():
        if is_derived(holding.table):
            for agent, key in ((name, old), (successor, new)):
                conn.execute(delete(holding.table).where(of_agent(holding, agent, key)))
    _merge_marks(conn, name, successor)
    mine = (reviews.c.agent == old) & reviews.c.kind.in_((*CALENDAR, DEATH.name))
    subject = case((reviews.c.subject == "", literal(name, Text)), else_=reviews.c.subject + f".{name}")
    conn.execute(update(reviews).where(mine).values(subject=subject))
    ids_taken = select(proposals.c.id).where(proposals.c.agent == new)
    conn.execute(delete(proposals).where(proposals.c.agent == old, proposals.c.id.in_(ids_taken)))
    for table in _UNITED:
        _unite(conn, table, old, new)
    for table in (enrolments, rework_agents):
        conn.execute(delete(table).where(table.c.agent == old))
    told = conn.execute(update(events).where(events.c.agent == old).values(agent=new)).rowcount
    for column in references():
        conn.execute(update(column.table).where(column == old).values({column.name: new}))
    rebucket(conn, new, successor)
    conn.execute(update(faults).where(faults.c.agent == name).values(agent=successor))
    conn.execute(update(spend).where(spend.c.agent == name).values(agent=successor))
    _join_lives(conn, old, new, told)
    left_behind = {table: size for table, size in counts(conn, name).items() if table != "agents"}
    invariant(not left_behind, "a merged agent leaves nothing under its name", f"{name}: {left_behind}")
    conn.execute(delete(agent_table).where(agent_table.c.key == old))
    depart(conn, name, "merged", successor, now)


def _unite(conn: Connection, table: Table, old: int, new: int) -> None:
    columns = [column.name for column in table.columns if column.name != "agent"]
    rows = conn.execute(select(*(table.c[column] for column in columns)).where(table.c.agent == old)).all()
    if rows:
        values = [{"agent": new, **row._asdict()} for row in rows]
        conn.execute(insert_into(conn, table).on_conflict_do_nothing(), values)
    conn.execute(delete(table).where(table.c.agent == old))


def _merge_marks(conn: Connection, name: str, successor: str) -> None:
    """Give the agent's own marks to its successor; `InputError` where both tell another price of one instant."""
    for instrument in marks.instruments(conn, name):
        for own in marks.by_day(conn, name, instrument):
            moved = MarkSeries(successor, instrument, *own)
            added = marks.add(conn, moved, where=f"agent {name}")
            if added.conflicts:
                raise InputError(
                    f"{name} and {successor} tell different prices of one instant: {added.conflicts[0].reason}"
                )
        old, new = (
            select(series.c.key)
            .where(series.c.owner == owner, series.c.instrument == instrument)
            .scalar_subquery()
            for owner in (name, successor)
        )
        conn.execute(update(mark_corrections).where(mark_corrections.c.series == old).values(series=new))
        conn.execute(delete(mark_blocks).where(mark_blocks.c.series == old))
        conn.execute(delete(series).where(series.c.owner == name, series.c.instrument == instrument))


def _join_lives(conn: Connection, old: int, new: int, facts: int) -> None:
    """What sources told of both as a whole: the capital of the life that began first, the later of the horizons.

    `facts` of the old one have come to the new one; its marks were counted as they came.
    """
    c = agent_table.c
    rows = {row.key: row for row in conn.execute(select(agent_table).where(c.key.in_((old, new))))}
    mine, other = rows[new], rows[old]
    first, second = sorted((mine, other), key=lambda row: (row.first_at is None, row.first_at))
    conn.execute(
        update(agent_table)
        .where(c.key == new)
        .values(
            as_of=max((at for at in (mine.as_of, other.as_of) if at is not None), default=None),
            capital=first.capital if first.capital is not None else second.capital,
            base_currency=mine.base_currency or other.base_currency,
            origin=mine.origin or other.origin,
            events=mine.events + facts,
        )
    )
    agents.remeasure_life(conn, new)
