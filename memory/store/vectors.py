"""Vectors by model, the column copies made of them, and how long searches took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from memory.store.library_tables import item_blocks, items, layer_states, searches, vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SLOTS: Final = 100
"""Searches whose duration is remembered, of each library."""
_CHUNK: Final = 500


def store(conn: Connection, agent: str, model: str, pairs: Sequence[tuple[str, bytes]]) -> None:
    """Store (id, vector) pairs of a model."""
    if pairs:
        values = [{"agent": agent, "model": model, "id": name, "vector": vector} for name, vector in pairs]
        conn.execute(sa.insert(vectors), values)


def of_ids(conn: Connection, agent: str, model: str, ids: Sequence[str]) -> dict[str, bytes]:
    """The vectors a model made of those of these items that have one."""
    by_id: dict[str, bytes] = {}
    for start in range(0, len(ids), _CHUNK):
        query = sa.select(vectors.c.id, vectors.c.vector).where(
            vectors.c.agent == agent, vectors.c.model == model, vectors.c.id.in_(ids[start : start + _CHUNK])
        )
        by_id.update((row.id, row.vector) for row in conn.execute(query))
    return by_id


def of_numbers(
    conn: Connection, agent: str, model: str, first: int, last: int
) -> Iterator[tuple[int, bytes]]:
    """(number, vector) of the items numbered from `first` up to but not including `last` that a model has one of."""
    own = sa.and_(vectors.c.agent == items.c.agent, vectors.c.id == items.c.id, vectors.c.model == model)
    query = sa.select(items.c.number, vectors.c.vector).join(vectors, own)
    query = query.where(items.c.agent == agent, items.c.number >= first, items.c.number < last)
    return ((row[0], row[1]) for row in conn.execute(query))


def vectors_of(conn: Connection, agent: str, model: str, numbers: Sequence[int]) -> dict[int, bytes]:
    """Number -> vector of those of the items with these numbers that a model has one of."""
    own = sa.and_(vectors.c.agent == items.c.agent, vectors.c.id == items.c.id, vectors.c.model == model)
    query = sa.select(items.c.number, vectors.c.vector).join(vectors, own).where(items.c.agent == agent)
    by_number: dict[int, bytes] = {}
    for start in range(0, len(numbers), _CHUNK):
        chunk = query.where(items.c.number.in_(numbers[start : start + _CHUNK]))
        by_number.update((row[0], row[1]) for row in conn.execute(chunk))
    return by_number


def without(conn: Connection, agent: str, model: str, most: int) -> list[str]:
    """Ids of at most so many items that have no vector of this model, in order of number."""
    own = sa.and_(vectors.c.agent == items.c.agent, vectors.c.id == items.c.id, vectors.c.model == model)
    query = (
        sa.select(items.c.id)
        .outerjoin(vectors, own)
        .where(items.c.agent == agent, vectors.c.id.is_(None))
        .order_by(items.c.number)
        .limit(most)
    )
    return list(conn.execute(query).scalars())


def counts(conn: Connection, agent: str) -> dict[str, int]:
    """Model -> how many items have a vector of it."""
    query = (
        sa.select(vectors.c.model, sa.func.count()).where(vectors.c.agent == agent).group_by(vectors.c.model)
    )
    return {row[0]: int(row[1]) for row in conn.execute(query.order_by(vectors.c.model))}


def drop(conn: Connection, agent: str, keep: Sequence[str]) -> None:
    """Delete the vectors of every model but these."""
    conn.execute(sa.delete(vectors).where(vectors.c.agent == agent, vectors.c.model.not_in(keep)))


def sealed(conn: Connection, agent: str, layout: str) -> Iterator[tuple[int, int, bytes]]:
    """(number, crc, data) of the column copies of a layout, in order, read as they are asked for."""
    columns = (item_blocks.c.number, item_blocks.c.crc, item_blocks.c.data)
    query = sa.select(*columns).where(item_blocks.c.agent == agent, item_blocks.c.layout == layout)
    rows = conn.execute(query.order_by(item_blocks.c.number).execution_options(yield_per=1))
    return ((row[0], row[1], row[2]) for row in rows)


def seals(conn: Connection, agent: str, layout: str) -> set[int]:
    """The numbers of the column copies there are of a layout."""
    query = sa.select(item_blocks.c.number).where(
        item_blocks.c.agent == agent, item_blocks.c.layout == layout
    )
    return set(conn.execute(query).scalars())


def seal(conn: Connection, agent: str, layout: str, number: int, crc: int, data: bytes) -> None:
    """Store a column copy."""
    values = {"agent": agent, "layout": layout, "number": number, "crc": crc, "data": data}
    conn.execute(sa.insert(item_blocks), [values])


def unseal(
    conn: Connection, agent: str, numbers: Iterable[int] | None = None, keep: Sequence[str] = ()
) -> None:
    """Delete the column copies with these numbers (None: all), or all of other layouts than these."""
    query = sa.delete(item_blocks).where(item_blocks.c.agent == agent)
    if numbers is not None:
        query = query.where(item_blocks.c.number.in_(sorted(numbers)))
    if keep:
        query = query.where(item_blocks.c.layout.not_in(keep))
    conn.execute(query)


def states(conn: Connection, agent: str) -> list[tuple[int, str, float | None, float]]:
    """(number, layer, importance, recency) of every item that is in a layer."""
    query = (
        sa.select(items.c.number, layer_states.c.layer, layer_states.c.importance, layer_states.c.recency)
        .join(layer_states, sa.and_(layer_states.c.agent == items.c.agent, layer_states.c.id == items.c.id))
        .where(items.c.agent == agent)
        .order_by(items.c.number)
    )
    return [(row[0], row[1], row[2], row[3]) for row in conn.execute(query)]


def archived_numbers(conn: Connection, agent: str) -> list[int]:
    """The numbers of the items that lie in the archive."""
    query = sa.select(items.c.number).where(items.c.agent == agent, items.c.archive.is_not(None))
    return list(conn.execute(query.order_by(items.c.number)).scalars())


def present_numbers(conn: Connection, agent: str) -> list[int]:
    """The numbers of all items that were not forgotten."""
    query = sa.select(items.c.number).where(items.c.agent == agent).order_by(items.c.number)
    return list(conn.execute(query).scalars())


def note_search(conn: Connection, agent: str, at: int, micros: int) -> None:
    """Remember how long a search took, in place of the oldest that is remembered."""
    query = sa.select(searches.c.slot).where(searches.c.agent == agent)
    slots = list(conn.execute(query.order_by(searches.c.at.desc(), searches.c.slot.desc())).scalars())
    slot = len(slots) if len(slots) < SLOTS else slots[-1]
    make = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
    row = make(searches).values(agent=agent, slot=slot, at=at, micros=micros)
    fresh = {"at": row.excluded.at, "micros": row.excluded.micros}
    conn.execute(row.on_conflict_do_update(index_elements=["agent", "slot"], set_=fresh))


def durations(conn: Connection, agent: str | None = None) -> list[int]:
    """How long the latest searches took, in microseconds, in order of length."""
    query = sa.select(searches.c.micros)
    if agent is not None:
        query = query.where(searches.c.agent == agent)
    return sorted(conn.execute(query).scalars())
