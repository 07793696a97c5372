"""Which shared marks a book was settled with, and which agents they have left behind.

A telling of shared marks writes nothing of any agent: its series gets the next version, and a row says between which
instants it changed. A book notes the names its prices rest on, each with the version it was settled with, whether or not
anybody has told marks under that name yet. An agent is behind where a series has a later version than its book noted.
Who reads the book, or the next knock, then does for this agent what a telling of its own marks does at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Table,
    Text,
    and_,
    delete,
    func,
    insert,
    select,
    tuple_,
    update,
)

from retro.store.books.positions import book
from retro.store.facts.agents import key_query, known_key
from retro.store.schema import (
    agents,
    mark_tellings,
    metadata,
    name_of,
    reference,
    series,
    within,
    within_keys,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Connection, Select

__all__ = [
    "MarkSpan",
    "agents_behind",
    "book_marks",
    "buckets_behind",
    "changes",
    "forget_tellings",
    "has_spent_tellings",
    "is_settled",
    "note",
    "note_names",
    "series_ahead",
]

book_marks: Final = Table(
    "book_marks",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("instrument", Text, primary_key=True),
    Column("version", BigInteger, nullable=False),
)
"""A row for each name that may price an agent's facts; `version`: of its shared series when the book was settled, or 0."""

_AT_ONCE: Final = 500
_IS_SHARED: Final = series.c.owner == ""
_SERIES_OF_NOTE: Final = and_(_IS_SHARED, series.c.instrument == book_marks.c.instrument)


class MarkSpan(NamedTuple):
    """Shared marks between two instants (microseconds, both included) are new or say something else."""

    first: int
    last: int


# what agents are behind


def _noted(instrument: ColumnElement[str]) -> ColumnElement[int]:
    """The oldest version that any book has noted of a name: one step into the index, whatever the number of books."""
    oldest = select(func.min(book_marks.c.version)).where(book_marks.c.instrument == instrument)
    return oldest.correlate(series).scalar_subquery()


def series_ahead(conn: Connection) -> list[tuple[str, int]]:
    """(instrument, version) of the shared series of which some book has noted an earlier version."""
    noted = _noted(series.c.instrument)
    query = select(series.c.instrument, series.c.version)
    ahead = query.where(_IS_SHARED, series.c.version > 0, noted < series.c.version)
    return [(row.instrument, row.version) for row in conn.execute(ahead)]


def agents_behind(conn: Connection, bucket: int | None = None) -> set[str]:
    """The names of the agents (of a bucket) that shared marks have left behind."""
    names: set[str] = set()
    for instrument, version in series_ahead(conn):
        if bucket is not None:
            names.update(conn.execute(_behind_of_bucket(instrument, version, bucket)).scalars())
            continue
        for keys in _keys_behind(conn, instrument, version):
            named = select(agents.c.name).where(within_keys(conn, agents.c.key, keys))
            names.update(conn.execute(named).scalars())
    return names


def buckets_behind(conn: Connection) -> set[int]:
    """The buckets of those agents."""
    buckets: set[int] = set()
    for instrument, version in series_ahead(conn):
        for keys in _keys_behind(conn, instrument, version):
            buckets.update(
                conn.execute(
                    select(agents.c.bucket).where(within_keys(conn, agents.c.key, keys)).distinct()
                ).scalars()
            )
    return buckets


def _behind_of_bucket(instrument: str, version: int, bucket: int) -> Select[Any]:
    """Each agent of the bucket looks up its own note: they are few beside all that noted the name."""
    columns = book_marks.c
    mine = and_(columns.agent == agents.c.key, columns.instrument == instrument, columns.version < version)
    behind = select(columns.version).where(mine).correlate(agents).scalar_subquery()
    return select(agents.c.name).where(agents.c.bucket == bucket, behind.is_not(None))


def _keys_behind(conn: Connection, instrument: str, version: int) -> Iterator[list[int]]:
    """The agents that noted an earlier version of a name, some at a time in the order of the index.

    A planner that was asked for all of them at once would guess their number, and read all agents for one.
    """
    columns = book_marks.c
    place = tuple_(columns.version, columns.agent)
    query = select(columns.version, columns.agent).where(
        columns.instrument == instrument, columns.version < version
    )
    query = query.order_by(columns.version, columns.agent).limit(_AT_ONCE)
    rows = conn.execute(query).all()
    while rows:
        yield [row.agent for row in rows]
        rows = conn.execute(query.where(place > tuple_(*rows[-1]))).all() if len(rows) == _AT_ONCE else []


def is_settled(conn: Connection, agent: str, settings: str) -> bool:
    """Whether an agent's book speaks for its facts under these settings, and shared marks have not left it behind."""
    later = and_(book_marks.c.agent == book.c.agent, book_marks.c.version < series.c.version)
    behind = select(book_marks.c.agent).join(series, _SERIES_OF_NOTE).where(later).correlate(book).exists()
    settled = and_(book.c.dirty_from.is_(None), book.c.settings == settings, ~behind)
    query = select(book.c.agent).where(book.c.agent == key_query(agent), settled)
    return conn.execute(query).one_or_none() is not None


def changes(conn: Connection, agent: str) -> list[MarkSpan]:
    """What each telling of shared marks has changed since an agent's book noted them, oldest first."""
    since = and_(
        mark_tellings.c.series == series.c.key,
        mark_tellings.c.version > book_marks.c.version,
    )
    # of a telling that nobody remembers the whole series counts as changed
    query = (
        select(
            func.coalesce(mark_tellings.c.first_at, series.c.first_at).label("first"),
            func.coalesce(mark_tellings.c.last_at, series.c.last_at).label("last"),
        )
        .select_from(book_marks)
        .join(series, _SERIES_OF_NOTE)
        .outerjoin(mark_tellings, since)
        .where(book_marks.c.agent == key_query(agent), book_marks.c.version < series.c.version)
    )
    return sorted(MarkSpan(row.first, row.last) for row in conn.execute(query))


# what a book notes


def note(conn: Connection, agent: str) -> None:
    """Note that an agent's book was settled with the shared marks that there are."""
    now = select(series.c.version).where(_SERIES_OF_NOTE).scalar_subquery()
    mine = book_marks.c.agent == key_query(agent)
    conn.execute(update(book_marks).where(mine, book_marks.c.version < now).values(version=now))


def note_names(
    conn: Connection, agent: str, names: Iterable[str], *, whole: bool, version: int | None = None
) -> None:
    """Note that an agent's book rests on these names, and (`whole`) on no others, with the marks that there are.

    `version` stands in for that of names that are new to the book.
    """
    key, wanted = known_key(conn, agent), {name_of(name) for name in names}
    mine = book_marks.c.agent == key
    noted = set(conn.execute(select(book_marks.c.instrument).where(mine)).scalars())
    if whole and (gone := noted - wanted):
        conn.execute(delete(book_marks).where(mine, within(conn, book_marks.c.instrument, gone)))
    fresh = sorted(wanted - noted)
    if not fresh:
        return
    query = select(series.c.instrument, series.c.version)
    shared = query.where(_IS_SHARED, within(conn, series.c.instrument, fresh))
    versions = {row.instrument: row.version for row in conn.execute(shared)}
    rows = [
        {"agent": key, "instrument": name, "version": versions.get(name, 0) if version is None else version}
        for name in fresh
    ]
    conn.execute(insert(book_marks), rows)


# what nobody waits for any more


def _spent(conn: Connection) -> list[tuple[int, int]]:
    """(series, version) up to which every book that rests on a series has taken its tellings."""
    upgraded = select(book.c.agent).where(book.c.dirty_from.is_not(None), book.c.settings == "")
    if conn.execute(upgraded.limit(1)).one_or_none() is not None:
        return []  # a book of before there were versions takes every telling since
    noted = func.coalesce(_noted(series.c.instrument), series.c.version)
    tellings = select(mark_tellings.c.version).where(
        mark_tellings.c.series == series.c.key, mark_tellings.c.version <= noted
    )
    query = select(series.c.key, noted.label("noted"))
    rows = conn.execute(query.where(_IS_SHARED, series.c.version > 0, tellings.exists()))
    return [(row.key, row.noted) for row in rows]


def has_spent_tellings(conn: Connection) -> bool:
    """Whether there is anything to forget."""
    return bool(_spent(conn))


def forget_tellings(conn: Connection) -> None:
    """Drop the tellings that every book has taken."""
    for key, version in _spent(conn):
        mine = and_(mark_tellings.c.series == key, mark_tellings.c.version <= version)
        conn.execute(delete(mark_tellings).where(mine))
