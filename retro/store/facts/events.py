"""The facts: append-only, each stored once, and read back by the window a question needs.

An event is identified by (agent, type, id). The usual case, all rows new, is one insert; rows are compared with what
is stored only when the database took fewer than it was given.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, cast

from sqlalchemy import ColumnElement, func, insert, select, update

from retro.model import FACT_TYPES, Conflict, EventRow, Fact, Position, decode
from retro.periods import FOREVER
from retro.store.facts import damage
from retro.store.facts.agents import Agent, agents, extend_life, key_of, key_query, note_agent, remeasure_life
from retro.store.facts.codec import differences
from retro.store.facts.damage import UNREADABLE
from retro.store.schema import corrections, events, name_of, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection

__all__ = [
    "TYPES",
    "Added",
    "Agent",
    "add",
    "agents",
    "between",
    "by_ids",
    "declarations",
    "every",
    "first_instant",
    "first_of",
    "instants",
    "instants_since",
    "newest_of",
    "note_agent",
    "of_positions",
    "positions_touched",
    "venues",
]

FactT = TypeVar("FactT", bound=Fact)

_INSERT: Final = {
    "sqlite": "INSERT INTO events (agent, type, id, at, position, body, told_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING",
    "postgresql": "INSERT INTO events (agent, type, id, at, position, body, told_at) SELECT * FROM unnest("
    "%b::bigint[], %b::text[], %b::text[], %b::bigint[], %b::text[], %b::text[], %b::bigint[])"
    " ON CONFLICT DO NOTHING",
}
_LAST_SEQ: Final = {
    "sqlite": "SELECT coalesce(max(seq), 0) FROM events",
    "postgresql": "SELECT nextval(pg_get_serial_sequence('events', 'seq'))",
}
TYPES: Final[tuple[type[Fact], ...]] = tuple(kind for name, kind in FACT_TYPES.items() if name != "mark")
"""Every type of fact that is a row here; marks lie in blocks of their own."""
_TYPES: Final = tuple(name for name in FACT_TYPES if name != "mark")
_NAME_OF: Final = {kind: name for name, kind in FACT_TYPES.items()}
_DECISION: Final = "decision"
_POSITION: Final = "position"
_NUMBER: Final = re.compile(r"([0-9]+)")
_SHOWN_ID: Final = 80
_AT_ONCE: Final = 5_000


@dataclass(slots=True)
class Added:
    """What became of the rows: `stored` anew, `replaced`, known and `unchanged`, or kept back as `conflicts`.

    `first_at`: agent -> the earliest instant whose facts changed, be it stored or replaced.
    """

    stored: int = 0
    unchanged: int = 0
    replaced: int = 0
    conflicts: list[Conflict] = field(default_factory=list)
    first_at: dict[str, int] = field(default_factory=dict)


_Identity = tuple[int, str, str]
_Entry = tuple[int, str, str, int, str | None, str, int | None]
"""A row as the table takes it: agent key, type, id, at, position, body, told_at."""


class _Stored(NamedTuple):
    seq: int
    at: int
    position: str | None
    body: str


class _Provenance(NamedTuple):
    """Where rows come from, their line numbers, the reason to replace what is known otherwise, and the clock of that."""

    where: str
    lines: Sequence[int] | None
    replace: str | None
    told_at: int | None

    def conflict(self, number: int, row: EventRow, fields: list[str]) -> Conflict:
        short_id = row.id if len(row.id) <= _SHOWN_ID else row.id[:_SHOWN_ID] + "..."
        reason = f"{row.type} {short_id!r} of {row.agent} is known with another {' and '.join(fields[:3])}"
        return Conflict(self.where, self.lines[number] if self.lines is not None else None, reason)


# adding


def add(
    conn: Connection,
    rows: Sequence[EventRow],
    *,
    where: str,
    lines: Sequence[int] | None,
    replace: str | None = None,
    now: int | None = None,
    dated: bool = False,
) -> Added:
    """Store the rows that are new; `lines` (beside `rows`) number them in `where`, for the conflicts.

    An event already told with other content is a conflict and kept back, or, with `replace` (the reason), corrected:
    what it said before is kept among the corrections. `now` is the clock by which they are taken in; of a `dated` source
    (it says anew what it said before) it is not kept with corrections.
    """
    added = Added()
    instants: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        instants[row.agent].append(row.at)
    keys = {agent: key_of(conn, agent) for agent in sorted(instants)}
    before = conn.exec_driver_sql(_LAST_SEQ[conn.dialect.name]).scalar_one()
    entries: list[_Entry] = [
        (
            keys[agent],
            kind,
            name_of(id_),
            at,
            position and name_of(position),
            body,
            now if kind == _DECISION else None,
        )
        for agent, kind, id_, at, position, body in rows
    ]
    told_at = None if dated else FOREVER if now is None else now
    if entries and _insert(conn, entries) < len(entries):
        instants = _reconcile(conn, added, rows, entries, before, _Provenance(where, lines, replace, told_at))
    for agent, stored in instants.items():
        added.stored += len(stored)
        added.first_at[agent] = min(*stored, added.first_at.get(agent, stored[0]))
        extend_life(conn, keys[agent], min(stored), max(stored), len(stored))
    declared: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.type == _POSITION and row.position is not None and row.agent in added.first_at:
            declared[row.agent].add(row.position)
    for agent, names in declared.items():
        added.first_at[agent] = _first_of(conn, keys[agent], names, added.first_at[agent])
    return added


def _first_of(conn: Connection, key: int, positions: Iterable[str], since: int) -> int:
    """The first instant before `since` of which facts of these positions tell; `since` where there is none.

    What a position is decides what all its facts mean, those told before it was declared, too.
    """
    c = events.c
    query = select(func.min(c.at)).where(c.agent == key, within(conn, c.position, positions), c.at < since)
    first: int | None = conn.execute(query).scalar()
    return since if first is None else first


def _insert(conn: Connection, entries: list[_Entry]) -> int:
    """Insert what is new; how many rows that was."""
    statement = _INSERT[conn.dialect.name]
    if conn.dialect.name == "postgresql":
        columns = tuple(list(column) for column in zip(*entries, strict=True))
        return conn.exec_driver_sql(statement, columns).rowcount
    return conn.exec_driver_sql(statement, entries).rowcount


def _reconcile(
    conn: Connection,
    added: Added,
    rows: Sequence[EventRow],
    entries: list[_Entry],
    before: int,
    provenance: _Provenance,
) -> dict[str, list[int]]:
    """Compare row by row after an insert that met known events; the instants newly stored, by agent."""
    existing = _existing(conn, entries)
    stored: dict[str, list[int]] = defaultdict(list)
    claimed: set[_Identity] = set()
    corrected: set[int] = set()
    for number, (row, entry) in enumerate(zip(rows, entries, strict=True)):
        identity = entry[:3]
        old = existing[identity]
        if old.seq > before and identity not in claimed:
            claimed.add(identity)
            stored[row.agent].append(row.at)
        elif not (fields := _differences(old, row)):
            added.unchanged += 1
        elif provenance.replace is None:
            added.conflicts.append(provenance.conflict(number, row, fields))
        else:
            _correct(conn, entry, old, provenance)
            existing[identity] = old._replace(at=row.at, position=entry[4], body=row.body)
            corrected.add(entry[0])
            added.replaced += 1
            earliest = min(old.at, row.at)
            added.first_at[row.agent] = min(earliest, added.first_at.get(row.agent, earliest))
    for key in sorted(corrected):
        remeasure_life(conn, key)
    return stored


def _differences(old: _Stored, row: EventRow) -> list[str]:
    """The fields in which a telling differs from what is stored; of what cannot be read any more the whole line."""
    try:
        return differences((old.at, old.body), (row.at, row.body))
    except UNREADABLE:
        return ["body"]


def _existing(conn: Connection, entries: list[_Entry]) -> dict[_Identity, _Stored]:
    ids: dict[tuple[int, str], set[str]] = defaultdict(set)
    for agent, kind, id_, *_ in entries:
        ids[agent, kind].add(id_)
    existing: dict[_Identity, _Stored] = {}
    for (agent, kind), wanted in ids.items():
        query = select(events.c.id, events.c.seq, events.c.at, events.c.position, events.c.body).where(
            events.c.agent == agent, events.c.type == kind, within(conn, events.c.id, wanted)
        )
        for id_, *columns in conn.execute(query):
            existing[agent, kind, id_] = _Stored(*columns)
    return existing


def _correct(conn: Connection, entry: _Entry, old: _Stored, provenance: _Provenance) -> None:
    agent, kind, id_, at, position, body, _ = entry
    conn.execute(
        insert(corrections).values(
            agent=agent,
            type=kind,
            id=id_,
            at=old.at,
            position=old.position,
            body=old.body,
            place=provenance.where,
            reason=provenance.replace,
            told_at=provenance.told_at,
        )
    )
    conn.execute(
        update(events)
        .where(events.c.seq == old.seq, events.c.agent == agent, events.c.type == kind, events.c.id == id_)
        .values(at=at, position=position, body=body)
    )


# reading


def of_positions(
    conn: Connection,
    agent: str,
    positions: Sequence[str],
    *,
    since: int | None = None,
    until: int | None = None,
) -> list[Fact]:
    """Every fact that names one of the positions, in no order; with `since` and `until`, those from and up to them."""
    conditions = [within(conn, events.c.position, positions)]
    if since is not None:
        conditions.append(events.c.at >= since)
    if until is not None:
        conditions.append(events.c.at <= until)
    return _facts(conn, agent, *conditions)


def declarations(conn: Connection, agent: str, positions: Sequence[str], until: int) -> list[Position]:
    """What was told at or before an instant of what these positions are, in no order."""
    return _facts_of(conn, agent, Position, within(conn, events.c.position, positions), events.c.at <= until)


def between(
    conn: Connection, agent: str, start: int, end: int, *, types: Sequence[type[FactT]], wallet: bool = False
) -> list[FactT]:
    """The facts with start <= at < end, of these types, in no order; `wallet`: only those that name no position."""
    conditions = _window(start, end)
    if wallet:
        conditions.append(events.c.position.is_(None))
    conditions.append(events.c.type.in_([_NAME_OF[kind] for kind in types]))
    return cast("list[FactT]", _facts(conn, agent, *conditions))  # the column tells of which struct a body is


def first_of(conn: Connection, agent: str, kind: type[FactT]) -> FactT | None:
    """The oldest fact of a type; of several in one instant, the first by id."""
    of_kind = events.c.type == _NAME_OF[kind]
    oldest = select(func.min(events.c.at)).where(events.c.agent == key_query(agent), of_kind)
    facts = _facts_of(conn, agent, kind, events.c.at == oldest.scalar_subquery())
    return min(facts, key=_natural, default=None)


def first_instant(conn: Connection, agent: str) -> int | None:
    """The instant of the agent's oldest fact (marks are none); None without facts."""
    own = events.c.agent == key_query(agent)  # type by type: each is one step into the index
    oldest = [select(func.min(events.c.at)).where(own, events.c.type == type_) for type_ in _TYPES]
    row = conn.execute(select(*(query.scalar_subquery() for query in oldest))).one()
    return min((at for at in row if at is not None), default=None)


def by_ids(conn: Connection, agent: str, kind: type[FactT], ids: Iterable[str]) -> list[FactT]:
    """The facts of a type with these ids, in no order; unknown ids are passed over."""
    wanted = list(ids)
    return _facts_of(conn, agent, kind, within(conn, events.c.id, wanted)) if wanted else []


def newest_of(conn: Connection, agent: str, kind: type[FactT], limit: int) -> list[FactT]:
    """At most `limit` facts of a type, those of the latest instants; in no order."""
    own = (events.c.agent == key_query(agent), events.c.type == _NAME_OF[kind])
    since = select(events.c.at).where(*own).order_by(events.c.at.desc()).limit(1).offset(limit - 1)
    first = conn.execute(since).scalar()
    return _facts_of(conn, agent, kind, *([] if first is None else [events.c.at >= first]))


def venues(conn: Connection, agent: str, positions: Iterable[str]) -> dict[str, str]:
    """Position -> where it was traded, as its declaration says; "" where that says nothing."""
    declared = _facts_of(conn, agent, Position, within(conn, events.c.position, positions))
    return {fact.position: fact.venue for fact in declared}


def instants(conn: Connection, agent: str, kind: type[Fact]) -> dict[str, int]:
    """Id (as a key: `name_of`) -> instant of every fact of a type, in no order; no body is read."""
    of_kind = events.c.type == _NAME_OF[kind]
    query = select(events.c.id, events.c.at).where(events.c.agent == key_query(agent), of_kind)
    return dict(conn.execute(query).all())


def instants_since(conn: Connection, agent: str, kind: type[Fact], since: int) -> tuple[int, list[int]]:
    """How many facts of a type came before an instant, and the instants of the others, ascending; no body is read."""
    own = (events.c.agent == key_query(agent)) & (events.c.type == _NAME_OF[kind])
    earlier = conn.execute(select(func.count()).where(own, events.c.at < since)).scalar_one()
    later = select(events.c.at).where(own, events.c.at >= since).order_by(events.c.at)
    return earlier, list(conn.execute(later).scalars())


def every(conn: Connection, agent: str) -> Iterator[Fact]:
    """Every fact of an agent, in no order, in constant memory."""
    query = select(events.c.body, events.c.at).where(events.c.agent == key_query(agent))
    with conn.execute(query.execution_options(yield_per=_AT_ONCE)) as rows:
        for body, at in rows:
            yield decode(body, at)


def positions_touched(conn: Connection, agent: str, start: int, end: int) -> list[str]:
    """The positions that some fact with start <= at < end names, sorted, in the form that `of_positions` takes."""
    # DISTINCT would lead SQLite to walk the index of positions from its start
    query = select(events.c.position).where(
        events.c.agent == key_query(agent), events.c.type.in_(_TYPES), *_window(start, end)
    )
    return sorted({name for name in conn.execute(query).scalars().all() if name is not None})


def _facts(conn: Connection, agent: str, *conditions: ColumnElement[bool]) -> list[Fact]:
    query = select(events.c.body, events.c.at).where(events.c.agent == key_query(agent), *conditions)
    try:
        # closed where a row cannot be read: SQLite holds the database for as long as anybody holds that error
        with conn.execute(query) as rows:
            return [decode(body, at) for part in rows.partitions(_AT_ONCE) for body, at in part]
    except UNREADABLE as error:
        raise next(damage.facts(conn, events.c.agent == key_query(agent), *conditions), error) from error


def _facts_of(
    conn: Connection, agent: str, kind: type[FactT], *conditions: ColumnElement[bool]
) -> list[FactT]:
    facts = _facts(conn, agent, events.c.type == _NAME_OF[kind], *conditions)
    return cast("list[FactT]", facts)  # the column tells of which struct a body is, as its tag does


def _window(start: int, end: int) -> list[ColumnElement[bool]]:
    return [events.c.at >= start, events.c.at < end]


def _natural(fact: Fact) -> list[tuple[int, str]]:
    """Sort key of an id under which e2 comes before e10, however many digits somebody wrote."""
    parts = _NUMBER.split(fact.id)
    return [(len(part.lstrip("0")), part.lstrip("0")) if i % 2 else (0, part) for i, part in enumerate(parts)]
