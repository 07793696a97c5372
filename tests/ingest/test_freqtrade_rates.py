"""What a freqtrade bot says of prices besides its fills: the rates it asked for, and the extremes it saw."""

from __future__ import annotations

import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import pytest

from retro.ingest.freqtrade.reader import read
from retro.model import Exit, Fact, Fill, decode
from retro.periods import parse_instant
from tests.worlds.freqtrade_databases import TRADES, Order, Trade, write

NOW = parse_instant("2026-11-22T00:00:00Z")
FactT = TypeVar("FactT", bound=Fact)
D = "2026-01-{:02d} 00:00:00.000000"


def facts_of(path: Path) -> tuple[list[Fact], list[str]]:
    batches = list(read(path, now=NOW))
    facts = [decode(row.body, row.at) for batch in batches for row in batch.rows]
    return facts, [fault.reason for batch in batches for fault in batch.faults]


def of(facts: list[Fact], kind: type[FactT]) -> list[FactT]:
    return [fact for fact in facts if isinstance(fact, kind)]


def simple(**changes: Any) -> Trade:
    orders = [Order(True, 2.0, 100.0, D.format(1)), Order(False, 2.0, 110.0, D.format(3))]
    fields: dict[str, Any] = {"orders": orders, "stop": 94.0}
    return Trade(**(fields | changes))


def requested(facts: list[Fact]) -> list[Decimal | None]:
    return [fill.requested for fill in of(facts, Fill)]


@pytest.mark.parametrize("columns", sorted(TRADES))
def test_the_rates_a_bot_asked_for_come_with_its_fills(tmp_path: Path, columns: int) -> None:
    trade = simple(row={"open_rate_requested": 99.5, "close_rate_requested": 111.0})
    facts, faults = facts_of(write(tmp_path / "t.sqlite", [trade], columns))
    assert (requested(facts), faults) == ([Decimal("99.5"), Decimal(111)], [])


def test_of_several_orders_of_a_side_each_tells_its_own_rate(tmp_path: Path) -> None:
    """The row keeps the latest only, even of an order that was never filled."""
    orders = [
        Order(True, 2.0, 100.0, D.format(1), requested=99.0),
        Order(True, 1.0, 95.0, D.format(2), requested=96.0),
        Order(False, 3.0, 97.0, D.format(3), filled=0.0, requested=120.0, status="canceled"),
        Order(False, 3.0, 98.0, D.format(4), requested=98.5),
    ]
    row = {"open_rate_requested": 96.0, "close_rate_requested": 120.0}
    facts, _ = facts_of(write(tmp_path / "t.sqlite", [simple(orders=orders, row=row)]))
    assert requested(facts) == [Decimal(99), Decimal(96), Decimal("98.5")]


def test_what_a_market_order_came_to_is_not_what_was_asked_for(tmp_path: Path) -> None:
    orders = [Order(entry, 2.0, 100.0, D.format(1 + entry), kind="market") for entry in (True, False)]
    path = write(tmp_path / "t.sqlite", [simple(orders=orders)])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE orders SET ft_price = NULL")
    connection.close()
    assert requested(facts_of(path)[0]) == [None, None]


def test_nonsense_where_a_rate_was_asked_for_costs_nothing_but_that_rate(tmp_path: Path) -> None:
    row = {"open_rate_requested": -4.0, "close_rate_requested": 1e60, "max_rate": 1e300, "min_rate": 90.0}
    orders = [Order(entry, 2.0, 100.0, D.format(2 - entry), requested=0.0) for entry in (True, False)]
    facts, faults = facts_of(write(tmp_path / "t.sqlite", [simple(orders=orders, row=row)]))
    assert faults == []
    assert requested(facts) == [Decimal(100), Decimal(100)], "the limit price of the order"
    assert [(fact.high, fact.low) for fact in of(facts, Exit)] == [(None, None)]


def test_the_extremes_the_bot_saw_come_with_the_exit_of_a_closed_trade_only(tmp_path: Path) -> None:
    row = {"max_rate": 115.0, "min_rate": 93.0}
    still = Trade([Order(True, 1.0, 9.0, D.format(1))], id=2, open=True, row=row)
    facts, _ = facts_of(write(tmp_path / "t.sqlite", [simple(row=row), still]))
    assert [(fact.position, fact.high, fact.low) for fact in of(facts, Exit)] == [("ft-1", 115, 93)]
