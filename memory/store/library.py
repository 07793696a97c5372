"""Heads of libraries, items, edges and tombstones: every statement about what was told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from memory.store.ledger import chained
from memory.store.library_tables import edges, items, layer_states, libraries, tombstones

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_CHUNK: Final = 500
_START: Final = b"\0" * 16
_T = TypeVar("_T")


class LibraryHead(NamedTuple):
    """How far a library reaches: `items` were ever added; the digests name all that was added and changed since."""

    items: int
    item_digest: bytes
    change_digest: bytes
    model: str | None
    dimensions: int | None
    building: str | None


@dataclass(frozen=True, slots=True)
class StoredItem:
    """A row of an item; `text` is None while it lies in archive block `archive`."""

    id: str
    number: int
    at: int
    collection: str
    document: str
    text: str | None
    content: bytes
    used_at: int
    archive: int | None
    archived_at: int | None
    archive_reason: str | None


@dataclass(frozen=True, slots=True)
class Edge:
    """`child` rests on `parent`, or (kind `version`) is a version of it."""

    child: str
    parent: str
    kind: str


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What remains of a forgotten item."""

    id: str
    at: int
    who: str


EMPTY: Final = LibraryHead(0, _START, _START, None, None, None)
_HEAD = sa.select(*(libraries.c[name] for name in LibraryHead._fields)).where(
    libraries.c.agent == sa.bindparam("agent")
)
_ROW = tuple(items.c[name] for name in StoredItem.__slots__)


def head(conn: Connection, agent: str) -> LibraryHead:
    """The head of the agent's library; `EMPTY` of one that holds nothing."""
    row = conn.execute(_HEAD, {"agent": agent}).one_or_none()
    return LibraryHead(*row) if row is not None else EMPTY


def lock(conn: Connection, agent: str) -> LibraryHead:
    """The head, held against other writers until the caller's transaction ends."""
    make = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
    values = {"agent": agent, **EMPTY._asdict()}
    conn.execute(make(libraries).values(values).on_conflict_do_nothing())
    return LibraryHead(*conn.execute(_HEAD.with_for_update(), {"agent": agent}).one())


def move(conn: Connection, agent: str, then: LibraryHead) -> None:
    """Write the head; the caller holds its lock."""
    conn.execute(sa.update(libraries).where(libraries.c.agent == agent).values(then._asdict()))


def changed(conn: Connection, agent: str, now: LibraryHead, *what: str) -> LibraryHead:
    """Note in the locked head that items stand elsewhere (layers, archive): every cache reads that anew."""
    then = now._replace(change_digest=chained(now.change_digest, *what))
    move(conn, agent, then)
    return then


def rewritten(conn: Connection, agent: str, now: LibraryHead, *what: str) -> LibraryHead:
    """Note in the locked head that items are gone or have other vectors: every cache is built anew."""
    then = now._replace(item_digest=chained(now.item_digest, *what))
    move(conn, agent, then)
    return then


def agents(conn: Connection) -> list[str]:
    """Every agent with a library, `SHARED` among them, in order of name."""
    return sorted(conn.execute(sa.select(libraries.c.agent)).scalars())


def append(conn: Connection, agent: str, now: LibraryHead, rows: Sequence[dict[str, Any]]) -> LibraryHead:
    """Add items (rows without agent, number, digest) behind the locked head; the new head."""
    if not rows:
        return now
    digest, values = now.item_digest, []
    for number, row in enumerate(rows, start=now.items):
        digest = chained(digest, row["id"], row["content"].hex())
        values.append({"agent": agent, "number": number, "digest": digest, **row})
    conn.execute(sa.insert(items), values)
    then = now._replace(items=now.items + len(values), item_digest=digest)
    move(conn, agent, then)
    return then


def digest_at(conn: Connection, agent: str, number: int) -> bytes | None:
    """The chained digest of the item with this number; None where there is none."""
    query = sa.select(items.c.digest).where(items.c.agent == agent, items.c.number == number)
    return conn.execute(query).scalar_one_or_none()


def contents(conn: Connection, agent: str, ids: Sequence[str]) -> dict[str, bytes]:
    """The digests of what was told of those of these ids that are there."""
    digests: dict[str, bytes] = {}
    for chunk in _chunks(ids):
        query = sa.select(items.c.id, items.c.content).where(items.c.agent == agent, items.c.id.in_(chunk))
        digests.update((row.id, row.content) for row in conn.execute(query))
    return digests


def count(conn: Connection, agent: str) -> int:
    """How many items there are: those that were forgotten do not count."""
    query = sa.select(sa.func.count()).select_from(items).where(items.c.agent == agent)
    return int(conn.execute(query).scalar_one())


def rows(conn: Connection, agent: str, ids: Sequence[str]) -> dict[str, StoredItem]:
    """Those of these items that are there."""
    by_id: dict[str, StoredItem] = {}
    for chunk in _chunks(ids):
        query = sa.select(*_ROW).where(items.c.agent == agent, items.c.id.in_(chunk))
        by_id.update((row.id, StoredItem(*row)) for row in conn.execute(query))
    return by_id


def numbered(conn: Connection, agent: str, numbers: Sequence[int]) -> dict[int, StoredItem]:
    """The items with these numbers."""
    by_number: dict[int, StoredItem] = {}
    for chunk in _chunks(numbers):
        query = sa.select(*_ROW).where(items.c.agent == agent, items.c.number.in_(chunk))
        by_number.update((row.number, StoredItem(*row)) for row in conn.execute(query))
    return by_number


def ids_of(conn: Connection, agent: str, numbers: Sequence[int]) -> dict[int, str]:
    """Number -> id of the items with these numbers."""
    by_number: dict[int, str] = {}
    for chunk in _chunks(numbers):
        query = sa.select(items.c.number, items.c.id).where(items.c.agent == agent, items.c.number.in_(chunk))
        by_number.update((row[0], row[1]) for row in conn.execute(query))
    return by_number


def all_rows(conn: Connection, agent: str) -> Iterator[StoredItem]:
    """Every item of the library in order of id, read as they are asked for."""
    query = sa.select(*_ROW).where(items.c.agent == agent).order_by(items.c.id)
    return (StoredItem(*row) for row in conn.execute(query.execution_options(yield_per=_CHUNK)))


def link(conn: Connection, agent: str, links: Iterable[Edge]) -> None:
    """Store edges."""
    values = [
        {"agent": agent, "child": edge.child, "parent": edge.parent, "kind": edge.kind} for edge in links
    ]
    if values:
        conn.execute(sa.insert(edges), values)


def edges_up(conn: Connection, owners: Sequence[str], ids: Sequence[str]) -> list[Edge]:
    """The edges from these items to what they rest on."""
    return _edges(conn, owners, "child", ids)


def edges_down(conn: Connection, owners: Sequence[str], ids: Sequence[str]) -> list[Edge]:
    """The edges from these items to what rests on them."""
    return _edges(conn, owners, "parent", ids)


def _edges(conn: Connection, owners: Sequence[str], side: str, ids: Sequence[str]) -> list[Edge]:
    columns = (edges.c.child, edges.c.parent, edges.c.kind)
    found_edges: set[Edge] = set()
    for chunk in _chunks(ids):
        query = sa.select(*columns).where(edges.c.agent.in_(owners), edges.c[side].in_(chunk))
        found_edges.update(Edge(*row) for row in conn.execute(query))
    return sorted(found_edges, key=lambda edge: (edge.child, edge.parent, edge.kind))


def tombstones_of(conn: Connection, owners: Sequence[str], ids: Sequence[str]) -> dict[str, Tombstone]:
    """Those of these items that were forgotten."""
    by_id: dict[str, Tombstone] = {}
    columns = (tombstones.c.id, tombstones.c.at, tombstones.c.who)
    for chunk in _chunks(ids):
        query = sa.select(*columns).where(tombstones.c.agent.in_(owners), tombstones.c.id.in_(chunk))
        by_id.update((row.id, Tombstone(*row)) for row in conn.execute(query))
    return by_id


def all_tombstones(conn: Connection, agent: str) -> list[Tombstone]:
    """Every forgotten item of the library, in order of id."""
    columns = (tombstones.c.id, tombstones.c.at, tombstones.c.who)
    query = sa.select(*columns).where(tombstones.c.agent == agent).order_by(tombstones.c.id)
    return [Tombstone(*row) for row in conn.execute(query)]


class LayerRow(NamedTuple):
    """How an item stands in its layer."""

    layer: str
    importance: float | None
    recency: float
    delta: int
    access_counter: int


_STATE: Final = LayerRow._fields


def layer_rows(conn: Connection, agent: str, ids: Sequence[str]) -> dict[str, LayerRow]:
    """Where those of these items stand that are in a layer."""
    by_id: dict[str, LayerRow] = {}
    for chunk in _chunks(ids):
        columns = (layer_states.c.id, *(layer_states.c[name] for name in _STATE))
        query = sa.select(*columns).where(layer_states.c.agent == agent, layer_states.c.id.in_(chunk))
        by_id.update((row.id, LayerRow(*row[1:])) for row in conn.execute(query))
    return by_id


def put_layer(conn: Connection, agent: str, identity: str, state: Mapping[str, Any]) -> None:
    """Let an item stand in its layer where it stood elsewhere."""
    own = sa.and_(layer_states.c.agent == agent, layer_states.c.id == identity)
    conn.execute(sa.update(layer_states).where(own).values({name: state[name] for name in _STATE}))


def by_collection(conn: Connection, agent: str) -> dict[str, int]:
    """Collection -> items."""
    return _tally(conn, items.c.collection, items.c.agent == agent)


def by_layer(conn: Connection, agent: str) -> dict[str, int]:
    """Layer -> items in it, the archived ones too."""
    return _tally(conn, layer_states.c.layer, layer_states.c.agent == agent)


def mean_importance(conn: Connection, agent: str) -> float | None:
    """The mean over the items in layers whose importance is known; None where there is none."""
    query = sa.select(layer_states.c.importance).where(
        layer_states.c.agent == agent, layer_states.c.importance.is_not(None)
    )
    values = list(conn.execute(query).scalars())
    return math.fsum(values) / len(values) if values else None


def _tally(conn: Connection, column: sa.Column[Any], own: sa.ColumnElement[bool]) -> dict[str, int]:
    query = sa.select(column, sa.func.count()).where(own).group_by(column)
    return {str(row[0]): int(row[1]) for row in sorted(conn.execute(query).all())}


def begin_layers(conn: Connection, agent: str, states: Sequence[dict[str, Any]]) -> None:
    """Put new items into their layers: fresh, nothing decayed. Who changes layers later says so by `changed`."""
    if states:
        fresh = {"agent": agent, "recency": 1.0, "delta": 0, "access_counter": 0}
        conn.execute(sa.insert(layer_states), [{**fresh, **state} for state in states])


def _chunks(values: Sequence[_T]) -> Iterator[Sequence[_T]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]
