"""What an export of a fleet holds of one agent, as columns: facts, marks, outcomes and reviews, quarter by quarter.

Nothing here depends on a clock: the same facts give the same rows, whatever database they lie in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby, islice
from math import isnan
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np

from retro.errors import DamagedRowError
from retro.evaluate.audit.history import identity
from retro.model import decode
from retro.periods import DAY, SECOND
from retro.store.facts import marks
from retro.store.facts.damage import UNREADABLE
from retro.store.facts.lines import every_line
from retro.store.jobs.results import finished_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from sqlalchemy import Connection

    from retro.app.settlement.book import SettledBook
    from retro.store.facts.lines import StoredLine

__all__ = ["Add", "add_agent", "add_marks"]

Add = Callable[[str, str, dict[str, Any]], None]
"""Takes rows: table, quarter, columns of one length; what is absent is null."""

RowT = TypeVar("RowT")

_AT_ONCE: Final = 5_000
_DOCUMENTS_AT_ONCE: Final = 100
_FIELDS: Final = ("instrument", "asset", "side", "kind", "tier", "model")
_QUANTITIES: Final = ("quantity", "price", "fee", "amount", "value")
_MOST_NOUGHTS: Final = 60
_ROLES: Final = ("entry", "exit")


def _quarter_of(at: int) -> str:
    """The quarter of an instant (microseconds, UTC) as `2026Q1`."""
    return _quarter(at // DAY)


@lru_cache(maxsize=4096)
def _quarter(day: int) -> str:
    date = datetime.fromtimestamp(day * (DAY // SECOND), UTC)
    return f"{date.year}Q{(date.month + 2) // 3}"


def add_agent(book: SettledBook, add: Add, check: Callable[[str, str], None]) -> None:
    """Everything of one agent, from one state of the database; `check` sees the name and text of each line and document."""
    _add_facts(book, add, check)
    add_marks(book.conn, book.name, add)
    _add_outcomes(book, add)
    _add_reviews(book, add, check)


def _add_facts(book: SettledBook, add: Add, check: Callable[[str, str], None]) -> None:
    every = every_line(book.conn, book.name)
    for quarter, lines in groupby(every, key=lambda line: _quarter_of(line.at)):
        for some in _chunks(lines, _AT_ONCE):
            columns: dict[str, list[Any]] = defaultdict(list)
            columns["agent"] = [book.name] * len(some)
            for line in some:
                check(f"{line.type} {line.id!r} of {book.name}", line.body)
                columns["instant"].append(line.at)
                for column in ("type", "id", "position", "body"):
                    columns[column].append(getattr(line, column))
                for column, value in _fields_of(book.name, line):
                    columns[column].append(value)
            add("facts", quarter, columns)


def _fields_of(agent: str, line: StoredLine) -> Iterator[tuple[str, str | None]]:
    """What questions ask of a fact most, quantities as text with every digit."""
    try:
        fact = decode(line.body, line.at)
    except UNREADABLE as error:
        raise DamagedRowError(
            f"table events: {line.type} {line.id[:80]!r} of agent {agent} cannot be read ({str(error)[:80]});"
            " ingest its source again with --on-conflict replace, or restore the database from a backup"
        ) from error
    for field in _FIELDS:
        yield field, getattr(fact, field, None)
    for field in _QUANTITIES:
        value = getattr(fact, field, None)
        yield field, None if value is None else _digits(value)


def _digits(value: Decimal) -> str:
    """A quantity with every digit; as a power of ten only where it would be a line of noughts."""
    return str(value) if abs(value.adjusted()) > _MOST_NOUGHTS else f"{value:f}"


def add_marks(conn: Connection, owner: str | None, add: Add) -> None:
    """Every mark of one owner; None: the shared ones."""
    for instrument in marks.instruments(conn, owner):
        days = sorted(marks.days_told(conn, [owner], instrument))
        for quarter, of_quarter in groupby(days, key=_quarter):
            some = list(of_quarter)
            told = marks.columns_of(conn, owner, instrument, some[0] * DAY, (some[-1] + 1) * DAY - 1)
            columns = {
                "agent": [owner] * len(told.t),
                "instrument": [instrument] * len(told.t),
                "instant": told.t,
                "price": told.price,
                "low": _known(told.low),
                "high": _known(told.high),
            }
            add("marks", quarter, columns)


def _known(values: Any) -> Any:
    return np.ma.masked_invalid(values) if np.isnan(values).any() else values


class _OutcomeRow(NamedTuple):
    """An outcome as it is ordered and written; `rule` is empty for a position's own."""

    resolved_at: int
    position: str
    role: str
    rule: str
    value: float
    cited_at: int
    late: bool
    notional: float
    risk: float


def _add_outcomes(book: SettledBook, add: Add) -> None:
    """What resolved, once for each position and role, and once more for each rule that was cited for it."""
    lives = {identity(row.position): row for row in book.positions()}
    history = book.history()
    rows = []
    for record in history.records.tolist():
        name, is_exit, position, _, value, resolved_at, told_at, notional, risk, late = record
        life = lives.get(position)
        rows.append(
            _OutcomeRow(
                resolved_at, "" if life is None else life.position, _ROLES[is_exit], history.names[name],
                value, told_at, late, notional, risk,
            )
        )  # fmt: skip
    by_name = {row.position: row for row in lives.values()}
    for quarter, some in groupby(sorted(rows), key=lambda row: _quarter_of(row.resolved_at)):
        chosen = list(some)
        of_rows = [by_name.get(row.position) for row in chosen]
        columns: dict[str, Any] = {
            "agent": [book.name] * len(chosen),
            "currency": [book.settings.base_currency] * len(chosen),
            "position": [row.position or None for row in chosen],
            "rule": [row.rule or None for row in chosen],
            "cited_at": [row.cited_at if row.rule else None for row in chosen],
            "late": [row.late if row.rule else None for row in chosen],
            "notional": [_number(row.notional) for row in chosen],
            "risk": [_number(row.risk) for row in chosen],
            "pnl": [None if life is None else life.final_pnl for life in of_rows],
        }
        columns |= {name: [getattr(row, name) for row in chosen] for name in ("role", "value", "resolved_at")}
        columns |= {name: [getattr(life, name, None) for life in of_rows] for name in _OF_LIVES}
        add("outcomes", quarter, columns)


_OF_LIVES: Final = (
    *("kind", "instrument", "strategy", "side", "opened_at", "closed_at", "exit_reason"),
    *("vs_inaction", "regret", "mfe", "mae"),
)


def _number(value: float) -> float | None:
    return None if isnan(value) else value


def _add_reviews(book: SettledBook, add: Add, check: Callable[[str, str], None]) -> None:
    every = finished_of(book.conn, book.name)
    for quarter, reviews in groupby(every, key=lambda review: _quarter_of(review.period_end - 1)):
        for some in _chunks(reviews, _DOCUMENTS_AT_ONCE):
            for review in some:
                check(f"review {review.id}", review.document or "")
            add(
                "reviews",
                quarter,
                {
                    "agent": [book.name] * len(some),
                    "currency": [book.settings.base_currency] * len(some),
                    **{name: list(map(attrgetter(name), some)) for name in some[0]._fields},
                },
            )


def _chunks(rows: Iterable[RowT], size: int) -> Iterator[list[RowT]]:
    every = iter(rows)
    while some := list(islice(every, size)):
        yield some
