"""What has to be done with files once a transaction has changed whose they are: written with it, deleted when done.

Files join no transaction. An errand is a row of the same one, so that whoever comes after a process that died finds
what it had yet to do; doing it twice changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from sqlalchemy import BigInteger, Column, Table, Text, delete, insert, select

from retro.store.schema import metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["Errand", "ErrandKind", "done", "open_errands", "owe"]

ErrandKind = Literal["forget", "rename", "merge"]

errands: Final = Table(
    "errands",
    metadata,
    Column("key", BigInteger, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("successor", Text),
)
"""One row an agent whose files are not yet what its rows are."""


class Errand(NamedTuple):
    """The files of an agent that have to go, or to become its successor's."""

    key: int
    kind: ErrandKind
    agent: str
    successor: str | None


def owe(conn: Connection, kind: ErrandKind, agent: str, successor: str | None = None) -> None:
    """Owe an errand, in the transaction that changes the rows."""
    conn.execute(insert(errands).values(kind=kind, agent=agent, successor=successor))


def open_errands(conn: Connection) -> list[Errand]:
    """What is to be done, in order; nearly always nothing."""
    query = select(errands).order_by(errands.c.key)
    return [
        Errand(row.key, cast("ErrandKind", row.kind), row.agent, row.successor) for row in conn.execute(query)
    ]


def done(conn: Connection, errand: Errand) -> None:
    """It is done."""
    conn.execute(delete(errands).where(errands.c.key == errand.key))
