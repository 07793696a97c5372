"""A queue inside a table: a row is worked on by one process at a time, and by another when that one has died.

One protocol for reviews (`claims.py`) and for deliveries (`outbox.py`):

* A worker takes rows by one conditional update, in a short transaction. Of two that want a row one changes it, the
  other finds it changed and goes on with something else.
* A taken row is leased: it names its holder and an instant. Before that instant nobody else touches it; who works for
  long renews the lease.
* Whatever a holder writes goes through its fence, a condition that only its own lease fulfils. A process that slept
  through its lease and wakes up changes nothing: its rows may be somebody else's by then.
* A lease that ran out belonged to a process that died (or hangs): anybody frees the row. On a database of one process
  every lease of another owner is of a dead one, whatever its instant.
* Instants are of wall clocks. A clock that has gone back would leave rows leased or delayed for years, so nothing may
  reach further into the future than a lease or a back-off could from now.

The functions build a statement and run it in the caller's transaction; none commits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import and_, bindparam, literal, or_, select, text, true, union_all, update

from retro.invariant import invariant

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import Column, ColumnElement, Connection, Row, Select, Table, TextClause

__all__ = ["HOLDER", "BucketHolder", "LeaseQueue", "any_row"]

HOLDER: Final = "bucket:"
"""How the names of owners begin who hold the bucket of what they take; `retro run` holds none."""


class BucketHolder(NamedTuple):
    """Who works on a bucket, alone of all that hold buckets: nobody else of them lives who took a row of it."""

    bucket: int
    owner: str


def any_row(conn: Connection, *queries: Select[Any]) -> bool:
    """Whether one of these queries has a row, each read in the order of an index; in one statement, up to the first that has.

    The order is for the planner: it thinks that rows are common where thousands have the state and none has the instant,
    and would read the table from its start until it meets one.
    """
    firsts = [select(literal(1)).select_from(query.limit(1).subquery()) for query in queries]
    return conn.execute(union_all(*firsts).limit(1)).first() is not None


@dataclass(frozen=True, slots=True)
class LeaseQueue:
    """The queue in a table with the columns key, state, owner, leased_until, attempts and not_before.

    `free_state` and `leased_state` are the states of a row that waits for a worker and of one that has one. Each has a
    partial index: every question asked in vain must cost an index look-up, however long the history and however many
    the agents. Instants and durations are microseconds.
    """

    table: Table
    free_state: str
    leased_state: str

    @property
    def is_free(self) -> TextClause:
        """True of rows that nobody has taken, spelled as the partial index spells it."""
        return text(f"{self.table.name}.state = '{self.free_state}'")

    @property
    def is_leased(self) -> TextClause:
        """True of rows that somebody holds, spelled as the partial index spells it."""
        return text(f"{self.table.name}.state = '{self.leased_state}'")

    # taking

    def candidates(self, conn: Connection, query: Select[Any]) -> Sequence[Row[Any]]:
        """The rows of a query, kept to this transaction. Those that another is just taking are passed by, not waited for."""
        return conn.execute(query.with_for_update(skip_locked=True, of=self.table)).all()

    def take(
        self,
        conn: Connection,
        keys: Sequence[int],
        is_free: ColumnElement[bool],
        owner: str,
        until: int,
        *returning: Column[Any],
        **values: object,
    ) -> dict[int, Row[Any]]:
        """Lease rows that are free still, and set `values`; key -> (key, *returning) of those that we got.

        `is_free` is asked again although the candidates were read in this transaction: SQLite has no row locks, and
        on PostgreSQL a row may have changed between the snapshot of the query and its lock.
        """
        columns = self.table.c
        changed = conn.execute(
            update(self.table)
            .where(columns.key.in_(keys), is_free)
            .values(state=self.leased_state, owner=owner, leased_until=until, **values)
            .returning(columns.key, *returning)
        )
        leased = {row.key: row for row in changed}
        invariant(leased.keys() <= set(keys), "only candidates are leased", f"{sorted(leased)} of {keys}")
        return leased

    # holding

    def fence(self, key: int, owner: str | None, attempts: int | None = None) -> ColumnElement[bool]:
        """True of the row while it is leased to that owner, in that attempt where the attempt is told.

        Without an owner there is no lease: the condition would read IS NULL and let through what nobody holds.
        """
        invariant(owner is not None, "a fenced row has an owner", f"{self.table.name} {key}")
        columns = self.table.c
        fence = and_(columns.key == key, columns.state == self.leased_state, columns.owner == owner)
        return fence if attempts is None else and_(fence, columns.attempts == attempts)

    def fence_of_many(self, key: str, owner: str, attempt: str) -> ColumnElement[bool]:
        """`fence` of many rows, each by its own parameters of these names. An owner that is None fits no row."""
        columns = self.table.c
        return and_(
            columns.key == bindparam(key),
            columns.state == self.leased_state,
            columns.owner == bindparam(owner),
            columns.attempts == bindparam(attempt),
        )

    def write(self, conn: Connection, fence: ColumnElement[bool], **values: object) -> bool:
        """Change the row behind a fence; False when it is not ours any more, and nothing was changed."""
        count = conn.execute(update(self.table).where(fence).values(values)).rowcount
        invariant(count in {0, 1}, "a fence stands before one row", f"{count} rows of {self.table.name}")
        return count == 1

    def write_all(self, conn: Connection, keys: Sequence[int], holder: str | None, **values: object) -> int:
        """Change the rows that are still leased to that holder, in one statement; how many they are."""
        invariant(holder is not None, "a fenced row has an owner", f"{self.table.name} {keys[:1]}")
        columns = self.table.c
        self.lock(conn, keys)
        ours = and_(columns.key.in_(keys), columns.state == self.leased_state, columns.owner == holder)
        return conn.execute(update(self.table).where(ours).values(values)).rowcount

    def renew(self, conn: Connection, fences: Iterable[ColumnElement[bool]], until: int) -> int:
        """Prolong the leases of what is still ours; how many that are. In order of keys, or two who renew deadlock."""
        return sum(self.write(conn, fence, leased_until=until) for fence in fences)

    def lock(self, conn: Connection, keys: Collection[int]) -> None:
        """Keep rows to this transaction, in the order in which all do, so that nobody deadlocks."""
        columns = self.table.c
        conn.execute(select(columns.key).where(columns.key.in_(keys)).order_by(columns.key).with_for_update())

    # freeing what the dead held

    def is_expired(self, now: int, *, alone: bool, holder: BucketHolder | None = None) -> ColumnElement[bool]:
        """True of rows whose holder is dead: the lease ran out, or we are alone and whoever held it is no more.

        Of a bucket that we hold: or another who held the bucket before us has it still, for we would not hold it else.
        """
        columns = self.table.c
        if holder is None:
            return and_(self.is_leased, true() if alone else columns.leased_until <= now)
        left_behind = and_(columns.owner.startswith(HOLDER), columns.owner != holder.owner)
        return and_(
            self.is_leased, columns.bucket == holder.bucket, or_(columns.leased_until <= now, left_behind)
        )

    def expired_keys(
        self, now: int, *, alone: bool, holder: BucketHolder | None = None
    ) -> Select[tuple[int]]:
        """The keys of those rows, by a partial index."""
        expired = select(self.table.c.key).where(self.is_expired(now, alone=alone, holder=holder))
        return expired.order_by(self.table.c.leased_until)

    def has_expired_leases(
        self, conn: Connection, now: int, *, alone: bool, holder: BucketHolder | None = None
    ) -> bool:
        """Whether the dead hold anything. A read, so that a pass with nothing to rescue writes nothing."""
        return any_row(conn, self.expired_keys(now, alone=alone, holder=holder))

    def leases_of_others(self, conn: Connection, owner: str) -> dict[int, int]:
        """Key -> end of the lease, of everything that other processes hold."""
        columns = self.table.c
        query = select(columns.key, columns.leased_until).where(self.is_leased, columns.owner != owner)
        return {row.key: row.leased_until for row in conn.execute(query)}

    # the clock went back

    def has_future_leases(self, conn: Connection, now: int, lease: int, longest: int) -> bool:
        """Whether a lease or a back-off reaches further than it could from now. Two leases: clocks of hosts differ."""
        columns = self.table.c
        leases = select(columns.key).where(self.is_leased, columns.leased_until > now + 2 * lease)
        waits = select(columns.key).where(self.is_free, columns.not_before > now + longest)
        return any_row(conn, leases.order_by(columns.leased_until), waits.order_by(columns.not_before))

    def clamp_leases(self, conn: Connection, now: int, lease: int, longest: int) -> int:
        """Let nothing be leased or wait longer than it could from now; how many did.

        A lease is shortened to a whole one, not ended: its holder may live, and renews it.
        """
        columns = self.table.c
        leases = update(self.table).where(self.is_leased, columns.leased_until > now + 2 * lease)
        waits = update(self.table).where(self.is_free, columns.not_before > now + longest)
        return (
            conn.execute(leases.values(leased_until=now + lease)).rowcount
            + conn.execute(waits.values(not_before=now)).rowcount
        )
