"""Values under keys of a collection, as agent graphs keep them: each is an item of the library.

Items never change, so another value under a key is a new version; what it replaces, and what a graph deletes, lies in
the archive. What was told to the library otherwise is there too, under its own id.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from memory.errors import RefusedError
from memory.library import archive, intake
from memory.library.embedder import Embedded, embed
from memory.library.item import SHARED, item_of
from memory.library.search import SearchFilters, search
from memory.store import library as rows
from retro.periods import format_instant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection

    from memory.library.embedder import Embedder
    from memory.library.item import LibraryItem
    from memory.store.library import StoredItem
    from retro.store.database import Store

__all__ = ["StoredValue", "drop_value", "put_value", "search_values", "value_under", "values"]

_VALUE: Final = "graph_value"
_KEY: Final = "graph_key"
_DELETED: Final = "deleted by its graph"
_REPLACED: Final = "replaced by its graph"


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A value under a key: of all versions of an item the newest, outside of the archive. `score`: of a search."""

    namespace: tuple[str, str]
    key: str
    value: dict[str, Any]
    created_at: int
    updated_at: int
    score: float | None = None


def value_under(conn: Connection, agent: str, collection: str, key: str) -> StoredValue | None:
    """What lies under a key: by a graph, else the item of that id in the collection; None: nothing outside the archive."""
    versions = _versions(conn, agent, _base(collection, key)) or [
        row for row in rows.rows(conn, agent, [key]).values() if row.collection == collection
    ]
    if not versions or versions[-1].archive is not None:
        return None
    return _value_of(conn, intake.get(conn, agent, versions[-1].id).item)


def values(conn: Connection, agent: str | None, collection: str | None) -> Iterator[StoredValue]:
    """Everything outside of the archive, in order of agent and id; of None: of every agent, of every collection."""
    for owner in [agent] if agent is not None else [name for name in rows.agents(conn) if name != SHARED]:
        ids = [
            row.id
            for row in rows.all_rows(conn, owner)
            if row.archive is None and collection in (None, row.collection)
        ]
        for item in intake.get_many(conn, owner, ids):
            yield _value_of(conn, item)


def search_values(
    conn: Connection, embedder: Embedder | None, text: str, agent: str | None, collection: str | None, k: int
) -> list[StoredValue]:
    """The k values nearest in meaning, best first; the shared library's are none of them."""
    filters = SearchFilters(collection=collection)
    answer = search(conn, text, embedder, agent=agent, filters=filters, k=k)
    own = [
        hit for hit in answer.hits if hit.item.agent == agent or (agent is None and hit.item.agent != SHARED)
    ]
    return [replace(_value_of(conn, hit.item), score=hit.score) for hit in own]


def put_value(
    store: Store,
    embedder: Embedder | None,
    agent: str,
    collection: str,
    key: str,
    value: Mapping[str, Any],
    text: str,
    *,
    at: int,
) -> None:
    """A value under a key, found by `text`; the same again changes nothing. It is embedded before the transaction."""
    with store.read() as conn:
        before = value_under(conn, agent, collection, key)
    if before is not None and before.value == value:
        return
    item = _item(agent, collection, key, value, text, at)
    embedded = None if embedder is None else embed(embedder, [item])
    with store.write() as conn:
        rows.lock(conn, agent)
        versions = _versions(conn, agent, item.id)
        _put_away(conn, agent, versions, at, _REPLACED)
        item, embedded = _as_version(item, embedded, len(versions) + 1)
        done = intake.add(conn, [item], embedded=embedded)
        if done.stored != 1:
            reasons = [fault.reason for fault in done.faults] + [entry.reason for entry in done.conflicts]
            raise RefusedError(f"{key}: {reasons[0] if reasons else 'is there already'}")


def drop_value(store: Store, agent: str, collection: str, key: str, *, at: int) -> None:
    """Put what lies under a key into the archive; nothing where nothing does."""
    with store.write() as conn:
        _put_away(conn, agent, _versions(conn, agent, _base(collection, key)), at, _DELETED)


def _item(agent: str, collection: str, key: str, value: Mapping[str, Any], text: str, at: int) -> LibraryItem:
    try:
        stated = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise RefusedError(f"{key}: the value is not JSON: {error}") from None
    return item_of(
        {
            "id": _base(collection, key),
            "agent": agent,
            "at": format_instant(at),
            "text": text,
            "collection": collection,
            "metadata": {_KEY: key, _VALUE: stated},
        }
    )


def _base(collection: str, key: str) -> str:
    """The id of the first version of what lies under a key."""
    return f"{collection}/{key}"


def _versions(conn: Connection, agent: str, base: str) -> list[StoredItem]:
    """Every version of an item, the first one first."""
    edges = rows.edges_down(conn, (agent,), [base])
    ids = [base, *(edge.child for edge in edges if edge.kind == "version")]
    return sorted(rows.rows(conn, agent, ids).values(), key=lambda row: row.number)


def _as_version(
    item: LibraryItem, embedded: Embedded | None, number: int
) -> tuple[LibraryItem, Embedded | None]:
    """The item as the n-th version, with its vector; the first is the item itself."""
    if number == 1:
        return item, embedded
    version = replace(item, id=f"{item.id}@{number}", version_of=item.id)
    if embedded is not None:
        blobs = {(agent, version.id): blob for (agent, _), blob in embedded.vectors.items()}
        embedded = replace(embedded, vectors=blobs)
    return version, embedded


def _put_away(conn: Connection, agent: str, versions: list[StoredItem], at: int, reason: str) -> None:
    archive.archive_items(conn, agent, [row.id for row in versions if row.archive is None], at, reason)


def _value_of(conn: Connection, item: LibraryItem) -> StoredValue:
    stated, key = item.metadata.get(_VALUE), item.metadata.get(_KEY)
    namespace = (item.agent, item.collection)
    if not isinstance(stated, str) or not isinstance(key, str):
        return StoredValue(namespace, item.id, {**item.metadata, "text": item.text}, item.at, item.at)
    first = rows.rows(conn, item.agent, [item.version_of or item.id])
    created_at = min((row.at for row in first.values()), default=item.at)
    return StoredValue(namespace, key, json.loads(stated), created_at, item.at)
