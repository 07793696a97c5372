"""Who may tell of whom: locks of PostgreSQL, held to the end of a transaction. SQLite has one writer anyway.

An agent belongs to one of 1,024 buckets; whoever tells of it, settles it or owes it a review holds its bucket, so that
what is read before a write still holds at the write. Every transaction takes its locks in this order, so that nobody
deadlocks: the estate, buckets of agents from the lowest on, shared marks, faults. It takes them before it writes.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, Literal, NamedTuple
from weakref import WeakKeyDictionary

from retro.store.schema import name_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import ColumnElement, Connection, Table
    from sqlalchemy.engine import Transaction

__all__ = [
    "BUCKETS",
    "MarkUse",
    "bucket_of",
    "in_bucket",
    "lock_agents",
    "lock_estate",
    "lock_faults",
    "lock_many",
    "share_estate",
    "try_host",
]

BUCKETS: Final = 1024
"""How many buckets there are; fixed for ever, since what is stored by bucket outlives every release."""

_CLASS: Final = 0x5245_5452
_HOSTS: Final = 0x5245_5448
_ESTATE, _SHARED_MARKS, _FAULTS = -1, BUCKETS, BUCKETS + 1
_MOST: Final = 64
"""Buckets that are locked each by itself: a server has room for some thousands of locks among all its connections."""

MarkUse = Literal["read", "write"]
"""What a transaction does with shared marks: many may read them at a time, who writes them is alone."""


class _HeldLocks(NamedTuple):
    """The locks of one transaction, so that no statement asks for one twice."""

    transaction: Transaction | None
    exclusive: set[int]
    shared: set[int]


_held: WeakKeyDictionary[Connection, _HeldLocks] = WeakKeyDictionary()


def bucket_of(agent: str) -> int:
    """The bucket of an agent, 0 to 1,023: the first two bytes of the digest of its name, modulo 1,024."""
    digest = hashlib.sha256(name_of(agent).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:2], "big") % BUCKETS


def in_bucket(table: Table, bucket: int | None) -> tuple[ColumnElement[bool], ...]:
    """The condition of the rows of one bucket, to be spread into others; None: of all, which is no condition."""
    return () if bucket is None else (table.c.bucket == bucket,)


def lock_estate(conn: Connection) -> None:
    """Wait until nobody tells of any agent, and let nobody begin: an agent comes whole or goes, or a reading is one piece."""
    _lock(conn, [_ESTATE])


def share_estate(conn: Connection) -> None:
    """Wait until no agent is being renamed, merged, forgotten or taken in whole, and let none be; others may share this."""
    _lock(conn, [_ESTATE], shared=True)


def lock_many(conn: Connection, agents: Collection[str]) -> bool:
    """Lock the estate where so many agents are told of that their buckets would be too many locks; whether it was.

    Asked before anything else is locked: whoever shares the estate must not wait for the whole of it.
    """
    too_many = len({bucket_of(agent) for agent in agents}) > _MOST
    if too_many:
        lock_estate(conn)
    return too_many


def lock_agents(conn: Connection, agents: Iterable[str], *, marks: MarkUse | None = None) -> None:
    """Wait until nobody else tells of these agents, settles them or owes them reviews, and let nobody begin.

    `marks`: what is done with shared marks besides.
    """
    share_estate(conn)
    _lock(conn, sorted({bucket_of(agent) for agent in agents}))
    if marks is not None:
        _lock(conn, [_SHARED_MARKS], shared=marks == "read")


def try_host(conn: Connection, host: str) -> bool:
    """Whether nobody else reads the sources of this machine; from here to the end of the transaction nobody does."""
    if conn.dialect.name != "postgresql":
        return True
    number = int.from_bytes(hashlib.sha256(host.encode("utf-8", "surrogatepass")).digest()[:4], "big") >> 1
    taken = conn.exec_driver_sql("SELECT pg_try_advisory_xact_lock(%s, %s)", (_HOSTS, number))
    return bool(taken.scalar_one())


def lock_faults(conn: Connection) -> None:
    """Wait until no other transaction adds faults: they are numbered in the order in which they come. Taken last."""
    _lock(conn, [_FAULTS])


def _of(conn: Connection) -> _HeldLocks:
    """What the transaction at hand holds already."""
    transaction = conn.get_transaction()
    locks = _held.get(conn)
    if locks is None or locks.transaction is not transaction:
        locks = _held[conn] = _HeldLocks(transaction, set(), set())
    return locks


def _lock(conn: Connection, numbers: list[int], *, shared: bool = False) -> None:
    if conn.dialect.name != "postgresql":
        return
    locks = _of(conn)
    if _ESTATE in locks.exclusive and _FAULTS not in numbers:
        return
    held = locks.exclusive | locks.shared if shared else locks.exclusive
    wanted = [number for number in numbers if number not in held]
    if not wanted:
        return
    name = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    each = f"SELECT {name}(%s, number) FROM (SELECT unnest(%s::int[]) AS number ORDER BY number) AS numbers"  # noqa: S608  two names of ours
    conn.exec_driver_sql(each, (_CLASS, wanted))
    (locks.shared if shared else locks.exclusive).update(wanted)
