"""Events as they are stored, read for several questions at once: what each makes facts of it picks from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import func, literal, select, tuple_

from retro.model import FACT_TYPES
from retro.store.facts.agents import key_query
from retro.store.facts.events import TYPES
from retro.store.schema import events, name_of, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection

    from retro.model import Fact

__all__ = [
    "LineCursor",
    "LineSelection",
    "StoredLine",
    "count_lines",
    "every_line",
    "lines_after",
    "lines_between",
    "lines_of_positions",
    "names_of",
]

_AT_ONCE: Final = 5_000
_NAME_OF: Final = {kind: name for name, kind in FACT_TYPES.items()}


class StoredLine(NamedTuple):
    """An event as it is stored: `position` as a key (`name_of`), None where it names none; `body` the line as written."""

    type: str
    id: str
    at: int
    position: str | None
    body: str


def lines_between(
    conn: Connection,
    agent: str,
    start: int,
    end: int,
    *,
    types: Sequence[type[Fact]] = TYPES,
    most: int,
) -> list[StoredLine] | None:
    """The events with start <= at < end, of these types, in no order; None where they are more than `most`."""
    window = events.c.type.in_(sorted(names_of(types))) & (events.c.at >= start) & (events.c.at < end)
    return _lines(conn, agent, window, most)


def lines_of_positions(
    conn: Connection, agent: str, positions: Iterable[str], *, most: int
) -> list[StoredLine] | None:
    """The events that name one of the positions, in no order; None where they are more than `most`."""
    return _lines(conn, agent, within(conn, events.c.position, positions), most)


def names_of(types: Iterable[type[Fact]]) -> set[str]:
    """The names of types of facts, as events have them."""
    return {_NAME_OF[kind] for kind in types}


def _lines(conn: Connection, agent: str, chosen: ColumnElement[bool], most: int) -> list[StoredLine] | None:
    c = events.c
    query = select(c.type, c.id, c.at, c.position, c.body).where(c.agent == key_query(agent), chosen)
    rows = conn.execute(query.limit(most + 1)).all()
    return None if len(rows) > most else [StoredLine._make(row) for row in rows]


class LineCursor(NamedTuple):
    """The line after which a page begins."""

    at: int
    type: str
    id: str


@dataclass(frozen=True, slots=True)
class LineSelection:
    """An agent's events with start <= at < end: of one position where it is named, of these types where there are any."""

    agent: str
    start: int
    end: int
    position: str | None = None
    types: tuple[str, ...] = ()


def count_lines(conn: Connection, selection: LineSelection) -> int:
    """How many there are."""
    total: int = conn.execute(
        select(func.count()).select_from(events).where(*_chosen(selection))
    ).scalar_one()
    return total


def lines_after(
    conn: Connection, selection: LineSelection, after: LineCursor | None, limit: int
) -> list[StoredLine]:
    """At most `limit` of them in order of (at, type, id), that follow one (None: from the first on)."""
    c = events.c
    query = select(c.type, c.id, c.at, c.position, c.body).where(*_chosen(selection))
    if after is not None:
        place = tuple_(literal(after.at), literal(after.type), literal(after.id))
        query = query.where(c.at >= after.at, tuple_(c.at, *_in_bytes(conn)) > place)
    rows = conn.execute(query.order_by(c.at, *_in_bytes(conn)).limit(limit))
    return [StoredLine._make(row) for row in rows]


def every_line(conn: Connection, agent: str) -> Iterator[StoredLine]:
    """Every event of an agent in order of (at, type, id), in constant memory."""
    c = events.c
    query = select(c.type, c.id, c.at, c.position, c.body).where(c.agent == key_query(agent))
    ordered = query.order_by(c.at, *_in_bytes(conn)).execution_options(yield_per=_AT_ONCE)
    with conn.execute(ordered) as rows:
        yield from map(StoredLine._make, rows)


def _in_bytes(conn: Connection) -> list[ColumnElement[str]]:
    """Type and id in the order of their bytes, whatever a database's collation is."""
    columns = (events.c.type, events.c.id)
    return [column.collate("C") if conn.dialect.name == "postgresql" else column for column in columns]


def _chosen(selection: LineSelection) -> list[ColumnElement[bool]]:
    c = events.c
    return [
        c.agent == key_query(selection.agent),
        c.at >= selection.start,
        c.at < selection.end,
        *([] if selection.position is None else [c.position == name_of(selection.position)]),
        *([c.type.in_(selection.types)] if selection.types else []),
    ]
