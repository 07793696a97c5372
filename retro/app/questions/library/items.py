"""Items of the library: told, looked for, shown. What is embedded is embedded before a transaction is begun."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from memory.library import archive, intake, lineage, reindex
from memory.library.columns import LEXICAL
from memory.library.embedder import embed
from memory.library.item import SHARED, ItemFault, item_as_json, read_items
from memory.library.search import SearchFilters, search
from memory.library.where import condition_of
from memory.store import vectors
from retro.app.experience.door import memory, translate_memory_errors
from retro.app.experience.imports import ImportResult, lines_of
from retro.app.experience.models import model_of_house
from retro.errors import StoreError, UsageError
from retro.ingest.source import open_source
from retro.model import Fault
from retro.store.facts import faults
from retro.store.facts.departures import departures

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memory.library.embedder import Embedder
    from memory.library.intake import AddedItems, ShownItem
    from memory.library.item import LibraryItem
    from memory.library.lineage import Lineage, LineageVersion
    from memory.library.search import ItemHit
    from retro.app.questions.experience import Experience

__all__ = [
    "FoundItems",
    "ItemView",
    "LibrarySearch",
    "add_file",
    "add_items",
    "item_lineage",
    "item_versions",
    "search_items",
    "show_item",
    "strategies",
]

_AT_ONCE: Final = 512
_MISSING: Final = 64
"""Items that a search gives vectors beforehand, at most: a library with more of them is re-indexed by its owner."""


@dataclass(frozen=True, slots=True)
class ItemView:
    """An item as it was told, and where it lies."""

    entry: ShownItem

    def document(self) -> dict[str, Any]:
        """The item's fields; `archived` is null outside of the archive."""
        at = self.entry.archived_at
        place = None if at is None else {"at": memory.written(at), "reason": self.entry.archive_reason}
        return item_as_json(self.entry.item) | {"archived": place}


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrarySearch:
    """What is looked for, as it was typed; `agent` None asks everybody's libraries. `at` is the wall clock, for the log."""

    text: str
    agent: str | None = None
    collection: str | None = None
    symbol: str | None = None
    layer: str | None = None
    where: Sequence[str] = ()
    since: int | None = None
    as_of: int | None = None
    min_score: float | None = None
    min_confidence: float | None = None
    archived: bool = False
    k: int = 5


@dataclass(frozen=True, slots=True)
class FoundItems:
    """The best hits, best first; `note` says why they were found by words alone."""

    model: str
    hits: Sequence[ItemHit] = field(default=())
    note: str | None = None

    def list_document(self) -> list[dict[str, Any]]:
        """What `retro library search --json` prints."""
        return [_hit(hit, self.model) for hit in self.hits]


def _hit(hit: ItemHit, model: str) -> dict[str, Any]:
    item = item_as_json(hit.item)
    parts = memory.as_document(hit.components)
    named = {name: item[name] for name in ("agent", "collection", "symbol", "at", "text", "metadata")}
    return (
        {"id": hit.item.id, "score": hit.score, "components": parts, "layer": hit.layer}
        | named
        | {
            "archived": hit.archived,
            "model": model,
        }
    )


def add_items(
    experience: Experience,
    entries: Iterable[Mapping[str, Any] | LibraryItem | ItemFault],
    *,
    where: str = "-",
    not_after: int | None = None,
    model: Embedder | None = None,
) -> AddedItems:
    """Store items batch by batch, each in a transaction of its own; those of agents that are gone are faults."""
    embedder = model if model is not None else model_of_house(experience.config)
    source, done = iter(entries), intake.AddedItems()
    while batch := list(islice(source, _AT_ONCE)):
        with translate_memory_errors():
            items, unusable = intake.validated(batch, where, not_after)
            with experience.store.read() as conn:
                gone = departures(conn)
                fresh = intake.unknown(conn, items) if embedder is not None else []
            departed = [item for item in items if item.agent != SHARED and gone.of(item.agent) is not None]
            unusable += [
                ItemFault(where, None, f"{item.id}: agent {item.agent} is gone") for item in departed
            ]
            items = [item for item in items if item not in departed] if departed else items
            if embedder is not None:
                _embed_missing(experience, {item.agent for item in fresh}, embedder)
            embedded = embed(embedder, fresh) if embedder is not None and fresh else None
            with experience.store.write() as conn:
                done += intake.add(conn, items, embedded=embedded, where=where)
        done += intake.AddedItems(faults=tuple(unusable))
    return done


def add_file(experience: Experience, path: str, *, not_after: int | None = None) -> ImportResult:
    """Store the items of a file of JSON Lines (.gz too, - for stdin); what cannot be used is kept as its faults."""
    where = "stdin" if path == "-" else path
    unread: list[ItemFault] = []
    with translate_memory_errors(), open_source(path) as stream:
        with experience.store.write() as conn:
            faults.forget(conn, where)  # this reading says afresh what is wrong with it
        lines = lines_of(stream, where, unread, ItemFault)
        done = add_items(experience, read_items(lines, where), where=where, not_after=not_after)
    done += intake.AddedItems(faults=tuple(unread))
    if done.faults:
        with experience.store.write() as conn:
            faults.add(conn, where, [Fault(f.where, f.line, f.reason) for f in done.faults])
    return ImportResult(where, done)


def search_items(experience: Experience, asked: LibrarySearch, *, now: int | None = None) -> FoundItems:
    """The items nearest in meaning; that they were used then (`now`, the wall clock) is noted, if the database takes it."""
    with translate_memory_errors():
        filters = SearchFilters(
            collection=asked.collection,
            symbol=asked.symbol,
            layer=asked.layer,
            since=asked.since,
            as_of=asked.as_of,
            min_confidence=asked.min_confidence,
            min_score=asked.min_score,
            archived=asked.archived,
            where=tuple(condition_of(text) for text in asked.where),
        )
    embedder = model_of_house(experience.config)
    agent = experience.only if experience.only is not None else asked.agent
    if embedder is not None and now is not None:
        with experience.reading() as conn:
            owners = intake.owners_of(conn, agent)
        _embed_missing(experience, owners, embedder)
    begun = time.perf_counter()
    with experience.reading() as conn:
        answer = search(conn, asked.text, embedder, agent=agent, filters=filters, k=asked.k)
    micros = round((time.perf_counter() - begun) * 1e6)
    if now is not None:
        _note(experience, answer.hits, agent or SHARED, now, micros)
    return FoundItems(answer.model, answer.hits, answer.note)


def _embed_missing(experience: Experience, owners: Iterable[str], embedder: Embedder) -> None:
    """Vectors for some of the items that have none, such as reviews' lessons, which nobody embeds in a transaction."""
    with experience.reading() as conn:
        missing = {
            owner: reindex.items_without(conn, owner, embedder.name, _MISSING)
            for owner in owners
            if reindex.index_state(conn, owner).model in (LEXICAL, embedder.name)
        }
    for owner, items in sorted(missing.items()):
        if not items:
            continue
        with translate_memory_errors():
            vectors_of_items = embed(embedder, items)
        try:
            with experience.writing() as conn:
                reindex.fill_vectors(conn, owner, vectors_of_items)
                reindex.adopt_vectors(conn, owner, vectors_of_items)
        except StoreError:
            return


def _note(experience: Experience, hits: Sequence[ItemHit], agent: str, now: int, micros: int) -> None:
    """What was found was used, and the search took so long; a database that takes no writing now is no reason to fail."""
    by_agent: dict[str, list[str]] = {}
    for hit in hits:
        by_agent.setdefault(hit.item.agent, []).append(hit.item.id)
    try:
        with experience.store.write() as conn:
            vectors.note_search(conn, agent, now, micros)
            for owner, ids in sorted(by_agent.items()):
                archive.note_use(conn, owner, ids, now)
    except StoreError:
        return


def show_item(experience: Experience, agent: str | None, identity: str) -> ItemView:
    """An item as it was told."""
    with experience.reading() as conn:
        return ItemView(intake.get(conn, _owner(experience, conn, agent, identity), identity))


def item_lineage(
    experience: Experience, agent: str | None, identity: str, *, now: int | None = None
) -> Lineage:
    """What the item rests on, and what rests on it."""
    with experience.reading() as conn:
        owner = _owner(experience, conn, agent, identity)
        line = lineage.lineage(conn, owner, identity)
    if now is not None:
        ids = [identity, *(relative.id for relative in (*line.ancestors, *line.descendants))]
        with experience.writing() as conn:
            for holder in dict.fromkeys((owner, SHARED)):
                archive.note_use(conn, holder, ids, now)
    return line


def item_versions(experience: Experience, agent: str | None, identity: str) -> Sequence[LineageVersion]:
    """Every version of the thing of which the item is one, oldest first."""
    with experience.reading() as conn:
        return lineage.versions(conn, _owner(experience, conn, agent, identity), identity)


def strategies(experience: Experience, agent: str | None, status: str | None = None) -> list[ItemView]:
    """The items of `strategy_library` that an agent sees, newest first; of one status, where one is named."""
    with experience.reading() as conn:
        owners = intake.owners_of(conn, experience.only if experience.only is not None else agent)
        entries = [
            entry for owner in owners for entry in intake.of_collection(conn, owner, "strategy_library")
        ]
    views = [ItemView(entry) for entry in entries if status is None or entry.item.status == status]
    return sorted(views, key=lambda view: (-view.entry.item.at, view.entry.item.id))


def _owner(experience: Experience, conn: Any, agent: str | None, identity: str) -> str:
    """The agent as whom an item is asked for: the one named, else whoever alone has an item of that id."""
    if experience.only is not None:
        return experience.only
    if agent is not None:
        return agent
    holders = intake.holders(conn, identity)
    if len(holders) > 1:
        names = ", ".join(holder or "everybody" for holder in holders)
        raise UsageError(f"several have an item {identity!r}; choose one with --agent: {names}")
    return holders[0] if holders else SHARED
