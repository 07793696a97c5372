"""The marks of many instruments in a few statements, however many there are: what a window reads of a market.

`marks` has those of one instrument; here a life of thousands of instruments asks for all of them at once.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import func, select

from retro.periods import DAY
from retro.store.facts import damage, marks
from retro.store.facts.blocks import MarkColumns, unpack
from retro.store.facts.series import owner_name
from retro.store.schema import mark_blocks, within
from retro.store.schema import series as mark_series

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sqlalchemy import ColumnElement, Connection, Row

    from retro.model import MarkSeries

__all__ = ["market"]

_BLOCK = attrgetter("at_ms", "price", "low", "high", "micros")


def market(
    conn: Connection, agent: str | None, instruments: Collection[str], start: int, end: int
) -> dict[str, MarkSeries]:
    """The marks with start <= t <= end of each instrument of one owner (None: shared), by name; in order of name.

    As-of look-ups need what stood before: of each instrument its last mark before `start` is brought along where none
    lies on it, and one that has nothing up to `end` comes with its first mark after it.
    """
    wanted = {*instruments}
    own = mark_series.c.owner == owner_name(agent)
    own &= within(conn, mark_series.c.instrument, sorted(wanted))
    query = select(mark_series.c.key, mark_series.c.instrument).where(own)
    names = {key: name for key, name in conn.execute(query) if name in wanted}
    if not names:  # most often all prices of an agent are its own, or all are shared
        return {}
    inside = {
        key: _between(columns, start, end) for key, columns in _columns(conn, own, start, end) if key in names
    }
    loaded = {}
    for key, name in names.items():
        series = marks.series_of(agent, name, inside[key]) if key in inside else None
        if series is None and (first := marks.first_after(conn, agent, name, end)) is not None:
            series = marks.load(conn, agent, name, first[0], first[0])
        if series is not None:
            loaded[name] = series
    return dict(sorted(loaded.items()))


def _between(columns: MarkColumns, start: int, end: int) -> MarkColumns:
    """The marks of [start, end], and the one before where none lies on `start`."""
    first = max(int(np.searchsorted(columns.t, start, side="right")) - 1, 0)
    return columns.at(slice(first, int(np.searchsorted(columns.t, end, side="right"))))


def _columns(
    conn: Connection, own: ColumnElement[bool], start: int, end: int
) -> Iterator[tuple[int, MarkColumns]]:
    """Of each series that has them the blocks of the days from `start` to `end`, and the last one before these."""
    c, earlier = mark_blocks.c, mark_blocks.alias("earlier")
    last = select(func.max(earlier.c.day)).where(
        earlier.c.series == mark_series.c.key, earlier.c.day < start // DAY
    )
    rows: list[Row[*tuple[Any, ...]]] = []
    for days in (c.day == last.scalar_subquery(), c.day.between(start // DAY, end // DAY)):
        query = select(c.series, c.day, c.at_ms, c.price, c.low, c.high, c.micros)
        query = query.join_from(mark_series, mark_blocks, (c.series == mark_series.c.key) & days)
        rows += conn.execute(query.where(own)).all()
    rows.sort(key=itemgetter(0, 1))
    for key, blocks in groupby(rows, key=itemgetter(0)):
        try:
            yield key, unpack([_BLOCK(block) for block in blocks])
        except ValueError as error:
            raise next(damage.blocks(conn, c.series == key), error) from error
