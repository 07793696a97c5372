"""The series that marks are kept under: one key for each owner and instrument, and how far its marks reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import bindparam, func, insert, select, update

from retro.store.schema import mark_tellings, name_of, within
from retro.store.schema import series as table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

__all__ = [
    "SeriesKey",
    "SeriesName",
    "SeriesSpan",
    "newest_mark",
    "note_tellings",
    "owner_name",
    "series_keys",
]


class SeriesName(NamedTuple):
    """Whose marks ("": shared by all agents) and of what, as keys."""

    owner: str
    instrument: str

    @classmethod
    def of(cls, agent: str | None, instrument: str) -> SeriesName:
        """The name of an agent's series of an instrument; None: the shared one."""
        return cls(owner_name(agent), name_of(instrument))


class SeriesSpan(NamedTuple):
    """A series and two instants that its marks reach to."""

    name: SeriesName
    first: int
    last: int


class SeriesKey(NamedTuple):
    """The key of a series, and whether it was made just now: then it has no marks yet."""

    key: int
    is_new: bool


def owner_name(agent: str | None) -> str:
    """An owner as a key; None: everybody."""
    return "" if agent is None else name_of(agent)


def newest_mark(conn: Connection) -> int | None:
    """The instant of the newest mark of any series, an agent's own or shared; None where there is none."""
    newest: int | None = conn.execute(select(func.max(table.c.last_at))).scalar_one()
    return newest


def series_keys(conn: Connection, spans: Iterable[SeriesSpan]) -> dict[SeriesName, SeriesKey]:
    """The keys of series, made where there are none; a few statements for all."""
    united = _united(spans)
    keys = {row.name: SeriesKey(row.key, is_new=False) for row in _rows(conn, united)}
    missing = [span for name, span in united.items() if name not in keys]
    if missing:
        rows = [
            {"owner": name.owner, "instrument": name.instrument, "first_at": first, "last_at": last}
            for name, first, last in missing
        ]
        conn.execute(insert(table), rows)
        for row in _rows(conn, [span.name for span in missing]):
            keys[row.name] = SeriesKey(row.key, is_new=True)
    return keys


def note_tellings(conn: Connection, spans: Iterable[SeriesSpan], changed: Iterable[SeriesSpan]) -> None:
    """Widen series to what was told; where that changed shared ones, they have a new version, and it is noted what.

    No agent is touched: each finds out by itself that its book was settled with an older version.
    """
    united = _united(spans)
    news = {name: span for name, span in _united(changed).items() if name.owner == owner_name(None)}
    wider, tellings = [], []
    for row in _rows(conn, united):
        span, version = united[row.name], row.version + (row.name in news)
        first, last = min(span.first, row.first), max(span.last, row.last)
        if (first, last, version) != (row.first, row.last, row.version):
            wider.append({"its": row.key, "first": first, "last": last, "now": version})
        if row.name in news:
            _, since, until = news[row.name]
            tellings.append({"series": row.key, "version": version, "first_at": since, "last_at": until})
    if wider:
        its = update(table).where(table.c.key == bindparam("its"))
        after = its.values(first_at=bindparam("first"), last_at=bindparam("last"), version=bindparam("now"))
        conn.execute(after, wider)
    if tellings:
        conn.execute(insert(mark_tellings), tellings)


def _united(spans: Iterable[SeriesSpan]) -> dict[SeriesName, SeriesSpan]:
    """Each series once, with the widest span it has here."""
    united: dict[SeriesName, SeriesSpan] = {}
    for span in spans:
        before = united.get(span.name, span)
        united[span.name] = SeriesSpan(span.name, min(span.first, before.first), max(span.last, before.last))
    return united


class _SeriesRow(NamedTuple):
    """A series as it is stored."""

    name: SeriesName
    key: int
    first: int
    last: int
    version: int


def _rows(conn: Connection, names: Iterable[SeriesName]) -> list[_SeriesRow]:
    """Those of these series that there are."""
    instruments: dict[str, list[str]] = {}
    for name in names:
        instruments.setdefault(name.owner, []).append(name.instrument)
    c = table.c
    return [
        _SeriesRow(SeriesName(owner, instrument), *row)
        for owner, wanted in instruments.items()
        for instrument, *row in conn.execute(
            select(c.instrument, c.key, c.first_at, c.last_at, c.version).where(
                c.owner == owner, within(conn, c.instrument, wanted)
            )
        )
    ]
