"""Vectors of another model, built beside those that are searched; one transaction changes from the one to the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from memory.errors import ConflictError
from memory.library.columns import BLOCK, LEXICAL, seal
from memory.library.intake import get_many
from memory.store import library as rows
from memory.store import vectors as meanings

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from memory.library.embedder import Embedded
    from memory.library.item import LibraryItem

__all__ = [
    "IndexState",
    "adopt_vectors",
    "begin_reindex",
    "fill_vectors",
    "finish_reindex",
    "index_state",
    "items_without",
    "store_vectors",
]

AT_ONCE: Final = 256
"""Items that are embedded between two transactions."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """What a library is searched by, what is being built, and how many items have a vector of which model."""

    agent: str
    items: int
    model: str
    building: str | None
    vectors: dict[str, int]


def index_state(conn: Connection, agent: str) -> IndexState:
    """How a library is indexed at this moment."""
    now = rows.head(conn, agent)
    counts = meanings.counts(conn, agent)
    return IndexState(agent, rows.count(conn, agent), now.model or LEXICAL, now.building, counts)


def begin_reindex(conn: Connection, agent: str, model: str) -> None:
    """Say which model's vectors are being made; what was begun of another is dropped, what there is of it goes on."""
    now = rows.lock(conn, agent)
    meanings.drop(conn, agent, keep=[name for name in (now.model, model) if name])
    rows.move(conn, agent, now._replace(building=model))


def items_without(conn: Connection, agent: str, model: str, most: int = AT_ONCE) -> list[LibraryItem]:
    """Some of the items that have no vector of the model yet; none: it is complete."""
    return get_many(conn, agent, meanings.without(conn, agent, model, most))


def store_vectors(conn: Connection, agent: str, embedded: Embedded) -> int:
    """Store vectors of the model that is being built; how many. Items that were forgotten meanwhile get none."""
    now = rows.lock(conn, agent)
    if now.building != embedded.model:
        raise ConflictError(f"{embedded.model} is no longer being built of {agent or 'the shared library'}")
    ids = [identity for owner, identity in embedded.vectors if owner == agent]
    present = rows.contents(conn, agent, ids)
    done = meanings.of_ids(conn, agent, embedded.model, ids)
    wanted = [identity for identity in ids if identity in present and identity not in done]
    pairs = [(identity, embedded.vectors[agent, identity]) for identity in wanted]
    meanings.store(conn, agent, embedded.model, pairs)
    return len(pairs)


def fill_vectors(conn: Connection, agent: str, embedded: Embedded) -> int:
    """Give items that lack one a vector of the model searched by, made beforehand; how many got one."""
    now = rows.lock(conn, agent)
    if now.model != embedded.model:
        return 0
    ids = [identity for owner, identity in embedded.vectors if owner == agent]
    done = meanings.of_ids(conn, agent, embedded.model, ids)
    stored = {name: row for name, row in rows.rows(conn, agent, ids).items() if name not in done}
    if not stored:
        return 0
    pairs = [(name, embedded.vectors[agent, name]) for name in sorted(stored)]
    meanings.store(conn, agent, embedded.model, pairs)
    meanings.unseal(conn, agent, {row.number // BLOCK for row in stored.values()})
    now = rows.rewritten(conn, agent, now, "fill", *sorted(stored))
    seal(conn, agent, now)
    return len(pairs)


def adopt_vectors(conn: Connection, agent: str, embedded: Embedded) -> bool:
    """Search a library that has no model by these vectors, where they are all it needs; False where they are not."""
    if rows.lock(conn, agent).model is not None:
        return False
    begin_reindex(conn, agent, embedded.model)
    store_vectors(conn, agent, embedded)
    return finish_reindex(conn, agent, embedded.model, embedded.dimensions)


def finish_reindex(conn: Connection, agent: str, model: str, dimensions: int) -> bool:
    """Search by the new vectors from now on and drop the old ones; False while an item still has none."""
    now = rows.lock(conn, agent)
    if now.building != model or meanings.without(conn, agent, model, 1):
        return False
    meanings.drop(conn, agent, keep=[model])
    meanings.unseal(conn, agent)
    now = now._replace(model=model, dimensions=dimensions, building=None)
    now = rows.rewritten(conn, agent, now, "reindex", model)
    seal(conn, agent, now)
    return True
