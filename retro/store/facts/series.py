"""The series that marks are kept under: one key for each owner and instrument, and how far its marks reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import bindparam, insert, select, update

from retro.store.schema import name_of, within
from retro.store.schema import series as table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

__all__ = ["SeriesKey", "SeriesName", "SeriesSpan", "owner_name", "series_keys"]


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


def series_keys(conn: Connection, reaches: Iterable[SeriesSpan]) -> dict[SeriesName, SeriesKey]:
    """The keys of series, made where there are none and widened to the given instants; a few statements for all."""
    spans: dict[SeriesName, SeriesSpan] = {}
    for span in reaches:
        before = spans.get(span.name, span)
        spans[span.name] = SeriesSpan(span.name, min(span.first, before.first), max(span.last, before.last))
    keys, wider = {}, []
    for name, key, first, last in _rows(conn, spans):
        keys[name] = SeriesKey(key, is_new=False)
        span = spans[name]
        if span.first < first or span.last > last:
            wider.append({"its": key, "first": min(span.first, first), "last": max(span.last, last)})
    if wider:
        statement = update(table).where(table.c.key == bindparam("its"))
        conn.execute(statement.values(first_at=bindparam("first"), last_at=bindparam("last")), wider)
    missing = [span for name, span in spans.items() if name not in keys]
    if missing:
        rows = [
            {"owner": name.owner, "instrument": name.instrument, "first_at": first, "last_at": last}
            for name, first, last in missing
        ]
        conn.execute(insert(table), rows)
        for name, key, _, _ in _rows(conn, [span.name for span in missing]):
            keys[name] = SeriesKey(key, is_new=True)
    return keys


def _rows(conn: Connection, names: Iterable[SeriesName]) -> list[tuple[SeriesName, int, int, int]]:
    """Name, key, first and last instant of those of these series that there are."""
    instruments: dict[str, list[str]] = {}
    for name in names:
        instruments.setdefault(name.owner, []).append(name.instrument)
    c = table.c
    return [
        (SeriesName(owner, instrument), key, first, last)
        for owner, wanted in instruments.items()
        for instrument, key, first, last in conn.execute(
            select(c.instrument, c.key, c.first_at, c.last_at).where(
                c.owner == owner, within(conn, c.instrument, wanted)
            )
        )
    ]
