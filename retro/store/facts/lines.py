"""Events as they are stored, read for several questions at once: what each makes facts of it picks from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import select

from retro.model import FACT_TYPES
from retro.store.facts.agents import key_query
from retro.store.facts.events import TYPES
from retro.store.schema import events, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import ColumnElement, Connection

    from retro.model import Fact

__all__ = ["StoredLine", "lines_between", "lines_of_positions", "names_of"]

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
