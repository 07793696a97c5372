"""Rows that cannot be read any more (a disk, a half-restored backup, a hand in the database): named, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from sqlalchemy import select

from retro.errors import DamagedRowError
from retro.model import decode
from retro.periods import DAY, format_instant
from retro.store.schema import agents, events, mark_blocks
from retro.store.schema import series as mark_series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import ColumnElement, Connection

__all__ = ["UNREADABLE", "blocks", "facts"]

UNREADABLE: Final = (msgspec.MsgspecError, ValueError, ArithmeticError, KeyError, TypeError, AttributeError)
"""What reading a damaged row may raise."""

_AT_ONCE: Final = 5_000
_SHOWN: Final = 80
_REMEDY: Final = "ingest its source again with --on-conflict replace, or restore the database from a backup"


def facts(conn: Connection, *conditions: ColumnElement[bool]) -> Iterator[DamagedRowError]:
    """The events that no fact can be made of, in order of arrival; of those that fulfil the conditions."""
    columns = events.c
    query = select(agents.c.name, columns.type, columns.id, columns.body, columns.at)
    query = query.join(agents, agents.c.key == columns.agent).where(*conditions).order_by(columns.seq)
    # closed where it is not read to its end
    with conn.execute(query.execution_options(yield_per=_AT_ONCE)) as rows:
        for name, kind, id_, body, at in rows:
            try:
                decode(body, at)
            except UNREADABLE as error:
                row = f"{kind} {id_[:_SHOWN]!r} of agent {name}"
                yield DamagedRowError(
                    f"table events: {row} cannot be read ({str(error)[:_SHOWN]}); {_REMEDY}"
                )


def blocks(conn: Connection, *conditions: ColumnElement[bool]) -> Iterator[DamagedRowError]:
    """The days of marks that cannot be read, by owner, instrument and day; of those that fulfil the conditions."""
    from retro.store.facts.blocks import unpack  # noqa: PLC0415  who reads no marks needs no arrays

    columns = mark_blocks.c
    packed = (columns.at_ms, columns.price, columns.low, columns.high, columns.micros)
    query = select(mark_series.c.owner, mark_series.c.instrument, columns.day, *packed)
    query = query.join(mark_series, mark_series.c.key == columns.series).where(*conditions)
    query = query.order_by(mark_series.c.owner, mark_series.c.instrument, columns.day)
    with conn.execute(query.execution_options(yield_per=_AT_ONCE)) as rows:
        for owner, instrument, day, *block in rows:
            try:
                t = unpack([tuple(block)]).t
                if len(t) and not (t[0] // DAY == day == t[-1] // DAY and (t[1:] > t[:-1]).all()):
                    raise ValueError("its instants are in no order or of another day")
            except UNREADABLE as error:
                whose = f"agent {owner}" if owner else "all agents"
                row = f"the marks of {instrument[:_SHOWN]} on {format_instant(day * DAY)[:10]}, of {whose},"
                yield DamagedRowError(f"table mark_blocks: {row} cannot be read ({error}); {_REMEDY}")
