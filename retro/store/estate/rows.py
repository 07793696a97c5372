"""Rows of an agent as plain values and back: what an export writes for each table, and an import inserts.

A value is what JSON has: bytes as base64, money as text with every digit. The column that says whose a row is stays
out. Keys are counted from 1 in every export, so that the same agent gives the same export whatever database it lies in,
and mapped to the keys they get by an import.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import LargeBinary, insert, select

from retro.store.estate.holdings import Holding, holdings, is_derived, key_of_agent, of_agent
from retro.store.locks import bucket_of
from retro.store.schema import DecimalMoney, series

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlalchemy import Column, Connection

__all__ = ["KeyMap", "Row", "exported", "imported", "portable", "series_keys"]

Row = dict[str, Any]
KeyMap = dict[tuple[str, int], int]
"""(table, key) -> the key on the other side, of the tables that others refer to."""

_LOCAL: Final = frozenset(
    {"agents", "outbox", "errands", "faults", "mark_series", "mark_blocks", "mark_tellings", "rework_agents"}
)
"""Not carried as rows: letters, errands and work to be done belong to a machine, an agent, marks and faults have forms of their own."""
_DERIVED: Final = frozenset({"seq", "bucket"})
"""Columns that follow from the order of arrival and from the name."""
_AT_ONCE: Final = 500


def portable() -> tuple[Holding, ...]:
    """The tables that are carried row by row, each after those it refers to."""
    return tuple(
        holding
        for holding in holdings()
        if holding.table.name not in _LOCAL and not is_derived(holding.table)
    )


def exported(conn: Connection, holding: Holding, name: str, keys: KeyMap) -> Iterator[Row]:
    """The rows of a table that are the agent's, in the order in which they came, their keys counted from 1.

    `keys` holds the numbers that were given to rows of other tables, and gets those given here.
    """
    table = holding.table
    columns = [
        column for column in table.columns if column.name not in _DERIVED and not _says_whose(holding, column)
    ]
    order = list(table.primary_key) or [table.c.seq]
    mine = of_agent(holding, name, key_of_agent(conn, name))
    query = select(*columns).where(mine).order_by(*order).execution_options(yield_per=_AT_ONCE)
    for number, row in enumerate(conn.execute(query), 1):
        values: Row = {column.name: _plain(value) for column, value in zip(columns, row, strict=True)}
        for column in columns:
            parent = _parent_of(column)
            if parent is not None and values[column.name] is not None:
                values[column.name] = keys[parent, values[column.name]]
        if "key" in values and "key" in table.primary_key:
            keys[table.name, values["key"]] = number
            values["key"] = number
        if values.get("state") == "running":  # whoever is at it is at it here
            values["state"] = "due"
        for lease in ("owner", "leased_until"):
            values.pop(lease, None)
        yield {column: value for column, value in values.items() if value is not None}


def _parent_of(column: Column[Any]) -> str | None:
    """The table of whose rows a column holds the key."""
    return next((reference.column.table.name for reference in column.foreign_keys), None)


def _says_whose(holding: Holding, column: Column[Any]) -> bool:
    """Whether it holds the agent itself, by key or by name."""
    is_own = holding.parent is None or holding.parent.name == "agents"
    return is_own and column is holding.column


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    return str(value) if isinstance(value, Decimal) else value


def series_keys(conn: Connection, name: str) -> dict[str, int]:
    """The agent's own series of marks: instrument -> key, by which rows of corrected marks name them."""
    query = select(series.c.instrument, series.c.key).where(series.c.owner == name)
    return dict(sorted((instrument, key) for instrument, key in conn.execute(query)))


def imported(
    conn: Connection, holding: Holding, name: str, rows: Iterable[Mapping[str, Any]], keys: KeyMap
) -> int:
    """Insert rows of a table as the agent's; how many. What others refer to is noted in `keys`."""
    key, count, chunk = key_of_agent(conn, name), 0, list[Row]()
    for row in rows:
        chunk.append(_row_here(holding, row, name, key, keys))
        if len(chunk) == _AT_ONCE:
            _insert(conn, holding, chunk, keys)
            count, chunk = count + len(chunk), []
    _insert(conn, holding, chunk, keys)
    return count + len(chunk)


def _row_here(holding: Holding, row: Mapping[str, Any], name: str, key: int | None, keys: KeyMap) -> Row:
    """The row as it stands in this database; `LookupError` where it names a row that was not carried."""
    own_row: Row = {}
    for column in holding.table.columns:
        if _says_whose(holding, column):
            own_row[column.name] = name if holding.parent is None else key
        elif column.name == "bucket":
            own_row["bucket"] = bucket_of(name)
        elif column.name in row or column.nullable:
            value = row.get(column.name)
            parent = _parent_of(column)
            own_row[column.name] = (
                _value(column, value) if parent is None or value is None else keys[parent, value]
            )
    return own_row


def _value(column: Column[Any], value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column.type, LargeBinary):
        return b64decode(value, validate=True)
    return Decimal(value) if isinstance(column.type, DecimalMoney) else value


def _insert(conn: Connection, holding: Holding, rows: list[Row], keys: KeyMap) -> None:
    table = holding.table
    if not rows:
        return
    for row in rows:
        row.pop("seq", None)
    if "key" not in table.c:
        conn.execute(insert(table), rows)
        return
    foreign_keys = [row.pop("key") for row in rows]
    statement = insert(table).returning(table.c.key, sort_by_parameter_order=True)
    for old, new in zip(foreign_keys, conn.execute(statement, rows).scalars(), strict=True):
        keys[table.name, old] = new
