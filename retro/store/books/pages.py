"""An agent's positions page by page: from a place on, in the order of their entries, whatever lies before it.

A place is the instant and the name of a row, and the index on both leads to what follows it; so the last page of a
hundred thousand costs what the first one does, and a row that comes or goes in between moves no other. In order of a
figure the place begins with that figure.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Text, and_, case, cast, func, literal, or_, select, tuple_

from retro.store.books.positions import book_positions, is_counted
from retro.store.books.totals import closed_in_all
from retro.store.conditions import EVERY_ROW, clauses_of
from retro.store.facts.agents import key_query
from retro.store.schema import name_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.store.conditions import ColumnCondition, Selection

__all__ = [
    "Place",
    "PositionAsset",
    "assets_after",
    "count_lives",
    "count_positions",
    "place_of",
    "position_at",
    "positions_after",
    "results_of",
]

_WORDS: Final = ("position", "instrument", "strategy", "kind", "side")
_FIGURES: Final = {
    "pnl": "final_pnl",
    "inaction": "vs_inaction",
    "regret": "regret",
    "mfe": "mfe",
    "mae": "mae",
    "exit": "exit_reason",
    "closed": "closed_at",
}
"""What is known of a life once it has ended, by the name a filter has for it."""
_FOREVER: Final = (1 << 63) - 1


class Place(NamedTuple):
    """Where a position stands in the list of its agent's: by its entry (microseconds), then by its name."""

    opened_at: int
    position: str


class PositionAsset(NamedTuple):
    """What some position is in, and whether it is still open."""

    kind: str
    instrument: str
    open: bool


def positions_after(
    conn: Connection,
    agent: str,
    place: Place | None,
    limit: int,
    *,
    newest: bool = False,
    selection: Selection = EVERY_ROW,
) -> list[Any]:
    """At most `limit` rows that follow a place (None: from the start), oldest first, newest first, or as selected."""
    c = book_positions.c
    query = select(book_positions).where(*_selected(conn, agent, selection))
    order: list[ColumnElement[Any]] = [c.opened_at, c.position]
    descending = newest
    if selection.sort is not None:
        descending = selection.sort.descending
        if selection.sort.column != "opened":
            order = [_columns(selection.as_of)[selection.sort.column], *order]
    if place is not None:
        values: list[Any] = list(place)
        if len(order) > len(values):
            own = and_(c.agent == key_query(agent), c.position == place.position)
            values = [conn.execute(select(order[0]).where(own)).scalar_one(), *values]
        mine, other = tuple_(*order), tuple_(*map(literal, values))
        query = query.where(mine < other if descending else mine > other)
    ordered = query.order_by(*(column.desc() for column in order) if descending else order)
    return list(conn.execute(ordered.limit(limit)))


def assets_after(
    conn: Connection, agent: str, place: Place | None, limit: int
) -> tuple[set[PositionAsset], Place | None]:
    """What the `limit` positions that follow a place (None: from the start) are in, each once; and where to go on."""
    c = book_positions.c
    order, clauses = tuple_(c.opened_at, c.position), [c.agent == key_query(agent)]
    if place is not None:
        clauses.append(order > tuple_(*map(literal, place)))
    ends = select(c.opened_at, c.position).where(*clauses).order_by(c.opened_at, c.position)
    last = conn.execute(ends.offset(limit - 1).limit(1)).one_or_none()
    if last is not None:
        clauses.append(order <= tuple_(*map(literal, last)))
    rows = conn.execute(select(c.kind, c.instrument, c.closed_at.is_(None)).where(*clauses).distinct())
    return {PositionAsset(kind, name, bool(is_open)) for kind, name, is_open in rows}, last and Place(*last)


def _selected(conn: Connection, agent: str, selection: Selection) -> list[ColumnElement[bool]]:
    """The clauses of an agent's rows that are selected."""
    c, columns = book_positions.c, _columns(selection.as_of)
    plain = [one for one in selection.where if one.column not in {"rule", "flag"}]
    return [
        c.agent == key_query(agent),
        *([] if selection.as_of is None else [c.opened_at <= selection.as_of]),
        *([] if selection.sort is None else [columns[selection.sort.column].is_not(None)]),
        *clauses_of(conn, plain, columns, _WORDS),
        *(_special(conn, one, selection.as_of) for one in selection.where if one not in plain),
    ]


def _columns(as_of: int | None) -> dict[str, ColumnElement[Any]]:
    """The expression of each column that can be filtered by; what an end tells is unknown before it."""
    c = book_positions.c
    figures = {
        name: c[own] if as_of is None else case((c.closed_at <= as_of, c[own]))
        for name, own in _FIGURES.items()
    }
    return {
        **figures,
        "r": figures["pnl"] / func.nullif(c.risk, 0.0),
        "held": figures["closed"] - c.opened_at,
        "opened": c.opened_at,
        "notional": c.notional,
        "risk": c.risk,
        **{name: c[name] for name in _WORDS},
    }


def _special(conn: Connection, condition: ColumnCondition, as_of: int | None) -> ColumnElement[bool]:
    """What is no value of a column: a rule that some decision cites, a flag that is up."""
    until = _FOREVER if as_of is None else as_of
    clause: ColumnElement[bool]
    if condition.column == "rule":
        clause = _cites(conn, str(condition.value), until)
    else:
        c = book_positions.c
        closed = c.closed_at <= until
        clause = {
            "open": or_(c.closed_at.is_(None), ~closed),
            "closed": and_(c.closed_at.is_not(None), closed),
            "implausible": and_(c.flagged_at.is_not(None), c.flagged_at <= until),
            "confirmed": func.coalesce(c.ruling == "confirmed", False),
            "rejected": func.coalesce(c.ruling == "rejected", False),
        }[str(condition.value)]
    return ~clause if condition.negated else clause


def _cites(conn: Connection, name: str, until: int) -> ColumnElement[bool]:
    """Whether a decision made until then cites this rule or tag; the text is looked at before it is read as JSON."""
    told = book_positions.c.told
    written = told.contains(json.dumps(name)[1:-1], autoescape=True)
    if conn.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import JSONB, JSONPATH  # noqa: PLC0415  slow to load

        wanted = func.jsonb_build_object("cite", cast(name, Text), "until", cast(until, BigInteger))
        path = cast("strict $.decisions[*] ? (@[1] <= $until)[3][*] ? (@ == $cite)", JSONPATH)
        found = func.jsonb_path_exists(cast(told, JSONB), path, wanted)
        return case((~written | told.contains("\\u0000"), False), else_=found)  # a zero is no text there
    decision = (
        func.json_each(told, "$.decisions").table_valued("value", joins_implicitly=True).alias("decision")
    )
    cited = (
        func.json_each(decision.c.value, "$[3]").table_valued("value", joins_implicitly=True).alias("cited")
    )
    made = func.json_extract(decision.c.value, "$[1]") <= until
    match = select(literal(1)).select_from(decision, cited).where(cited.c.value == name, made)
    return written & match.correlate(book_positions).exists()


def position_at(conn: Connection, agent: str, place: Place) -> Any:
    """The row at a place."""
    c = book_positions.c
    query = select(book_positions).where(
        c.agent == key_query(agent), c.opened_at == place.opened_at, c.position == place.position
    )
    return conn.execute(query).one()


def place_of(conn: Connection, agent: str, position: str) -> Place | None:
    """Where the agent's position of that name stands; None where it has no row."""
    c = book_positions.c
    query = select(c.opened_at, c.position).where(
        c.agent == key_query(agent), c.position == name_of(position)
    )
    row = conn.execute(query).one_or_none()
    return None if row is None else Place(row.opened_at, row.position)


def count_positions(conn: Connection, agent: str, selection: Selection = EVERY_ROW) -> int:
    """How many positions the agent's book holds, or of those how many are selected."""
    if selection == EVERY_ROW:
        return count_lives(conn, agent)[0]
    query = select(func.count()).select_from(book_positions).where(*_selected(conn, agent, selection))
    return conn.execute(query).scalar_one()


def results_of(conn: Connection, agent: str, selection: Selection) -> list[tuple[float | None, float | None]]:
    """What each selected position that has ended made, and made against doing nothing; None where it is not believed.

    As of an instant those that had ended by then have ended.
    """
    c = book_positions.c
    ended = c.closed_at.is_not(None) if selection.as_of is None else c.closed_at <= selection.as_of
    columns = (case((is_counted(), c[name])) for name in ("final_pnl", "vs_inaction"))
    query = select(*columns).where(ended, *_selected(conn, agent, selection))
    return [(pnl, against) for pnl, against in conn.execute(query)]


def count_lives(conn: Connection, agent: str) -> tuple[int, int]:
    """How many positions the agent's book holds, and how many of them are open; closed ones by the sums of days."""
    c = book_positions.c
    lives = select(func.count()).select_from(book_positions).where(c.agent == key_query(agent))
    still_open = int(conn.execute(lives.where(c.closed_at.is_(None))).scalar_one())
    closed = closed_in_all(conn, agent)
    if closed is None:
        return int(conn.execute(lives).scalar_one()), still_open
    return closed + still_open, still_open
