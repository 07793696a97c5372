"""The tables as queries see them, and the idioms in which the two databases differ.

`migrations` makes these tables; a test holds the two descriptions together.
"""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    Table,
    Text,
    TypeDecorator,
    any_,
    bindparam,
    func,
    select,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import ColumnElement, Connection
    from sqlalchemy.dialects.postgresql import Insert as PostgresInsert
    from sqlalchemy.dialects.sqlite import Insert as SqliteInsert
    from sqlalchemy.types import TypeEngine

__all__ = [
    "DecimalMoney",
    "agents",
    "among",
    "bucket_column",
    "corrections",
    "events",
    "faults",
    "insert_into",
    "mark_blocks",
    "mark_corrections",
    "mark_tellings",
    "metadata",
    "name_of",
    "reference",
    "schema_version",
    "series",
    "source_agents",
    "within",
    "within_keys",
]


class DecimalMoney(TypeDecorator[Decimal]):
    """A decimal that keeps every digit: text on SQLite, which would round it to binary, and numeric on PostgreSQL."""

    impl = Numeric
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Text where there is no decimal type."""
        return dialect.type_descriptor(Text() if dialect.name == "sqlite" else Numeric())

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> Any:
        """Digits on SQLite, the number itself on PostgreSQL."""
        return str(value) if value is not None and dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> Decimal | None:  # noqa: ARG002  the base class names it
        """The decimal that was stored."""
        return None if value is None else Decimal(value)


def reference(name: str, table: str, *, is_key: bool = False) -> Column[int]:
    """A column that names a row of another table by its `key`; `is_key`: rows here are known by it, too."""
    of_row = ForeignKey(f"{table}.key")
    if is_key:
        return Column(name, BigInteger, of_row, primary_key=True, autoincrement=False)
    return Column(name, BigInteger, of_row, nullable=False)


def bucket_column() -> Column[int]:
    """The bucket of the agent whose row it is (`retro.store.locks`); -1: of none, where no name gave one yet."""
    return Column("bucket", Integer, nullable=False, server_default="-1")


metadata: Final = MetaData()

schema_version: Final = Table(
    "schema_version",
    metadata,
    Column("component", Text, primary_key=True),
    Column("version", Integer, nullable=False),
)
"""How many migrations of each component have been applied."""

agents: Final = Table(
    "agents",
    metadata,
    Column("key", BigInteger, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("first_at", BigInteger),
    Column("last_at", BigInteger),
    Column("as_of", BigInteger),
    Column("capital", DecimalMoney),
    Column("base_currency", Text),
    Column("events", BigInteger, nullable=False),
    Column("origin", Text),
    Column("time_zone", Text),
    Column("epoch_days", BigInteger),
    Column("day_grid", BigInteger, nullable=False),
    Column("epoch_grid", BigInteger, nullable=False),
    Column("grid_since", BigInteger),
    Column("watched", Integer, nullable=False, server_default="0"),
    bucket_column(),
)
"""Whose lives are told here. `first_at`, `last_at` and `events` are kept as facts and own marks arrive.

`time_zone` and `epoch_days` are the grid of an agent's reviews, NULL until the first is owed; `day_grid` and
`epoch_grid` count the grids that its days and weeks, and its epochs, have had; `grid_since`: when the last was chosen.
`watched` is 1 once it was looked up what is owed to the agent, so that newcomers are found without reading all.
"""

events: Final = Table(
    "events",
    metadata,
    Column("seq", BigInteger, primary_key=True),
    reference("agent", "agents"),
    Column("type", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("position", Text),
    Column("body", Text, nullable=False),
    Column("told_at", BigInteger),
)
"""The facts: append-only, unique on (agent, type, id), `body` the line as written, `seq` the order of arrival.

`told_at`, of decisions: the clock by which they were taken in first; null where nobody looked at one.
"""

corrections: Final = Table(
    "corrections",
    metadata,
    Column("seq", BigInteger, primary_key=True),
    reference("agent", "agents"),
    Column("type", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("position", Text),
    Column("body", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("told_at", BigInteger),
)
"""What an event said before it was replaced, why, and where the replacement came from.

`told_at` is the clock by which the agent's own correction was taken in; null for what a bot's database says anew of itself.
"""

series: Final = Table(
    "mark_series",
    metadata,
    Column("key", BigInteger, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("instrument", Text, nullable=False),
    Column("first_at", BigInteger, nullable=False),
    Column("last_at", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False, server_default="0"),
)
"""One row per owner and instrument; the owner of shared marks is the empty text.

`version` counts the tellings that changed a shared series; that of an agent's own stays 0.
"""

mark_tellings: Final = Table(
    "mark_tellings",
    metadata,
    reference("series", "mark_series", is_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("first_at", BigInteger, nullable=False),
    Column("last_at", BigInteger, nullable=False),
)
"""Between which instants a telling changed a shared series, and the version it made; kept while a book is behind it."""

mark_blocks: Final = Table(
    "mark_blocks",
    metadata,
    reference("series", "mark_series", is_key=True),
    Column("day", BigInteger, primary_key=True, autoincrement=False),
    Column("at_ms", LargeBinary, nullable=False),
    Column("price", LargeBinary, nullable=False),
    Column("low", LargeBinary),
    Column("high", LargeBinary),
    Column("micros", LargeBinary),
)
"""The marks of one UTC day (counted from the epoch), little-endian: `at_ms` int64 whole milliseconds, prices float64.

`micros` uint16: the microseconds beyond them; null where all are 0, as of candles, and in blocks of old databases.
"""

mark_corrections: Final = Table(
    "mark_corrections",
    metadata,
    Column("seq", BigInteger, primary_key=True),
    reference("series", "mark_series"),
    Column("at_ms", BigInteger, nullable=False),
    Column("price", Double, nullable=False),
    Column("low", Double),
    Column("high", Double),
    Column("place", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("micros", BigInteger, nullable=False, server_default="0"),
)
"""What a mark was before it was replaced; its instant is `at_ms` milliseconds and `micros` microseconds."""

faults: Final = Table(
    "faults",
    metadata,
    Column("key", Text, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("source", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("line", BigInteger),
    Column("reason", Text, nullable=False),
    Column("agent", Text),
)
"""Foreign data that could not be used; `key` is a digest, so that the same fault is kept once.

`agent`: whom the line named; null where it named nobody, and then the fault is of all agents of its source.
"""

source_agents: Final = Table(
    "source_agents",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("source", Text, primary_key=True),
)
"""Of which agents a source has told."""

position_rulings: Final = Table(
    "position_rulings",
    metadata,
    Column("seq", BigInteger, primary_key=True),
    reference("agent", "agents"),
    Column("position", Text, nullable=False),
    Column("ruling", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
)
"""What owners said of positions that look impossible: `confirmed` or `rejected`; of several the newest counts."""

_LONGEST_NAME: Final = 500


def name_of(text: str) -> str:
    """The form in which a foreign id or name is a key: itself, unless a database could not index it.

    PostgreSQL refuses U+0000 and keys beyond 2.7 kB; such names become their start and a digest. Applying it twice
    changes nothing.
    """
    if len(text) <= _LONGEST_NAME and "\0" not in text:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[:100]}#{digest}".replace("\0", "\N{SYMBOL FOR NULL}")


def insert_into(conn: Connection, table: Table) -> SqliteInsert | PostgresInsert:
    """An insert that can say what happens on a conflict, in the words of this database; the other one is not loaded."""
    if conn.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as of_postgresql  # noqa: PLC0415  slow to load

        return of_postgresql(table)
    from sqlalchemy.dialects.sqlite import insert as of_sqlite  # noqa: PLC0415  as above

    return of_sqlite(table)


def within(conn: Connection, column: ColumnElement[str], values: Iterable[str]) -> ColumnElement[bool]:
    """`column IN values` as one parameter, however many there are, so that the statement is compiled once."""
    return among(conn, column, map(name_of, values))


def among(conn: Connection, column: ColumnElement[str], values: Iterable[str]) -> ColumnElement[bool]:
    """The same of values that are no keys, but text as it is told."""
    wanted = [*values]
    if conn.dialect.name == "postgresql":
        return column == any_(bindparam(None, wanted, ARRAY(Text)))
    listed = func.json_each(bindparam(None, json.dumps(wanted), Text)).table_valued("value")
    return column.in_(select(listed.c.value))


def within_keys(conn: Connection, column: ColumnElement[int], keys: Iterable[int]) -> ColumnElement[bool]:
    """`column IN keys` as `within` has it, of the keys of rows."""
    wanted = list(keys)
    if conn.dialect.name == "postgresql":
        return column == any_(bindparam(None, wanted, ARRAY(BigInteger)))
    listed = func.json_each(bindparam(None, json.dumps(wanted), Text)).table_valued("value")
    return column.in_(select(listed.c.value))
