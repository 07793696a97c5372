"""Marks as column blocks: one row per owner, instrument and UTC day, so that a window reads only its own days.

Append-only and one price an instant. Instants are microseconds.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sqlalchemy import Select, select

from retro.errors import DamagedRowError
from retro.model import Conflict, MarkSeries
from retro.periods import DAY
from retro.store.facts import damage
from retro.store.facts.agents import extend_life, key_of
from retro.store.facts.blocks import (
    MarkColumns,
    Packed,
    ascending,
    blocks_of,
    day_blocks,
    finer,
    is_plain,
    joined,
    meet,
    stretches,
    unpack,
)
from retro.store.facts.mark_clashes import MarkProvenance, conflicts, keep_corrected
from retro.store.facts.series import SeriesKey, SeriesName, SeriesSpan, note_tellings, owner_name, series_keys
from retro.store.locks import lock_agents
from retro.store.schema import mark_blocks, name_of
from retro.store.schema import series as mark_series

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import ColumnElement, Connection

__all__ = [
    "AddedMarks",
    "add",
    "add_all",
    "by_day",
    "columns_of",
    "days_told",
    "first_after",
    "instruments",
    "last_at_or_before",
    "load",
    "series_of",
]

_DAYS_AT_ONCE: Final = 64
_AT_ONCE: Final = 10_000
"""Marks of a new series up to which it is stored together with others; a longer one goes by stretches of days."""
_VALUES: Final = {"sqlite": ", ".join("?" * 7), "postgresql": ", ".join(["%s"] * 7)}
_UPSERT: Final = (
    "INSERT INTO mark_blocks (series, day, at_ms, price, low, high, micros) VALUES ({})"
    " ON CONFLICT (series, day) DO UPDATE"
    " SET at_ms = excluded.at_ms, price = excluded.price, low = excluded.low, high = excluded.high,"
    " micros = excluded.micros"
)


@dataclass(slots=True)
class AddedMarks:
    """What became of the marks: `stored` anew, `completed` by a low, a high or microseconds, `replaced`, `unchanged`, or `conflicts`.

    `first_at`: the earliest instant at which anything changed; None when nothing did.
    """

    stored: int = 0
    unchanged: int = 0
    completed: int = 0
    replaced: int = 0
    conflicts: list[Conflict] = field(default_factory=list)
    first_at: int | None = None


# adding


def add(
    conn: Connection,
    series: MarkSeries,
    *,
    where: str,
    lines: Sequence[int] | None = None,
    replace: str | None = None,
) -> AddedMarks:
    """Store the marks that are new; `lines` (beside the marks) number them in `where`, for the conflicts.

    Another price, low or high for a known instant is a conflict and kept back, or, with `replace` (the reason),
    corrected. A low or high that was unknown is filled in. `ValueError` for a mark that is not finite.
    """
    return add_all(conn, [series], where=where, lines=[lines], replace=replace)[0]


def add_all(
    conn: Connection,
    batch: Sequence[MarkSeries],
    *,
    where: str,
    lines: Sequence[Sequence[int] | None] | None = None,
    replace: str | None = None,
) -> list[AddedMarks]:
    """`add` for several series, and what became of each."""
    added = [AddedMarks() for _ in batch]
    given = {i: ascending(series) for i, series in enumerate(batch) if len(series.t)}
    if not given:
        return added
    owners = {batch[i].agent for i in given}
    lock_agents(conn, [owner for owner in owners if owner], marks="write" if None in owners else None)
    names = {i: SeriesName.of(batch[i].agent, batch[i].instrument) for i in given}
    spans = [SeriesSpan(names[i], int(each.t[0]), int(each.t[-1])) for i, (each, _) in given.items()]
    keys = series_keys(conn, spans)
    changed: list[SeriesSpan] = []
    grown: dict[str, list[tuple[int, int, int]]] = {}
    plain = _first_told(conn, {i: columns for i, (columns, _) in given.items()}, names, keys)
    for i, (columns, order) in given.items():
        numbers = None
        if lines is not None and (given_lines := lines[i]) is not None:
            numbers = np.asarray(given_lines, np.int64)[order]
        key, is_new = keys[names[i]]
        if i in plain:
            added[i].stored, added[i].first_at = len(columns.t), int(columns.t[0])
        else:
            keys[names[i]] = SeriesKey(key, is_new=False)  # told of twice, it has marks the second time
            _add(
                conn,
                MarkProvenance(key, batch[i].instrument, where, replace, is_new),
                added[i],
                columns,
                numbers,
            )
        if (since := added[i].first_at) is not None:
            changed.append(SeriesSpan(names[i], since, int(columns.t[-1])))
        agent = batch[i].agent
        if agent is not None and (added[i].stored or added[i].completed):
            grown.setdefault(agent, []).append((int(columns.t[0]), int(columns.t[-1]), added[i].stored))
    note_tellings(conn, spans, changed)
    for agent, lives in grown.items():
        first, last, stored = zip(*lives, strict=True)
        extend_life(conn, key_of(conn, agent), min(first), max(last), sum(stored))
    return added


def _first_told(
    conn: Connection,
    given: dict[int, MarkColumns],
    names: dict[int, SeriesName],
    keys: dict[SeriesName, SeriesKey],
) -> frozenset[int]:
    """Store the series that have no marks yet and meet nothing in themselves either, all at once; which these are.

    Of a series that is told of twice the first telling alone; `keys` notes that it has marks from then on.
    """
    first = {names[i]: i for i in reversed(given)}
    plain = {
        i: keys[name].key
        for name, i in first.items()
        if keys[name].is_new and len(given[i].t) <= _AT_ONCE and is_plain(given[i])
    }
    if plain:
        order = [*plain]
        blocks = blocks_of([given[i] for i in order])
        _write(conn, [(plain[order[which]], day, *packed) for which, day, packed in blocks])
        keys |= {names[i]: SeriesKey(key, is_new=False) for i, key in plain.items()}
    return frozenset(plain)


def _add(
    conn: Connection,
    provenance: MarkProvenance,
    added: AddedMarks,
    given: MarkColumns,
    numbers: NDArray[np.int64] | None,
) -> None:
    """Bring marks in order of time into the blocks of their series; `numbers` are their lines."""
    remaining = np.arange(len(given.t))
    while len(remaining):  # more than one round only when the series itself tells an instant twice
        _, first = np.unique(given.t[remaining], return_index=True)
        for part in stretches(given.t[remaining[first]], _DAYS_AT_ONCE):
            which = remaining[first[part]]
            _merge(conn, provenance, added, given.at(which), None if numbers is None else numbers[which])
        remaining = np.delete(remaining, first)
        provenance = provenance._replace(is_new=False)


def _merge(
    conn: Connection,
    provenance: MarkProvenance,
    added: AddedMarks,
    new: MarkColumns,
    lines: NDArray[np.int64] | None,
) -> None:
    """Bring new marks (unique instants) into the blocks of their days and count what became of them."""
    days = mark_blocks.c.day.between(int(new.t[0]) // DAY, int(new.t[-1]) // DAY)
    old = _known(conn, provenance, days)
    place, matched, clash, fills = meet(old, new)
    then = old.at(place[fills])
    for before, again in ((then.low, new.low[fills]), (then.high, new.high[fills])):
        np.copyto(before, again, where=np.isnan(before))
    changes = [new.at(~matched), then]
    if provenance.replace is None:
        numbers = None if lines is None else lines[clash]
        added.conflicts += conflicts(provenance, old.at(place[clash]), new.at(clash), numbers)
    else:
        keep_corrected(conn, provenance, old.at(place[clash]))
        changes.append(new.at(clash))
        added.replaced += int(clash.sum())
    change = MarkColumns(*(np.concatenate(columns) for columns in zip(*changes, strict=True)))
    both = joined(old, change)
    coarse = finer(both)
    added.stored += int((~matched).sum())
    added.completed += int(fills.sum())
    added.unchanged += int((matched & ~clash & ~fills).sum())
    if coarse.any():
        dropped = both.t[coarse]
        of_old = int(np.isin(dropped, old.t, assume_unique=True).sum())
        added.stored -= len(dropped)
        added.completed += of_old
        added.unchanged += len(dropped) - of_old
        change = change.at(~np.isin(change.t, dropped, assume_unique=True))
    if len(change.t):
        earliest = int(change.t.min())
        added.first_at = earliest if added.first_at is None else min(earliest, added.first_at)
        blocks = day_blocks(both.at(~coarse), np.unique(change.t // DAY))
        _write(conn, [(provenance.key, day, *packed) for day, packed in blocks])


def _known(conn: Connection, provenance: MarkProvenance, days: ColumnElement[bool]) -> MarkColumns:
    """The stored marks of some days; where they are replaced, a day that cannot be read any more is as if untold."""
    if provenance.is_new:
        return unpack([])
    query = _blocks(mark_blocks.c.series == provenance.key, days)
    try:
        return _columns(conn, query)
    except DamagedRowError:
        if provenance.replace is None:
            raise
    sound = []
    for block in conn.execute(query).all():
        with suppress(ValueError):
            unpack([block])
            sound.append(block)
    return unpack(sound)


def _write(conn: Connection, rows: list[tuple[Any, ...]]) -> None:
    conn.exec_driver_sql(_UPSERT.format(_VALUES[conn.dialect.name]), rows)


# reading


def load(conn: Connection, agent: str | None, instrument: str, start: int, end: int) -> MarkSeries | None:
    """The marks with start <= t <= end of one owner (None: shared); None when there are none.

    `low` and `high` are None when unknown throughout; where one is unknown among known ones it is the price itself,
    which adds nothing to an extreme.
    """
    return series_of(agent, instrument, columns_of(conn, agent, instrument, start, end))


def columns_of(conn: Connection, agent: str | None, instrument: str, start: int, end: int) -> MarkColumns:
    """The marks with start <= t <= end of one owner (None: shared) as they are stored."""
    days = mark_blocks.c.day.between(start // DAY, end // DAY)
    columns = _columns(conn, _blocks(_own(agent, instrument), days))
    return columns.at(slice(*np.searchsorted(columns.t, (start, end + 1))))


def series_of(agent: str | None, instrument: str, inside: MarkColumns) -> MarkSeries | None:
    """Columns as the series that `load` gives; None when there are none."""
    if not len(inside.t):
        return None
    low, high = (
        None if np.isnan(column).all() else np.where(np.isnan(column), inside.price, column)
        for column in (inside.low, inside.high)
    )
    return MarkSeries(agent, instrument, inside.t, inside.price, low, high)


def by_day(
    conn: Connection, agent: str | None, instrument: str, since: int | None = None
) -> Iterator[MarkColumns]:
    """Every mark of one owner (None: shared), a UTC day at a time; `since`: from the last day at or before an instant on."""
    own = _own(agent, instrument)
    days = select(mark_blocks.c.day).where(own).order_by(mark_blocks.c.day)
    wanted = list(conn.execute(days).scalars())
    if since is not None:
        before = [day for day in wanted if day <= since // DAY]
        wanted = [*before[-1:], *wanted[len(before) :]]
    for day in wanted:
        yield _columns(conn, _blocks(own, mark_blocks.c.day == day))


def last_at_or_before(
    conn: Connection, agent: str | None, instrument: str, at: int
) -> tuple[int, float] | None:
    """The instant and price of the last mark at or before an instant."""
    upto = mark_blocks.c.day <= at // DAY
    query = _blocks(_own(agent, instrument), upto).order_by(None).order_by(mark_blocks.c.day.desc()).limit(2)
    columns = _columns(conn, query, newest_first=True)
    return _mark(columns, int(np.searchsorted(columns.t, at, "right")) - 1)


def first_after(conn: Connection, agent: str | None, instrument: str, at: int) -> tuple[int, float] | None:
    """The instant and price of the first mark after an instant."""
    since = mark_blocks.c.day >= at // DAY
    columns = _columns(conn, _blocks(_own(agent, instrument), since).limit(2))
    return _mark(columns, int(np.searchsorted(columns.t, at, "right")))


def instruments(conn: Connection, agent: str | None) -> dict[str, int]:
    """The instruments of one owner (None: shared) that have a mark, and the instant of their first one, by name."""
    query = select(mark_series.c.instrument, mark_series.c.first_at).where(
        mark_series.c.owner == owner_name(agent)
    )
    return dict(sorted((name, first_at) for name, first_at in conn.execute(query)))


def days_told(conn: Connection, owners: Iterable[str | None], instrument: str) -> set[int]:
    """The UTC days (counted from the epoch) that have a mark of an instrument by one of these owners (None: shared)."""
    columns = mark_series.c
    keys = select(columns.key).where(
        columns.owner.in_(sorted(map(owner_name, owners))), columns.instrument == name_of(instrument)
    )
    return set(conn.execute(select(mark_blocks.c.day).where(mark_blocks.c.series.in_(keys))).scalars())


def _own(agent: str | None, instrument: str) -> ColumnElement[bool]:
    columns = mark_series.c
    key = select(columns.key).where(
        columns.owner == owner_name(agent), columns.instrument == name_of(instrument)
    )
    return mark_blocks.c.series == key.scalar_subquery()


def _blocks(*conditions: ColumnElement[bool]) -> Select[*Packed]:
    columns = mark_blocks.c
    query = select(columns.at_ms, columns.price, columns.low, columns.high, columns.micros)
    return query.where(*conditions).order_by(columns.day)


def _columns(
    conn: Connection,
    query: Select[*Packed],
    *,
    newest_first: bool = False,
) -> MarkColumns:
    blocks = conn.execute(query).all()
    try:
        return unpack(blocks[::-1] if newest_first else blocks)
    except ValueError as error:
        condition = query.whereclause
        raise next(damage.blocks(conn, *([] if condition is None else [condition])), error) from error


def _mark(columns: MarkColumns, place: int) -> tuple[int, float] | None:
    if not 0 <= place < len(columns.t):
        return None
    return int(columns.t[place]), float(columns.price[place])
