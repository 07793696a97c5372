"""Which rows of which table are an agent's, read off the tables themselves.

A table that refers to `agents`, or to a table of an agent's rows, or that has a column `agent`, is covered without
being named here, one that is added next year too. A table without any of these holds nothing of anybody.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import Table, Text, func, select, update

from retro.store.locks import bucket_of
from retro.store.schema import metadata

if TYPE_CHECKING:
    from sqlalchemy import Column, ColumnElement, Connection, MetaData

__all__ = [
    "DERIVED",
    "Holding",
    "counts",
    "has_rows",
    "holdings",
    "is_derived",
    "key_of_agent",
    "of_agent",
    "rebucket",
    "references",
]

DERIVED: Final = ("book", "memory_block")
"""How the names of tables begin that follow from others: deleting their rows loses nothing."""

_NAMED: Final = {"mark_series": "owner"}
"""Where the column that holds the agent's name is called otherwise."""


class Holding(NamedTuple):
    """A table with rows of agents: `column` holds the key of a row of `parent`, or the agent's name where that is None."""

    table: Table
    column: Column[object]
    parent: Table | None


@cache
def holdings() -> tuple[Holding, ...]:
    """Every table with rows of agents, each after those it refers to; `agents` itself is the first."""
    rows: dict[str, Holding] = {}
    for described in _metadata():
        for table in described.sorted_tables:
            holding = _holding(table, rows)
            if holding is not None:
                rows[table.name] = holding
    return tuple(sorted(rows.values(), key=lambda holding: holding.table.name != "agents"))


def _metadata() -> tuple[MetaData, MetaData]:
    """The tables of retro and of the memory, all of them: each module of the store describes its own."""
    import retro.store  # noqa: PLC0415  a package cannot import itself while it is imported
    from memory.store.library_tables import libraries  # noqa: PLC0415  opening a store does not load the memory

    for module in walk_packages(retro.store.__path__, "retro.store."):
        import_module(module.name)
    return metadata, libraries.metadata


def _holding(table: Table, rows: dict[str, Holding]) -> Holding | None:
    if table.name == "agents":
        return Holding(table, table.c.key, table)
    for column in table.columns:
        for reference in column.foreign_keys:
            parent = reference.column.table
            if parent.name in rows:
                return Holding(table, column, parent)
    name = _NAMED.get(table.name, "agent")
    if name in table.c and isinstance(table.c[name].type, Text):
        return Holding(table, table.c[name], None)
    return None


def references() -> tuple[Column[object], ...]:
    """Every column of any table that holds the key of an agent."""
    return tuple(
        column
        for holding in holdings()
        for column in holding.table.columns
        if any(reference.column.table.name == "agents" for reference in column.foreign_keys)
    )


def is_derived(table: Table) -> bool:
    """Whether its rows follow from those of others."""
    return table.name.startswith(DERIVED)


def key_of_agent(conn: Connection, name: str) -> int | None:
    """The agent's key; None where the database knows it by its memory alone, or not at all."""
    agents = holdings()[0].table
    key: int | None = conn.execute(select(agents.c.key).where(agents.c.name == name)).scalar_one_or_none()
    return key


def of_agent(holding: Holding, name: str, key: int | None) -> ColumnElement[bool]:
    """The condition of an agent's rows."""
    if holding.parent is None:
        return holding.column == name
    if holding.parent.name == "agents":
        return holding.column == (-1 if key is None else key)
    parent = next(row for row in holdings() if row.table is holding.parent)
    keys = select(parent.table.c.key).where(of_agent(parent, name, key))
    return holding.column.in_(keys)


def rebucket(conn: Connection, key: int, name: str) -> None:
    """Put the rows of the agent of that key into the bucket of its name."""
    for holding in holdings():
        columns = holding.table.c
        if "bucket" in columns:
            whose = columns.key if holding.table.name == "agents" else columns.agent
            conn.execute(update(holding.table).where(whose == key).values(bucket=bucket_of(name)))


def has_rows(conn: Connection, name: str) -> bool:
    """Whether any table has a row of an agent of that name, be it a plan alone or a fault."""
    key = key_of_agent(conn, name)
    queries = (select(holding.column).where(of_agent(holding, name, key)).limit(1) for holding in holdings())
    return any(conn.execute(query).first() is not None for query in queries)


def counts(conn: Connection, name: str) -> dict[str, int]:
    """Table -> how many rows of it are the agent's, where there are any."""
    key = key_of_agent(conn, name)
    sizes = {}
    for holding in holdings():
        query = select(func.count()).select_from(holding.table).where(of_agent(holding, name, key))
        if size := int(conn.execute(query).scalar_one()):
            sizes[holding.table.name] = size
    return sizes
