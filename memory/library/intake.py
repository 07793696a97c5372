"""Adding items: new ones are stored whole (text, edges, vector, layer) or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from memory.errors import MissingError, RefusedError
from memory.library.columns import seal
from memory.library.item import (
    SHARED,
    ItemFault,
    LibraryItem,
    content_of,
    document,
    from_document,
    item_of,
    verified,
)
from memory.library.layers.content import layer_of_importance, stated_importance
from memory.library.lineage import circle, edges_of
from memory.library.texts import archived_texts
from memory.store import library as rows
from memory.store import vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from memory.library.embedder import Embedded
    from memory.store.library import LibraryHead, StoredItem

__all__ = [
    "AddedItems",
    "DisputedItem",
    "ShownItem",
    "add",
    "get",
    "get_many",
    "holders",
    "of_collection",
    "owners_of",
    "unknown",
    "validated",
]

_BATCH: Final = 512


@dataclass(frozen=True, slots=True)
class DisputedItem:
    """An item that was told before with other content, or was forgotten; what stands stays."""

    agent: str
    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class AddedItems:
    """What became of the items told: every one is stored, unchanged, disputed or at fault."""

    stored: int = 0
    unchanged: int = 0
    conflicts: tuple[DisputedItem, ...] = ()
    faults: tuple[ItemFault, ...] = ()

    def __add__(self, other: AddedItems) -> AddedItems:
        return AddedItems(
            self.stored + other.stored,
            self.unchanged + other.unchanged,
            self.conflicts + other.conflicts,
            self.faults + other.faults,
        )


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An item as it lies in the library: as it was told, and where it is now."""

    item: LibraryItem
    archived_at: int | None = None
    archive_reason: str | None = None


def validated(
    entries: Iterable[LibraryItem | Mapping[str, Any] | ItemFault],
    where: str = "-",
    not_after: int | None = None,
) -> tuple[list[LibraryItem], list[ItemFault]]:
    """Items as values and the faults among them; one whose instant lies after `not_after` is a fault."""
    items: list[LibraryItem] = []
    faults: list[ItemFault] = []
    for line, entry in enumerate(entries, start=1):
        try:
            if isinstance(entry, ItemFault):
                faults.append(entry)
                continue
            items.append(_entering(entry, not_after))
        except RefusedError as error:
            faults.append(ItemFault(where, line, str(error)))
    return items, faults


def _entering(entry: LibraryItem | Mapping[str, Any], not_after: int | None) -> LibraryItem:
    item = verified(entry) if isinstance(entry, LibraryItem) else item_of(entry)
    if not_after is not None and item.at > not_after:
        raise RefusedError("at: lies in the future")
    return item


def unknown(conn: Connection, items: Sequence[LibraryItem]) -> list[LibraryItem]:
    """Those that are not in the library, each once: what vectors are needed of, before a transaction is begun."""
    by_agent: dict[str, dict[str, LibraryItem]] = {}
    for item in items:
        by_agent.setdefault(item.agent, {}).setdefault(item.id, item)
    fresh = []
    for agent, by_id in sorted(by_agent.items()):
        stored = rows.contents(conn, agent, list(by_id))
        fresh += [item for identity, item in by_id.items() if identity not in stored]
    return fresh


def add(
    conn: Connection,
    entries: Iterable[LibraryItem | Mapping[str, Any] | ItemFault],
    *,
    embedded: Embedded | None = None,
    where: str = "-",
    not_after: int | None = None,
    sealing: bool = True,
) -> AddedItems:
    """Store items. One told twice changes nothing; told differently, forgotten, or in a circle, it is not applied.

    `embedded` holds the vectors that somebody made of their texts beforehand; an item without one is found by its words
    alone until the library is re-indexed. The caller owns the transaction; without `sealing` it seals later itself.
    """
    source, total = iter(entries), AddedItems()
    while batch := list(islice(source, _BATCH)):
        items, faults = validated(batch, where, not_after)
        total += AddedItems(faults=tuple(faults))
        by_agent: dict[str, list[LibraryItem]] = {}
        for item in items:
            by_agent.setdefault(item.agent, []).append(item)
        for agent in sorted(by_agent):  # one order of locks for every writer
            total += _stored(conn, agent, by_agent[agent], embedded, sealing=sealing)
    return total


def _stored(
    conn: Connection, agent: str, items: list[LibraryItem], embedded: Embedded | None, *, sealing: bool
) -> AddedItems:
    now = rows.lock(conn, agent)
    ids = [item.id for item in items]
    contents = rows.contents(conn, agent, ids)
    forgotten = rows.tombstones_of(conn, (agent,), ids)
    values, fresh, links, disputed, faults, unchanged = [], [], [], [], [], 0
    above: dict[str, set[str]] = {}
    for item in items:
        plain = document(item)
        content = content_of(plain, item.text)
        if item.id in forgotten:
            disputed.append(DisputedItem(agent, item.id, "was forgotten"))
        elif item.id not in contents:
            if circle(conn, agent, item, above):
                faults.append(ItemFault("-", None, f"{item.id}: parents: it would rest on itself"))
                continue
            contents[item.id] = content
            values.append(_row(item, plain, content))
            fresh.append(item)
            links += edges_of(item)
            above[item.id] = {edge.parent for edge in edges_of(item)}
        elif contents[item.id] == content:
            unchanged += 1
        else:
            disputed.append(DisputedItem(agent, item.id, "told before with other content"))
    now = rows.append(conn, agent, now, values)
    rows.link(conn, agent, links)
    rows.begin_layers(conn, agent, list(_states(fresh)))
    if embedded is not None:
        now = _store_vectors(conn, agent, now, embedded, [item.id for item in fresh])
    if sealing:
        seal(conn, agent, now)
    return AddedItems(len(values), unchanged, tuple(disputed), tuple(faults))


def _store_vectors(
    conn: Connection, agent: str, now: LibraryHead, embedded: Embedded, ids: Sequence[str]
) -> LibraryHead:
    """Store what was embedded of these; a model that is neither searched nor being built is not mixed in. The new head."""
    first = now.model is None and now.items == len(ids)  # older items without a vector wait for a re-indexing
    if first and any((agent, identity) in embedded.vectors for identity in ids):
        now = now._replace(model=embedded.model, dimensions=embedded.dimensions)
        rows.move(conn, agent, now)
    if embedded.model in (now.model, now.building):
        fresh = [(identity, embedded.vectors.get((agent, identity))) for identity in ids]
        vectors.store(conn, agent, embedded.model, [(name, vector) for name, vector in fresh if vector])
    return now


def _row(item: LibraryItem, plain: str, content: bytes) -> dict[str, Any]:
    return {
        "id": item.id,
        "at": item.at,
        "collection": item.collection,
        "symbol": item.symbol,
        "document": plain,
        "text": item.text,
        "content": content,
        "used_at": item.at,
    }


def _states(items: Iterable[LibraryItem]) -> Iterator[dict[str, Any]]:
    """Where those begin that are in a layer: the one they state, else the one that their content is worth."""
    for item in items:
        worth = None if item.layer else stated_importance(item.metadata)
        layer = item.layer if worth is None else layer_of_importance(worth)
        if layer is not None:
            row = {"id": item.id, "symbol": item.symbol or "", "layer": layer, "importance": item.importance}
            yield row


def get(conn: Connection, agent: str, identity: str) -> ShownItem:
    """An item as the agent sees it: its own of that id, else the shared one; `MissingError` says what became of it."""
    for owner in dict.fromkeys((agent, SHARED)):
        row = rows.rows(conn, owner, [identity]).get(identity)
        if row is not None:
            return _shown(conn, owner, row)
        stone = rows.tombstones_of(conn, (owner,), [identity]).get(identity)
        if stone is not None:
            raise MissingError(f"item {identity!r} was forgotten by {stone.who}")
    raise MissingError(f"no item {identity!r} in the library")


def _shown(conn: Connection, agent: str, row: StoredItem) -> ShownItem:
    """A stored row as an item; its text is read from the archive where it lies there."""
    text = row.text
    if text is None:
        text = archived_texts(conn, agent, [row])[row.id]
    return ShownItem(from_document(agent, row.document, text), row.archived_at, row.archive_reason)


def get_many(conn: Connection, agent: str, ids: Sequence[str]) -> list[LibraryItem]:
    """Those of these items that lie in the agent's own library, in the order given."""
    stored = rows.rows(conn, agent, ids)
    texts = archived_texts(conn, agent, [row for row in stored.values() if row.text is None])
    return [
        from_document(agent, row.document, row.text if row.text is not None else texts[row.id])
        for row in (stored[identity] for identity in ids if identity in stored)
    ]


def owners_of(conn: Connection, agent: str | None) -> tuple[str, ...]:
    """The libraries an agent sees: its own and the shared one; of nobody in particular (None) all there are."""
    return tuple(rows.agents(conn)) if agent is None else tuple(dict.fromkeys((agent, SHARED)))


def holders(conn: Connection, identity: str) -> list[str]:
    """Who has an item of this id, had one, or has items that rest on what is called so, in order of name."""
    return [
        agent
        for agent in rows.agents(conn)
        if rows.contents(conn, agent, [identity])
        or rows.tombstones_of(conn, (agent,), [identity])
        or rows.edges_down(conn, (agent,), [identity])
    ]


def of_collection(conn: Connection, agent: str, collection: str) -> list[ShownItem]:
    """Every item of a collection of one library, in order of id."""
    stored = [row for row in rows.all_rows(conn, agent) if row.collection == collection]
    return [_shown(conn, agent, row) for row in stored]
