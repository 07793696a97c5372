"""Keeping a library: archive, restore, forget, export, import, another index; each step in a transaction of its own."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from memory.library import archive, intake, reindex, transfer
from memory.library.embedder import embed
from memory.library.intake import AddedItems
from memory.library.item import SHARED, ItemFault
from memory.library.stats import library_stats
from retro.app.experience.door import translate_memory_errors
from retro.app.experience.imports import ImportResult, lines_of
from retro.app.experience.models import model_named
from retro.errors import UsageError
from retro.ingest.source import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.library.stats import LibraryStats
    from retro.app.questions.experience import Experience

__all__ = [
    "Reindexing",
    "archive_unused",
    "export_library",
    "forget",
    "import_library",
    "library_sizes",
    "reindex_libraries",
    "restore",
]

_LINES: Final = 2000


@dataclass(frozen=True, slots=True)
class Reindexing:
    """One library that is searched by another model now; `agent` None is the shared one."""

    agent: str | None
    model: str
    items: int
    embedded: int


def _owners(experience: Experience, agent: str | None) -> Sequence[str]:
    if agent is not None:
        return (agent,)
    with experience.reading() as conn:
        return intake.owners_of(conn, experience.only)


def library_sizes(experience: Experience, agent: str | None = None) -> Sequence[LibraryStats]:
    """How each library stands."""
    owners = _owners(experience, agent)
    with experience.reading() as conn:
        return library_stats(conn, owners)


def archive_unused(experience: Experience, agent: str | None, before: int, now: int) -> int:
    """Put what nothing has used since `before` into the archive, block by block; how many items."""
    total = 0
    for owner in _owners(experience, agent):
        while True:
            with experience.writing() as conn:
                moved = archive.archive_unused(conn, owner, before, now)
            if not moved:
                break
            total += moved
    return total


def restore(experience: Experience, agent: str | None, identity: str) -> bool:
    """Take an item out of the archive; False for one that was not in it."""
    with experience.writing() as conn:
        return archive.restore(conn, _holder(experience, agent, identity), identity)


def forget(experience: Experience, agent: str | None, identity: str, *, at: int, who: str) -> None:
    """Erase an item; its tombstone stays."""
    with experience.writing() as conn:
        archive.forget_item(conn, _holder(experience, agent, identity), identity, at, who)


def _holder(experience: Experience, agent: str | None, identity: str) -> str:
    """Whose item it is; `UsageError` where several have one of that id and none was named."""
    if agent is not None:
        return agent
    with experience.reading() as conn:
        names = intake.holders(conn, identity)
    if len(names) > 1:
        listed = ", ".join(name or "everybody" for name in names)
        raise UsageError(f"several have an item {identity!r}; choose one with --agent: {listed}")
    return names[0] if names else SHARED


def export_library(experience: Experience, agent: str | None) -> Iterator[str]:
    """Every line of the libraries, each with its line end, as one moment saw them."""
    owners = _owners(experience, agent)
    with experience.reading() as conn:
        for line in transfer.export_lines(conn, owners):
            yield f"{line}\n"


def import_library(experience: Experience, path: str) -> ImportResult:
    """Take in an exported library, some thousand lines a transaction; told again it changes nothing."""
    where, done = "stdin" if path == "-" else path, AddedItems()
    unread: list[ItemFault] = []
    models: dict[str, tuple[str, int]] = {}
    with translate_memory_errors(), open_source(path) as stream:
        lines, first = lines_of(stream, where, unread, ItemFault), 1
        while batch := list(islice(lines, _LINES)):
            with experience.store.write() as conn:
                done += transfer.import_lines(conn, batch, where, first=first, models=models)
            first += len(batch)
    done += AddedItems(faults=tuple(unread))
    return ImportResult(where, done)


def reindex_libraries(experience: Experience, agent: str | None, model: str | None) -> list[Reindexing]:
    """Build the model's vectors beside those there are, then search by them; killed anywhere, it goes on from there."""
    with translate_memory_errors():
        embedder = model_named(model if model is not None else experience.config.memory.model)
    changed = []
    for owner in _owners(experience, agent):
        with experience.writing() as conn:
            reindex.begin_reindex(conn, owner, embedder.name)
        embedded = 0
        finished = False
        while not finished:
            with experience.reading() as conn:
                items = reindex.items_without(conn, owner, embedder.name)
            with translate_memory_errors():
                vectors = embed(embedder, items) if items else None
            with experience.writing() as conn:
                if vectors is not None:
                    embedded += reindex.store_vectors(conn, owner, vectors)
                else:
                    finished = reindex.finish_reindex(conn, owner, embedder.name, embedder.dimensions)
        with experience.reading() as conn:
            count = reindex.index_state(conn, owner).items
        changed.append(Reindexing(owner or None, embedder.name, count, embedded))
    return changed
