"""The book: rows derived from the facts, kept so that a review reads its window and not the whole history.

Nothing here is a fact. `dirty_from` of an agent says from which instant on the rows no longer speak for the facts;
settling again brings them up to date. Deleting everything and settling gives the same rows.
"""

from __future__ import annotations

import json
from itertools import pairwise
from math import isfinite, nan
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    LargeBinary,
    Table,
    Text,
    and_,
    case,
    delete,
    func,
    insert,
    select,
    update,
)

from retro.evaluate.records import RESULT_COLUMNS
from retro.invariant import invariant
from retro.periods import DAY, format_instant
from retro.store.facts.agents import key_query, known_key
from retro.store.schema import metadata, reference, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import ColumnElement, Connection, Select

__all__ = [
    "BookState",
    "Discrepancy",
    "PositionSize",
    "WalletDay",
    "alive",
    "book_of",
    "counts",
    "day_before",
    "discrepancies",
    "forget_after",
    "forget_book",
    "forget_positions",
    "is_counted",
    "mark_dirty",
    "opened",
    "positions",
    "results_opened",
    "risks",
    "save_days",
    "save_positions",
    "sizes",
    "state",
    "unbelieved",
]


_FIGURES: Final = (
    "final_pnl",
    "vs_inaction",
    "notional",
    "risk",
    "exit_outcome",
    "implausible_pnl",
    "mfe",
    "mae",
    "regret",
    "regret_ratio",
)


book: Final = Table(
    "book",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("dirty_from", BigInteger),
    Column("settings", Text, nullable=False),
    Column("opening", Text, nullable=False),
)
"""One row an agent: what is stale, under which settings it was settled, and how its equity opened.

Without `settings` it was settled before books noted their shared marks, and is settled anew.
"""

book_positions: Final = Table(
    "book_positions",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("position", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("instrument", Text, nullable=False),
    Column("strategy", Text, nullable=False),
    Column("side", Text),
    Column("opened_at", BigInteger, nullable=False),
    Column("closed_at", BigInteger),
    Column("flagged_at", BigInteger),
    Column("final_pnl", Double),
    Column("vs_inaction", Double),
    Column("notional", Double),
    Column("risk", Double),
    Column("exit_outcome", Double),
    Column("exit_resolved_at", BigInteger),
    Column("implausible_pnl", Double, nullable=False),
    Column("told", Text, nullable=False),
    Column("ruling", Text),
    Column("mfe", Double),
    Column("mae", Double),
    Column("regret", Double),
    Column("regret_ratio", Double),
    Column("exit_reason", Text),
    Column("spark", LargeBinary),
)
"""One row a position; `told` holds its citations, `ruling` what its owner said of it, `spark` its path in 24 bytes."""

book_days: Final = Table(
    "book_days",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("at", BigInteger, primary_key=True, autoincrement=False),
    Column("wallet", Text, nullable=False),
)
"""The wallet before the events at the start of a UTC day, where it changed since the row before."""

book_statements: Final = Table(
    "book_statements",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("at", BigInteger, primary_key=True, autoincrement=False),
    Column("discrepancy", Double, nullable=False),
)
"""Stated less computed equity at each statement, less that of the first."""


def is_counted() -> ColumnElement[bool]:
    """Whether a row's result counts in sums: it is believed, or a loss that nobody has rejected."""
    c = book_positions.c
    return c.flagged_at.is_(None) | ((c.final_pnl < 0) & (func.coalesce(c.ruling, "") != "rejected"))


def mark_dirty(conn: Connection, agent: str, since: int) -> None:
    """Facts or marks from an instant on are new: what the book says from there is stale."""
    earlier = (book.c.dirty_from.is_(None)) | (book.c.dirty_from > since)
    mine = book.c.agent == key_query(agent)
    conn.execute(update(book).where(mine, earlier).values(dirty_from=since))


class BookState(NamedTuple):
    """What an agent's book was settled under, how its wallet opened, and from when on it is stale (None: nowhere)."""

    dirty_from: int | None
    settings: str
    opening: dict[str, Any]

    def speaks_for(self, settings: str) -> bool:
        """Whether the rows are what settling under these settings would give."""
        return self.dirty_from is None and self.settings == settings


def book_of(conn: Connection, agent: str) -> BookState | None:
    """The state of an agent's book; None when it was never settled."""
    row = conn.execute(
        select(book.c.dirty_from, book.c.settings, book.c.opening).where(book.c.agent == key_query(agent))
    ).one_or_none()
    return None if row is None else BookState(row.dirty_from, row.settings, json.loads(row.opening))


def state(conn: Connection, agent: str, settings: str, opening: Mapping[str, Any]) -> None:
    """Note that the book is up to date under these settings."""
    conn.execute(delete(book).where(book.c.agent == key_query(agent)))
    key = known_key(conn, agent)
    conn.execute(
        insert(book).values(agent=key, dirty_from=None, settings=settings, opening=json.dumps(opening))
    )


def forget_book(conn: Connection, agent: str) -> None:
    """Forget that an agent was ever settled, so that it is settled from its beginning."""
    conn.execute(delete(book).where(book.c.agent == key_query(agent)))


def forget_after(conn: Connection, agent: str, since: int) -> None:
    """Drop wallet days and statements after an instant."""
    key = key_query(agent)
    conn.execute(delete(book_days).where(book_days.c.agent == key, book_days.c.at >= since))
    conn.execute(delete(book_statements).where(book_statements.c.agent == key, book_statements.c.at >= since))


def forget_positions(conn: Connection, agent: str) -> None:
    """Drop every position's row."""
    conn.execute(delete(book_positions).where(book_positions.c.agent == key_query(agent)))


def opened(conn: Connection, agent: str, names: Iterable[str]) -> list[int]:
    """When those of these positions opened that have a row."""
    c = book_positions.c
    query = select(c.opened_at).where(c.agent == key_query(agent), within(conn, c.position, names))
    return list(conn.execute(query).scalars())


def save_positions(conn: Connection, agent: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Replace the rows of these positions."""
    if not rows:
        return
    for row in rows:
        _check_position(row)
    key = known_key(conn, agent)
    names = within(conn, book_positions.c.position, [str(row["position"]) for row in rows])
    conn.execute(delete(book_positions).where(book_positions.c.agent == key, names))
    conn.execute(insert(book_positions), [{**row, "agent": key} for row in rows])


def _check_position(row: Mapping[str, Any]) -> None:
    """What every review reads from here has to be a number, and a position closes after it was opened."""
    name, opened_at, closed_at = row["position"], row["opened_at"], row["closed_at"]
    invariant(closed_at is None or opened_at <= closed_at, "a position closes no earlier than it opens", name)
    wrong = [figure for figure in _FIGURES if row[figure] is not None and not isfinite(row[figure])]
    if wrong:
        invariant(
            holds=False, name="every figure of the book is a number or absent", detail=f"{name}: {wrong}"
        )


class WalletDay(NamedTuple):
    """The wallet, in its JSON form, before the events at `at`, the start of a UTC day."""

    at: int
    wallet: dict[str, Any]


class Discrepancy(NamedTuple):
    """Stated less computed equity of a statement, less that of the first; > 0: there was more than the facts explain."""

    at: int
    gap: float


def save_days(
    conn: Connection,
    agent: str,
    days: Iterable[WalletDay],
    statements: Iterable[Discrepancy],
) -> None:
    """Add wallet days and discrepancies of statements."""
    days, statements = list(days), list(statements)
    _check_days(days, statements)
    key = known_key(conn, agent)
    wallet_days = [{"agent": key, "at": at, "wallet": json.dumps(wallet)} for at, wallet in days]
    if wallet_days:
        conn.execute(insert(book_days), wallet_days)
    stated = [{"agent": key, "at": at, "discrepancy": gap} for at, gap in statements]
    if stated:
        conn.execute(insert(book_statements), stated)


class PositionSize(NamedTuple):
    """What was put into a position, and what it risked, in base currency."""

    position: str
    notional: float | None
    risk: float | None


def _check_days(days: Sequence[WalletDay], statements: Sequence[Discrepancy]) -> None:
    """A review goes on from the last row at or before its start: a row on no day boundary would count twice or never."""
    on_boundary = all(day.at % DAY == 0 for day in days)
    invariant(on_boundary, "a wallet day of the book begins at midnight UTC")
    for instants in ([day.at for day in days], [statement.at for statement in statements]):
        for earlier, later in pairwise(instants):
            if later <= earlier:
                detail = f"{format_instant(later)} follows {format_instant(earlier)}"
                invariant(holds=False, name="wallet days and statements of the book ascend", detail=detail)
    wrong = [format_instant(statement.at) for statement in statements if not isfinite(statement.gap)]
    invariant(not wrong, "every discrepancy of the book is a number", ", ".join(wrong))


def sizes(conn: Connection, agent: str, before: int) -> list[PositionSize]:
    """The sizes of positions closed before an instant and not flagged."""
    c = book_positions.c
    query = select(c.position, c.notional, c.risk)
    closed = and_(c.closed_at < before, c.flagged_at.is_(None))
    return [PositionSize(*row) for row in conn.execute(query.where(c.agent == key_query(agent), closed))]


def counts(conn: Connection, agent: str) -> tuple[int, int]:
    """How many positions an agent has, and how many of them know their risk."""
    c = book_positions.c
    query = select(func.count(), func.count(c.risk)).where(c.agent == key_query(agent))
    every, with_risk = conn.execute(query).one()
    return int(every), int(with_risk)


def risks(conn: Connection, agent: str, names: Iterable[str]) -> dict[str, float]:
    """What those of these positions risked that stated it by their entry, in base currency."""
    c = book_positions.c
    query = select(c.position, c.risk).where(
        c.agent == key_query(agent), within(conn, c.position, names), c.risk.is_not(None)
    )
    return {row.position: float(row.risk) for row in conn.execute(query)}


def unbelieved(conn: Connection, agent: str, before: int) -> dict[str, float]:
    """What nobody believes of each flagged position that was closed before an instant, by name.

    What it made since it was flagged; of a loss nothing, unless its owner has rejected the position.
    """
    c = book_positions.c
    query = select(c.position, c.implausible_pnl, c.ruling).where(
        c.agent == key_query(agent), c.flagged_at.is_not(None), c.closed_at < before
    )
    return {
        row.position: row.implausible_pnl if row.ruling == "rejected" else max(0.0, row.implausible_pnl)
        for row in conn.execute(query)
    }


def positions(
    conn: Connection, agent: str, *, opened_before: int | None = None, alive_at: int | None = None
) -> list[Any]:
    """Rows of an agent's positions, oldest first; `alive_at`: those open then or closed since."""
    query = _alive(select(book_positions), agent, opened_before, alive_at)
    return list(conn.execute(query.order_by(book_positions.c.opened_at, book_positions.c.position)).all())


def results_opened(conn: Connection, agent: str, start: int, end: int) -> NDArray[Any]:
    """What the closed positions made that were opened at start <= at < end, oldest entry first, (n,) of `RESULT_COLUMNS`.

    NaN where that is not known, or enters no rate (`PositionSummary.counts`).
    """
    import numpy as np  # noqa: PLC0415  who lists positions needs no arrays

    c = book_positions.c
    is_counted = c.flagged_at.is_(None) | ((c.final_pnl < 0) & (func.coalesce(c.ruling, "") != "rejected"))
    query = select(c.opened_at, c.closed_at, case((is_counted, c.final_pnl)), c.notional).where(
        c.agent == key_query(agent), c.closed_at.is_not(None), c.opened_at >= start, c.opened_at < end
    )
    rows = conn.execute(query.order_by(c.opened_at, c.position)).all()
    return np.array(
        [
            (opened, closed, nan if pnl is None else pnl, notional or 0.0)
            for opened, closed, pnl, notional in rows
        ],
        list(RESULT_COLUMNS),
    )


def alive(conn: Connection, agent: str, start: int, end: int) -> set[str]:
    """The names of the positions opened before `end` that were open at `start` or closed since."""
    return {*conn.execute(_alive(select(book_positions.c.position), agent, end, start)).scalars().all()}


def _alive(query: Select[Any], agent: str, opened_before: int | None, alive_at: int | None) -> Select[Any]:
    query = query.where(book_positions.c.agent == key_query(agent))
    later = book_positions.c.exit_resolved_at
    if opened_before is not None:
        query = query.where(book_positions.c.opened_at < opened_before)
    if alive_at is not None:
        query = query.where(
            (book_positions.c.closed_at.is_(None))
            | (book_positions.c.closed_at >= alive_at)
            | (later >= alive_at)
        )
    return query


def day_before(conn: Connection, agent: str, at: int) -> WalletDay | None:
    """The last wallet day at or before an instant."""
    query = (
        select(book_days.c.at, book_days.c.wallet)
        .where(book_days.c.agent == key_query(agent), book_days.c.at <= at)
        .order_by(book_days.c.at.desc())
        .limit(1)
    )
    row = conn.execute(query).one_or_none()
    return None if row is None else WalletDay(row.at, json.loads(row.wallet))


def discrepancies(conn: Connection, agent: str, until: int) -> list[Discrepancy]:
    """Discrepancies of the statements at or before an instant, in time order."""
    query = (
        select(book_statements.c.at, book_statements.c.discrepancy)
        .where(book_statements.c.agent == key_query(agent), book_statements.c.at <= until)
        .order_by(book_statements.c.at)
    )
    return [Discrepancy(*row) for row in conn.execute(query)]
