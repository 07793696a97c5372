"""What an item rests on and what rests on it, over any number of generations; and versions of one thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.errors import MissingError
from memory.library.item import SHARED, LibraryItem
from memory.store import library as rows
from memory.store.library import Edge, StoredItem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection

__all__ = ["Lineage", "LineageVersion", "Relative", "circle", "edges_of", "lineage", "versions"]

_DEEPEST = 10_000


@dataclass(frozen=True, slots=True)
class Relative:
    """An ancestor or a descendant; `distance` is that of the shortest way, 1 or more.

    `kind`: `item`, `forgotten` (its tombstone stands for it), or `reference`, something that is no item of the library.
    """

    id: str
    distance: int
    kind: str


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where an item comes from and what came of it; `roots` are the ancestors that rest on nothing themselves."""

    id: str
    ancestors: tuple[Relative, ...]
    descendants: tuple[Relative, ...]
    roots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LineageVersion:
    """One of the versions of a thing, counted from 1 in order of (at, id)."""

    version: int
    id: str
    at: int
    status: str | None


def edges_of(item: LibraryItem) -> list[Edge]:
    """The edges an item brings."""
    edges = [Edge(item.id, parent, "parent") for parent in item.parents]
    return edges + ([Edge(item.id, item.version_of, "version")] if item.version_of else [])


def circle(conn: Connection, agent: str, item: LibraryItem, above: Mapping[str, set[str]]) -> bool:
    """Whether the item would become its own ancestor: by the edges stored, and those about to be (child -> parents)."""
    passed: set[str] = set()
    frontier = {edge.parent for edge in edges_of(item)}
    while frontier:
        if item.id in frontier:
            return True
        passed |= frontier
        further = {edge.parent for edge in rows.edges_up(conn, (agent,), sorted(frontier))}
        further |= {parent for child in frontier for parent in above.get(child, ())}
        frontier = further - passed
    return False


def lineage(conn: Connection, agent: str, identity: str) -> Lineage:
    """Ancestors, descendants and roots as the agent sees them: in its own library and the shared one.

    Raises `MissingError` for what is neither an item, nor forgotten, nor named by one.
    """
    owners = _owners(agent)
    up, leaves = _walk(identity, lambda ids: _pairs(rows.edges_up(conn, owners, ids), up=True))
    down, _ = _walk(identity, lambda ids: _pairs(rows.edges_down(conn, owners, ids), up=False))
    kinds = _kinds(conn, owners, [identity, *up, *down])
    if kinds[identity] == "reference" and not down:
        raise MissingError(f"no item {identity!r} in the library")

    def relatives(distances: dict[str, int]) -> tuple[Relative, ...]:
        ordered = sorted(distances.items(), key=lambda pair: (pair[1], pair[0]))
        return tuple(Relative(name, distance, kinds[name]) for name, distance in ordered)

    return Lineage(identity, relatives(up), relatives(down), tuple(sorted(leaves)))


def versions(conn: Connection, agent: str, identity: str) -> tuple[LineageVersion, ...]:
    """Every version of the thing of which the item is one, oldest first; forgotten ones are left out."""
    owners = _owners(agent)
    family, frontier = {identity}, {identity}
    while frontier:
        ids = sorted(frontier)
        near = [*rows.edges_up(conn, owners, ids), *rows.edges_down(conn, owners, ids)]
        frontier = {name for edge in near if edge.kind == "version" for name in (edge.child, edge.parent)}
        frontier -= family
        family |= frontier
    by_id: dict[str, StoredItem] = {}
    for owner in reversed(owners):
        by_id |= rows.rows(conn, owner, sorted(family))
    if not by_id:
        raise MissingError(f"no item {identity!r} in the library")
    ordered = sorted(by_id.values(), key=lambda row: (row.at, row.id))
    return tuple(
        LineageVersion(number, row.id, row.at, _status(row.document)) for number, row in enumerate(ordered, 1)
    )


def _status(document: str) -> str | None:
    import msgspec  # noqa: PLC0415  asked for versions only

    status: str | None = msgspec.json.decode(document).get("status")
    return status


def _owners(agent: str) -> tuple[str, ...]:
    return (agent, SHARED) if agent != SHARED else (SHARED,)


def _pairs(edges: Sequence[Edge], *, up: bool) -> list[tuple[str, str]]:
    return [(edge.child, edge.parent) if up else (edge.parent, edge.child) for edge in edges]


def _walk(
    start: str, step: Callable[[Sequence[str]], list[tuple[str, str]]]
) -> tuple[dict[str, int], set[str]]:
    """(id -> distance of all that is reached, those of them that lead no further), generation by generation."""
    distances: dict[str, int] = {}
    leaves: set[str] = set()
    frontier = [start]
    for distance in range(1, _DEEPEST):
        pairs = step(frontier)
        leaves |= set(frontier) - {name for name, _ in pairs} - {start}
        frontier = sorted({name for _, name in pairs} - set(distances) - {start})
        if not frontier:
            break
        distances.update(dict.fromkeys(frontier, distance))
    return distances, leaves


def _kinds(conn: Connection, owners: Sequence[str], ids: Sequence[str]) -> dict[str, str]:
    kinds = dict.fromkeys(ids, "reference")
    kinds |= dict.fromkeys(rows.tombstones_of(conn, owners, ids), "forgotten")
    for owner in owners:
        kinds |= dict.fromkeys(rows.rows(conn, owner, ids), "item")
    return kinds
