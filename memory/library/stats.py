"""How a library stands: what is in it, how it is indexed, what lies in the archive, how long searches took."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memory.library.reindex import index_state
from memory.store import archives, vectors
from memory.store import library as rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

__all__ = ["ArchiveSize", "LibraryStats", "library_stats"]


@dataclass(frozen=True, slots=True)
class ArchiveSize:
    """Blocks, the items whose texts lie in them, and their bytes."""

    blocks: int
    items: int
    bytes: int


@dataclass(frozen=True, slots=True)
class LibraryStats:
    """One library; `agent` None is the shared one. `latency_ms`: the median of its last 100 searches, None before the first.

    `orphans`: edges of nothing that is or was an item. `unindexed`: items without a vector of the model searched by.
    """

    agent: str | None
    items: int
    forgotten: int
    collections: dict[str, int]
    layers: dict[str, int]
    mean_importance: float | None
    model: str
    building: str | None
    unindexed: int
    archive: ArchiveSize
    orphans: int
    searches: int
    latency_ms: float | None
    problems: tuple[str, ...] = field(default=())


def library_stats(conn: Connection, agents: Sequence[str] | None = None) -> tuple[LibraryStats, ...]:
    """One line a library, in order of agent; None: of all there are. Writes nothing."""
    return tuple(_stats(conn, agent) for agent in (rows.agents(conn) if agents is None else sorted(agents)))


def _stats(conn: Connection, agent: str) -> LibraryStats:
    index = index_state(conn, agent)
    now = rows.head(conn, agent)
    blocks, archived, size = archives.sizes(conn, agent)
    durations = vectors.durations(conn, agent)
    orphans = archives.orphan_edges(conn, agent)
    return LibraryStats(
        agent=agent or None,
        items=index.items,
        forgotten=len(rows.all_tombstones(conn, agent)),
        collections=rows.by_collection(conn, agent),
        layers=rows.by_layer(conn, agent),
        mean_importance=rows.mean_importance(conn, agent),
        model=index.model,
        building=index.building,
        unindexed=index.items - index.vectors.get(index.model, 0) if now.model else 0,
        archive=ArchiveSize(blocks, archived, size),
        orphans=orphans,
        searches=len(durations),
        latency_ms=durations[len(durations) // 2] / 1000 if durations else None,
        problems=(f"{orphans} edges belong to no item",) if orphans else (),
    )
