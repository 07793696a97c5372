"""Two agents' memories become one: the episodes and judgements of one are appended to the ledgers of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from memory.store import archives as archived
from memory.store import library
from memory.store.ledger import Judged, append, judge, lock
from memory.store.library_tables import (
    archives,
    edges,
    item_blocks,
    items,
    layer_events,
    layer_states,
    libraries,
    searches,
    tombstones,
    vectors,
)
from memory.store.tables import (
    agents,
    amendments,
    beliefs,
    blocks,
    episodes,
    halts,
    plan_events,
    plans,
    retrospectives,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["merge", "shared_ids"]

_IDENTIFIED: Final = {
    "episode": episodes,
    "plan": plans,
    "belief": beliefs,
    "item": items,
    "forgotten item": tombstones,
}
_CHANGE: Final = ("field", "old", "new", "reason")


def shared_ids(conn: Connection, agent: str, successor: str) -> list[tuple[str, str]]:
    """(what, id) of everything that both agents remember under one id, in order."""
    shared = []
    for what, table in _IDENTIFIED.items():
        other = table.alias()
        query = (
            sa.select(table.c.id)
            .join(other, sa.and_(other.c.id == table.c.id, other.c.agent == successor))
            .where(table.c.agent == agent)
        )
        shared += sorted((what, id_) for id_ in conn.execute(query).scalars())
    return shared


def merge(conn: Connection, agent: str, successor: str) -> None:
    """Append an agent's memory to that of its successor, with whom it shares no id; nothing of it stays under its name."""
    lock(conn, agent)
    now = lock(conn, successor)
    told = sa.select(episodes.c.id, episodes.c.at, episodes.c.document).where(episodes.c.agent == agent)
    rows = [tuple(row) for row in conn.execute(told.order_by(episodes.c.number))]
    shift = now.episodes
    now = append(conn, successor, now, rows)
    changes: dict[int, list[dict[str, Any]]] = {}
    of_agent = sa.select(amendments).where(amendments.c.agent == agent)
    for row in conn.execute(of_agent.order_by(amendments.c.retrospective, amendments.c.field)):
        changes.setdefault(row.retrospective, []).append({name: getattr(row, name) for name in _CHANGE})
    query = sa.select(retrospectives).where(retrospectives.c.agent == agent)
    for row in conn.execute(query.order_by(retrospectives.c.number)).all():
        judged = Judged(now.retrospectives, row.episode + shift, row.at, row.review, row.document)
        now = judge(conn, successor, now, judged, changes.get(row.number, ()))
    for table in (beliefs, plans, plan_events):
        conn.execute(sa.update(table).where(table.c.agent == agent).values(agent=successor))
    _merge_halts(conn, agent, successor)
    for table in (amendments, retrospectives, episodes, blocks, agents):
        conn.execute(sa.delete(table).where(table.c.agent == agent))
    if library.head(conn, agent) != library.EMPTY:
        _merge_libraries(conn, agent, successor)


def _merge_libraries(conn: Connection, agent: str, successor: str) -> None:
    """Append the items of one library to those of the other; what an item is beside its text goes with it.

    Vectors of the model that the successor does not search stay aside until it is re-indexed.
    """
    library.lock(conn, agent)
    now = library.lock(conn, successor)
    added = [row._asdict() for row in conn.execute(_items_of(agent))]
    for table in (item_blocks, searches):
        conn.execute(sa.delete(table).where(table.c.agent.in_((agent, successor))))
    shift = archived.next_number(conn, successor)
    conn.execute(
        sa.update(archives).where(archives.c.agent == agent).values(number=archives.c.number + shift)
    )
    for row in added:
        row["archive"] = None if row["archive"] is None else row["archive"] + shift
    conn.execute(sa.delete(items).where(items.c.agent == agent))
    now = library.append(conn, successor, now, added)
    for table in (edges, tombstones, vectors, archives, layer_states):
        conn.execute(sa.update(table).where(table.c.agent == agent).values(agent=successor))
    _merge_layer_events(conn, agent, successor)
    other = library.head(conn, agent)
    if now.model is None:
        now = now._replace(model=other.model, dimensions=other.dimensions)
    library.changed(conn, successor, now, "merge", agent)
    conn.execute(sa.delete(libraries).where(libraries.c.agent == agent))


def _items_of(agent: str) -> sa.Select[Any]:
    columns = [column for column in items.c if column.name not in ("agent", "number", "digest")]
    return sa.select(*columns).where(items.c.agent == agent).order_by(items.c.number)


def _merge_layer_events(conn: Connection, agent: str, successor: str) -> None:
    """Both histories of layers as one; where both stepped a symbol at one instant, the successor's step stays."""
    other = layer_events.alias()
    same = [layer_events.c[name] == other.c[name] for name in ("symbol", "at", "kind", "subject")]
    doubled = sa.exists().where(other.c.agent == successor, *same)
    conn.execute(sa.delete(layer_events).where(layer_events.c.agent == agent, doubled))
    conn.execute(sa.update(layer_events).where(layer_events.c.agent == agent).values(agent=successor))


def _merge_halts(conn: Connection, agent: str, successor: str) -> None:
    """Both stories of halts as one, in order of time."""
    both = halts.c.agent.in_((agent, successor))
    query = sa.select(halts.c.at, halts.c.halted, halts.c.reason).where(both)
    rows = conn.execute(query.order_by(halts.c.at, halts.c.agent, halts.c.number)).all()
    conn.execute(sa.delete(halts).where(both))
    values = [
        {"agent": successor, "number": number, "at": row.at, "halted": row.halted, "reason": row.reason}
        for number, row in enumerate(rows)
    ]
    if values:
        conn.execute(sa.insert(halts), values)
