"""Where items stand in the layers, and what happened there: every statement about it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from memory.store.library_tables import items, layer_events, layer_states

if TYPE_CHECKING:
    from collections.abc import Sequence

_COLUMNS: Final = ("id", "layer", "importance", "recency", "delta", "access_counter")
_ITEM: Final = sa.and_(layer_states.c.agent == items.c.agent, layer_states.c.id == items.c.id)
_AGED: Final = sa.or_(layer_states.c.delta > 0, layer_states.c.access_counter != 0)
_UPDATE_SQLITE: Final = (
    "UPDATE memory_layer_state SET layer = ?, importance = ?, recency = ?, delta = ?, access_counter = ?"
    " WHERE agent = ? AND id = ?"
)
_UPDATE_POSTGRESQL: Final = (
    "UPDATE memory_layer_state AS state SET layer = fresh.layer, importance = fresh.importance,"
    " recency = fresh.recency, delta = fresh.delta, access_counter = fresh.access_counter"
    " FROM unnest(%s::text[], %s::text[], %s::float8[], %s::float8[], %s::bigint[], %s::bigint[])"
    " AS fresh (id, layer, importance, recency, delta, access_counter)"
    " WHERE state.agent = %s AND state.id = fresh.id"
)


@dataclass(frozen=True, slots=True)
class StoredState:
    """Where an item stands; `number` and `at` are the item's own, `importance` None: no step has begun it."""

    id: str
    layer: str
    importance: float | None
    recency: float
    delta: int
    access_counter: int
    number: int
    at: int


@dataclass(frozen=True, slots=True)
class LayerEvent:
    """Something that happened in the layers of a symbol: a step, feedback of an item, a reflection."""

    symbol: str
    at: int
    kind: str
    subject: str
    document: str


def states_of(conn: Connection, agent: str, symbol: str) -> list[StoredState]:
    """Every item in the layers of a symbol, in order of arrival."""
    columns = (*(layer_states.c[name] for name in _COLUMNS), items.c.number, items.c.at)
    query = sa.select(*columns).join(items, _ITEM).where(*_own(agent, symbol)).order_by(items.c.number)
    return [StoredState(*row) for row in conn.execute(query)]


def aged_states(conn: Connection, agent: str, symbol: str) -> Sequence[Sequence[Any]]:
    """(id, layer, importance, recency, delta, access counter) of each item of a symbol's layers that a step has aged.

    In no order, and as the driver gives them, like `update_states`.
    """
    query = sa.select(*(layer_states.c[name] for name in _COLUMNS)).where(*_own(agent, symbol), _AGED)
    return _driver_rows(conn, query)


def fresh_states(conn: Connection, agent: str, symbol: str, at: int, stating: str) -> Sequence[Sequence[Any]]:
    """(id, layer, importance, the item's instant, its document) of the others, as far as they were known at `at`.

    The document is None where `stating` is no part of it: most state nothing, and reading them costs more than a step.
    """
    position = sa.func.strpos if conn.dialect.name == "postgresql" else sa.func.instr
    document = sa.case((position(items.c.document, stating) > 0, items.c.document))
    columns = (*(layer_states.c[name] for name in ("id", "layer", "importance")), items.c.at, document)
    query = sa.select(*columns).join(items, _ITEM)
    return _driver_rows(conn, query.where(*_own(agent, symbol), ~_AGED, items.c.at <= at))


def _own(agent: str, symbol: str) -> tuple[sa.ColumnElement[bool], ...]:
    return layer_states.c.agent == agent, layer_states.c.symbol == symbol


def _driver_rows(conn: Connection, query: sa.Select[Any]) -> Sequence[Sequence[Any]]:
    result = conn.execute(query)
    rows: Sequence[Sequence[Any]] = result.cursor.fetchall() if result.cursor is not None else ()
    return rows


def update_states(conn: Connection, agent: str, columns: Sequence[Sequence[Any]]) -> None:
    """Write where items stand: columns of id, layer, importance, recency, delta, access counter, all of one length.

    By the driver, without the toolkit between: ten thousand rows must not take longer than what is done with them.
    """
    if not columns[0]:
        return
    if conn.dialect.name == "postgresql":
        conn.exec_driver_sql(_UPDATE_POSTGRESQL, (*(list(column) for column in columns), agent))
    else:
        ids, *figures = columns
        rows = list(zip(*figures, repeat(agent), ids, strict=False))  # an endless agent
        conn.exec_driver_sql(_UPDATE_SQLITE, rows)


def drop_states(conn: Connection, agent: str, ids: Sequence[str]) -> None:
    """Take items out of the layers."""
    for start in range(0, len(ids), 500):
        chunk = ids[start : start + 500]
        conn.execute(
            sa.delete(layer_states).where(layer_states.c.agent == agent, layer_states.c.id.in_(chunk))
        )


def symbols(conn: Connection, agent: str) -> list[str]:
    """The symbols in whose layers the agent has items, in order; "" for those of none."""
    query = sa.select(layer_states.c.symbol).where(layer_states.c.agent == agent).distinct()
    return sorted(conn.execute(query).scalars())


def symbols_of(conn: Connection, agent: str, ids: Sequence[str]) -> dict[str, str]:
    """Id -> symbol of those that are items of the agent's library, also where they are in no layer any more."""
    by_id: dict[str, str] = {}
    for start in range(0, len(ids), 500):
        query = sa.select(items.c.id, items.c.symbol).where(
            items.c.agent == agent, items.c.id.in_(ids[start : start + 500])
        )
        by_id.update((row.id, row.symbol or "") for row in conn.execute(query))
    return by_id


def agents_in_layers(conn: Connection) -> list[str]:
    """Every agent with items in layers, in order of name."""
    return sorted(conn.execute(sa.select(layer_states.c.agent).distinct()).scalars())


def note(conn: Connection, agent: str, events: Sequence[LayerEvent]) -> None:
    """Store what happened; what is stored already stays."""
    if events:
        make = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
        names = LayerEvent.__slots__
        values = [{"agent": agent, **{name: getattr(event, name) for name in names}} for event in events]
        conn.execute(make(layer_events).on_conflict_do_nothing(), values)


def events(
    conn: Connection, agent: str, kind: str, symbol: str | None = None, *, since: int | None = None
) -> list[LayerEvent]:
    """What happened of a kind, in order of time: of one symbol or of all, from an instant on or ever."""
    names = LayerEvent.__slots__
    query = sa.select(*(layer_events.c[name] for name in names))
    query = query.where(layer_events.c.agent == agent, layer_events.c.kind == kind)
    if symbol is not None:
        query = query.where(layer_events.c.symbol == symbol)
    if since is not None:
        query = query.where(layer_events.c.at >= since)
    order = (layer_events.c.at, layer_events.c.symbol, layer_events.c.subject)
    return [LayerEvent(*row) for row in conn.execute(query.order_by(*order))]


def latest(conn: Connection, agent: str, symbol: str, kind: str) -> LayerEvent | None:
    """The newest event of a kind of a symbol, or None."""
    return next(iter(newest(conn, agent, symbol, kind, 1)), None)


def newest(conn: Connection, agent: str, symbol: str, kind: str, most: int) -> list[LayerEvent]:
    """The newest events of a kind of a symbol, the newest first."""
    names = LayerEvent.__slots__
    query = sa.select(*(layer_events.c[name] for name in names)).where(
        layer_events.c.agent == agent, layer_events.c.symbol == symbol, layer_events.c.kind == kind
    )
    return [LayerEvent(*row) for row in conn.execute(query.order_by(layer_events.c.at.desc()).limit(most))]
