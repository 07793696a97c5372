"""What could not be used and why, kept until its source is read afresh, and which agents a source tells of.

A fault is an agent's where its line names the agent, and where it names none and stands in a source of the agent's.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import and_, delete, func, insert, or_, select

from retro.model import Fault
from retro.store.facts.agents import key_of, key_query
from retro.store.locks import lock_faults
from retro.store.schema import faults as table
from retro.store.schema import insert_into, name_of, source_agents, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import ColumnElement, Connection

__all__ = [
    "NumberedFault",
    "SourceFault",
    "add",
    "all",
    "count",
    "forget",
    "numbered",
    "of_agent",
    "tell_of",
]

_LONGEST_REASON: Final = 2000


def add(conn: Connection, where: str, faults: Sequence[Fault]) -> int:
    """Keep the faults of a source (`where`), each (place, line, reason) once; how many were new."""
    if not faults:
        return 0
    lock_faults(conn)
    source = _source(where)
    last = conn.execute(select(func.coalesce(func.max(table.c.seq), 0))).scalar_one()
    rows = {
        key: {
            "key": key,
            "source": source,
            "place": place,
            "line": fault.line,
            "reason": reason,
            "agent": fault.agent,
        }
        for fault, place, reason in ((f, _plain(f.where), _plain(f.reason)) for f in faults)
        for key in (_key(source, place, fault.line, reason),)
    }
    stored_keys = set(conn.execute(select(table.c.key).where(within(conn, table.c.key, rows))).scalars())
    fresh = [
        {**row, "seq": seq}
        for seq, row in enumerate((r for r in rows.values() if r["key"] not in stored_keys), last + 1)
    ]
    if fresh:
        conn.execute(insert(table), fresh)
    return len(fresh)


def tell_of(conn: Connection, where: str, agents: Iterable[str]) -> None:
    """Note that a source tells of these agents: what nobody is named for in it is theirs."""
    rows = [{"agent": key_of(conn, name), "source": _source(where)} for name in sorted(agents)]
    if rows:
        conn.execute(insert_into(conn, source_agents).on_conflict_do_nothing(), rows)


def all(  # noqa: A001  read as faults.all
    conn: Connection, where: str | None = None, *, agent: str | None = None
) -> list[Fault]:
    """The faults that are kept, of one source, of one agent or every one, in order of arrival."""
    query = select(table.c.place, table.c.line, table.c.reason, table.c.agent).order_by(table.c.seq)
    if where is not None:
        query = query.where(table.c.source == _source(where))
    if agent is not None:
        query = query.where(_of(conn, agent))
    return [Fault(*row) for row in conn.execute(query)]


class NumberedFault(NamedTuple):
    """A fault and its number: those of one database ascend in order of arrival."""

    number: int
    fault: Fault


def numbered(
    conn: Connection, agent: str | None, *, after: int | None, limit: int, newest: bool = False
) -> list[NumberedFault]:
    """At most `limit` faults, or one agent's, that follow a number (None: from the first on), in order of arrival."""
    c = table.c
    query = select(c.seq, c.place, c.line, c.reason, c.agent)
    if agent is not None:
        query = query.where(_of(conn, agent))
    if after is not None:
        query = query.where(c.seq < after if newest else c.seq > after)
    rows = conn.execute(query.order_by(c.seq.desc() if newest else c.seq).limit(limit))
    return [NumberedFault(seq, Fault(*parts)) for seq, *parts in rows]


class SourceFault(NamedTuple):
    """A fault with the source it stands in."""

    source: str
    place: str
    line: int | None
    reason: str
    agent: str | None


def of_agent(conn: Connection, agent: str) -> list[SourceFault]:
    """The faults of one agent with their sources, in order of arrival."""
    c = table.c
    query = select(c.source, c.place, c.line, c.reason, c.agent).where(_of(conn, agent)).order_by(c.seq)
    return [SourceFault(*row) for row in conn.execute(query)]


def count(conn: Connection, agent: str | None = None) -> int:
    """How many faults are kept, of one agent or of all."""
    query = select(func.count()).select_from(table)
    return conn.execute(query if agent is None else query.where(_of(conn, agent))).scalar_one()


def forget(conn: Connection, where: str, *, agents: bool = True) -> None:
    """Drop the faults of a source, before it is read afresh from its start, and (`agents`) whom it told of."""
    conn.execute(delete(table).where(table.c.source == _source(where)))
    if agents:
        conn.execute(delete(source_agents).where(source_agents.c.source == _source(where)))


def _of(conn: Connection, agent: str) -> ColumnElement[bool]:
    """What names the agent, and what names nobody in its sources, which are asked for first: each has an index then."""
    sources = select(source_agents.c.source).where(source_agents.c.agent == key_query(agent))
    unnamed = within(conn, table.c.source, conn.execute(sources).scalars().all())
    return or_(table.c.agent == agent, and_(table.c.agent.is_(None), unnamed))


def _source(where: str) -> str:
    return name_of(_plain(where))


def _plain(text: str) -> str:
    """Foreign text that every database takes: no NUL, no lone surrogate, no book."""
    return text[:_LONGEST_REASON].replace("\0", "\N{SYMBOL FOR NULL}").encode("utf-8", "replace").decode()


def _key(source: str, place: str, line: int | None, reason: str) -> str:
    return hashlib.sha256("\n".join((source, place, str(line), reason)).encode()).hexdigest()
