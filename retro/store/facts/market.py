"""The marks of many instruments in a few statements, however many there are: what a window reads of a market.

`marks` has those of one instrument; here a life of thousands of instruments asks for all of them at once.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

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

__all__ = ["MarketReader", "market"]

_BLOCK = attrgetter("at_ms", "price", "low", "high", "micros")
_MOST: Final = 2_000_000
"""Marks that are held for questions to come: 64 MB."""


def market(
    conn: Connection, agent: str | None, instruments: Collection[str], start: int, end: int
) -> dict[str, MarkSeries]:
    """The marks with start <= t <= end of each instrument of one owner (None: shared), by name; in order of name.

    As-of look-ups need what stood before: of each instrument its last mark before `start` is brought along where none
    lies on it, and one that has nothing up to `end` comes with its first mark after it.
    """
    return _series(agent, _loaded(conn, agent, {*instruments}, start, end))


class MarketReader:
    """`market` for several windows in one transaction: what was read for one is cut for the others.

    A series that is asked for is read as far as what was told to come (`read_ahead`), and again where a window reaches
    further. It holds a bounded number of marks, but for those of a single question.
    """

    def __init__(self, conn: Connection, agent: str) -> None:
        self._conn = conn
        self._agent = agent
        self._ahead: tuple[int, int] | None = None
        self._read: dict[str | None, dict[str, _Reading]] = {agent: {}, None: {}}

    def read_ahead(self, start: int, end: int) -> None:
        """Windows from `start` to `end` will be asked for."""
        self._ahead = (start, end)

    def owned(self, instruments: Collection[str], start: int, end: int) -> dict[str, MarkSeries]:
        """The agent's own marks, as `market` gives them."""
        return self._market(self._agent, {*instruments}, start, end)

    def shared(self, instruments: Collection[str], start: int, end: int) -> dict[str, MarkSeries]:
        """The marks that nobody owns, as `market` gives them."""
        return self._market(None, {*instruments}, start, end)

    def _market(self, owner: str | None, wanted: set[str], start: int, end: int) -> dict[str, MarkSeries]:
        if self._ahead is None:
            return market(self._conn, owner, wanted, start, end)
        read = self._read[owner]
        lacking = {name for name in wanted if name not in read or not read[name].covers(start, end)}
        if lacking:
            if self._size() > _MOST:
                for readings in self._read.values():
                    readings.clear()
                lacking = wanted
            # a position's window has no end: what was read for it serves all that come
            span = min(start, self._ahead[0]), max(end, self._ahead[1])
            loaded = _loaded(self._conn, owner, lacking, *span)
            read |= {name: _Reading(*span, loaded.get(name)) for name in lacking}
        cut = {name: read[name].cut(start, end) for name in wanted}
        return _series(owner, {name: columns for name, columns in cut.items() if columns is not None})

    def _size(self) -> int:
        return sum(
            0 if reading.columns is None else len(reading.columns.t)
            for readings in self._read.values()
            for reading in readings.values()
        )


class _Reading(NamedTuple):
    """What `_loaded` gave of one series for a window; None: it has no mark at all."""

    start: int
    end: int
    columns: MarkColumns | None

    def covers(self, start: int, end: int) -> bool:
        return self.start <= start and end <= self.end

    def cut(self, start: int, end: int) -> MarkColumns | None:
        """What `_loaded` would give for a window inside."""
        if self.columns is None:
            return None
        inside = _between(self.columns, start, end)
        return inside if len(inside.t) else self.columns.at(slice(0, 1))


def _series(owner: str | None, loaded: dict[str, MarkColumns]) -> dict[str, MarkSeries]:
    series = ((name, marks.series_of(owner, name, columns)) for name, columns in sorted(loaded.items()))
    return {name: each for name, each in series if each is not None}


def _loaded(
    conn: Connection, agent: str | None, wanted: set[str], start: int, end: int
) -> dict[str, MarkColumns]:
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
        if key in inside and len(inside[key].t):
            loaded[name] = inside[key]
        elif (first := marks.first_after(conn, agent, name, end)) is not None:
            loaded[name] = marks.columns_of(conn, agent, name, first[0], first[0])
    return loaded


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
