"""nofx's data.db: fills with fees and realised results, decisions, equity, what its model's calls cost.

Read by name: trader_fills, trader_orders, decision_records, trader_equity_snapshots and ai_charges; keys, exchanges
and users stand in tables that are never opened. trader_positions is not read: its quantities are rounded to four
decimals and its results to cents. Times are milliseconds UTC, or text in UTC.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal

from retro.checks import SourceCheck
from retro.errors import InputError
from retro.ingest.amounts import figure_of, named
from retro.ingest.batches import BatchWriter
from retro.ingest.netting import Execution, Netting, write_legs
from retro.ingest.nofx.cycles import write_decision
from retro.ingest.nofx.names import ACTIONS, agent_name, instrument_of, quote_of, side_of
from retro.ingest.nofx.record import RecordError, cycle_of_row, instant_of
from retro.ingest.sqlite import open_copy
from retro.journal import quote
from retro.periods import format_instant

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from retro.ingest.netting import FillLeg
    from retro.ingest.nofx.record import Act
    from retro.model import Batch

__all__ = ["read"]

_TABLES: Final = {
    "trader_fills": (
        "id", "trader_id", "exchange_type", "order_id", "exchange_order_id", "exchange_trade_id", "symbol", "side",
        "price", "quantity", "commission", "commission_asset", "realized_pnl", "created_at",
    ),
    "trader_orders": ("id", "trader_id", "position_side", "type", "order_action"),
    "decision_records": (
        "id", "trader_id", "timestamp", "cot_trace", "decision_json", "decisions", "success", "error_message",
    ),
    "trader_equity_snapshots": ("id", "trader_id", "timestamp", "total_equity"),
    "ai_charges": ("id", "trader_id", "model", "cost_usd", "created_at"),
}  # fmt: skip
"""Every table and column that is read."""

Fields = dict[str, object]
"""One row: column -> value as the database holds it; None of a column that its version lacks."""

_CALENDAR: Final = 250_000_000_000_000_000
"""Microseconds since 1970: the year 9892."""
_MINUTE: Final = 60_000_000
_LATE: Final = 10 * _MINUTE
"""How long after an entry was decided its first fill may lie."""
_SETTLED: Final = 60 * _MINUTE
"""An entry without a fill this long before the end of the database will have none."""
_CENT: Final = Decimal("0.01")
_REASONS: Final = {
    "STOP": "stop_loss",
    "TAKE_PROFIT": "take_profit",
    "TRAILING": "trailing_stop",
    "LIQUID": "liquidation",
}
"""How an order's type begins -> why its fill closed a position."""


@dataclass(slots=True)
class _Span:
    """One position's life, for the decisions that are about it; instants in microseconds."""

    position: str
    side: str
    opened: int
    closed: int | None = None


def read(path: Path, *, agent: str | None, now: int) -> Iterator[Batch]:
    """The facts of every trader of a database; `agent` names the one it holds."""
    with open_copy(path) as connection:
        traders = set()
        for table in ("trader_fills", "decision_records", "trader_equity_snapshots"):
            if "trader_id" in _columns(connection, table):
                rows = connection.execute(f"SELECT DISTINCT trader_id FROM {table}")  # noqa: S608 - a literal above
                traders |= {str(trader) for (trader,) in rows}
        if not traders:
            raise InputError(f"{path} holds no trader of nofx; name its data.db, or its decision_logs folder")
        if agent and len(traders) > 1:
            raise InputError(
                f"{path} holds {len(traders)} traders; leave out --agent, and each is named by itself"
            )
        for trader in sorted(traders):
            yield from _Life(connection, path, agent or agent_name(trader), trader, now).batches()


class _Life:
    """One trader's rows."""

    def __init__(self, connection: sqlite3.Connection, path: Path, agent: str, trader: str, now: int) -> None:
        self._connection, self._agent, self._trader = connection, agent, trader
        self._writer = BatchWriter(str(path), now)
        self._netting = Netting("nofx")
        self._spans: dict[str, list[_Span]] = defaultdict(list)
        self._by_order: dict[str, _Span] = {}
        self._unknown: Counter[str] = Counter()
        self._quotes: Counter[str] = Counter()
        self._latest = 0

    def batches(self) -> Iterator[Batch]:
        """Its facts, fills first: decisions are tied to the positions they made."""
        orders = {row["id"]: row for row in self._rows("trader_orders", "id")}
        for row in self._rows("trader_fills", "created_at, id"):
            with self._row("trader_fills", row):
                self._fill(row, orders.get(row["order_id"], {}))
            if self._writer.full:
                yield self._writer.batch()
        for table, take in (
            ("trader_equity_snapshots", self._equity),
            ("decision_records", self._decide),
            ("ai_charges", self._charge),
        ):
            for row in self._rows(table, "id"):
                with self._row(table, row):
                    take(row)
                if self._writer.full:
                    yield self._writer.batch()
        yield self._end()

    def _end(self) -> Batch:
        if self._quotes:
            currency = min(self._quotes, key=lambda quote: (-self._quotes[quote], quote))
            self._writer.base_currency(self._agent, currency)
        for word, count in sorted(self._unknown.items()):
            self._writer.notice(f"{self._agent}: unknown actions, left out: {count} x {quote(word)}")
        return self._writer.batch()

    def _rows(self, table: str, order: str) -> Iterator[Fields]:
        """The trader's rows of a table; none where its version has no such table."""
        columns = _columns(self._connection, table)
        if "trader_id" not in columns or not {*order.split(", ")} <= columns:
            return
        wanted = _TABLES[table]
        listed = ", ".join(name if name in columns else f"NULL AS {name}" for name in wanted)
        rows = self._connection.execute(
            f"SELECT {listed} FROM {table} WHERE trader_id = ? ORDER BY {order}",  # noqa: S608 - literals of this file
            (self._trader,),
        )
        for values in rows:
            yield dict(zip(wanted, values, strict=True))

    @contextmanager
    def _row(self, table: str, row: Fields) -> Iterator[None]:
        """What cannot be made of a row is a fault that names it."""
        try:
            yield
        except (ValueError, ArithmeticError) as error:
            self._writer.fault(f"{table} {row['id']}: {error}", agent=self._agent)

    def _fill(self, row: Fields, order: Fields) -> None:
        symbol = str(row["symbol"] or "")
        action = str(order.get("order_action") or "").lower()
        execution = Execution(
            id=str(row["exchange_trade_id"] or f"row-{row['id']}"),
            at=_instant(row["created_at"]),
            instrument=instrument_of(named(symbol)),
            side=_side(row["side"]),
            quantity=figure_of(row["quantity"]),
            price=figure_of(row["price"]),
            fee=figure_of(row["commission"] or 0),
            fee_asset=str(row["commission_asset"] or "") or None,
            book=_book(side_of(action) or str(order.get("position_side") or "").lower()),
        )
        legs = self._netting.take(execution)
        self._latest = max(self._latest, execution.at)
        self._quotes[quote_of(symbol)] += 1
        reference = str(row["exchange_order_id"] or "") or None
        write_legs(
            self._writer, self._agent, execution, legs, kind="perp", venue=str(row["exchange_type"] or ""),
            fill_fields={"order": reference},
        )  # fmt: skip
        for leg in legs:
            self._follow(execution, leg, reference, str(order.get("type") or "").upper())
        realised = figure_of(row["realized_pnl"] or 0)
        if realised and len(legs) == 1:  # venues that send none have 0
            self._writer.check(
                SourceCheck(
                    self._agent,
                    "realized_pnl",
                    legs[0].position,
                    execution.at,
                    realised,
                    _CENT,
                    fill=legs[0].id,
                )
            )

    def _follow(self, execution: Execution, leg: FillLeg, order: str | None, kind: str) -> None:
        if leg.opens:
            side = "long" if leg.side == "buy" else "short"
            self._spans[execution.instrument].append(_Span(leg.position, side, execution.at))
        spans = self._spans[execution.instrument]
        span = next(span for span in reversed(spans) if span.position == leg.position)
        if order:
            self._by_order.setdefault(order, span)
        if leg.closes:
            span.closed = execution.at
            reason = next((word for begin, word in _REASONS.items() if kind.startswith(begin)), "decision")
            self._writer.event(
                "exit", f"exit-{leg.position}", self._agent, execution.at, position=leg.position,
                reason=reason if kind else "",
            )  # fmt: skip

    def _equity(self, row: Fields) -> None:
        at = _instant(row["timestamp"])
        self._latest = max(self._latest, at)
        value = figure_of(row["total_equity"])
        self._writer.event("equity", f"equity-{row['id']}", self._agent, at, value=value)

    def _charge(self, row: Fields) -> None:
        self._writer.event(
            "cost", f"charge-{row['id']}", self._agent, _instant(row["created_at"]), kind="inference",
            amount=figure_of(row["cost_usd"]), model=str(row["model"] or "") or None,
        )  # fmt: skip

    def _decide(self, row: Fields) -> None:
        cycle = cycle_of_row(
            _instant(row["timestamp"]),
            acts=str(row["decisions"] or ""),
            intentions=str(row["decision_json"] or ""),
            thoughts=str(row["cot_trace"] or ""),
            success=bool(row["success"]),
            error=str(row["error_message"] or ""),
        )
        stamp = format_instant(cycle.written)
        self._latest = max(self._latest, cycle.written)
        if cycle.error and not cycle.acts:
            self._writer.event(
                "decision", f"{stamp}-failed", self._agent, cycle.at, action="skip",
                reasoning=cycle.thoughts or None, context={"error": cycle.error},
            )  # fmt: skip
        for number, act in enumerate(cycle.acts, 1):
            if act.action not in ACTIONS:
                self._unknown[act.action] += 1
                continue
            span = self._about(act) if act.success else None
            enters = ACTIONS[act.action] == "enter" and act.success
            if enters and span is None and act.at > self._latest - _SETTLED:
                continue  # its fill may yet come
            write_decision(
                self._writer, self._agent, f"{stamp}-{number}", act, cycle.intention(act.symbol, act.action),
                cycle.thoughts, span.position if span else None, None,
            )  # fmt: skip

    def _about(self, act: Act) -> _Span | None:
        """The position an act made or was about."""
        if act.order and (span := self._by_order.get(act.order)):
            return span
        side = side_of(act.action)
        spans = [span for span in self._spans[instrument_of(act.symbol)] if side in {None, span.side}]
        if ACTIONS[act.action] == "enter":
            return next((span for span in spans if -_MINUTE <= span.opened - act.at <= _LATE), None)
        return next(
            (
                span for span in reversed(spans)
                if span.opened <= act.at and (span.closed is None or span.closed >= act.at - _MINUTE)
            ),
            None,
        )  # fmt: skip


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}


def _instant(value: object) -> int:
    """Microseconds of milliseconds, or of a text in UTC, with offset or without."""
    if isinstance(value, int | float):
        return _within(int(value) * 1_000)
    text = str(value or "")
    try:
        return instant_of(text)
    except RecordError:
        return instant_of(f"{text}Z")


def _within(at: int) -> int:
    if not 0 <= at < _CALENDAR:
        raise ValueError(f"{at} us since 1970 is no time of this calendar")
    return at


def _side(value: object) -> Literal["buy", "sell"]:
    word = str(value).lower()
    if word in {"buy", "sell"}:
        return "buy" if word == "buy" else "sell"
    raise ValueError(f"side: {word[:40]!r} is neither buy nor sell")


def _book(word: str) -> Literal["", "long", "short"]:
    return "long" if word == "long" else "short" if word == "short" else ""
