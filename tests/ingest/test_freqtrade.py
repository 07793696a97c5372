"""A freqtrade bot's trades become positions whose fills, fees and funding come to the profit the bot itself states."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.errors import RetroError, UsageError
from retro.ingest.freqtrade.reader import read
from retro.journal import check
from retro.model import Batch, Decision, Equity, EventRow, Exit, Fact, Fill, Flow, Position, decode
from retro.periods import parse_instant
from tests.worlds.freqtrade_databases import TRADES, D, Order, Trade, lives, write

NOW = parse_instant("2026-11-22T00:00:00Z")


def rows_of(batches: list[Batch]) -> dict[tuple[str, str, str], EventRow]:
    rows = [row for batch in batches for row in batch.rows]
    for row in rows:
        event = check(row.body, NOW)
        assert event.row == row, "the row says what its line says"
        assert not event.unknown
    named = {(row.agent, row.type, row.id): row for row in rows}
    assert len(named) == len(rows), "no two facts share a name"
    return named


def facts_of(path: Path, **options: Any) -> tuple[list[Fact], list[str]]:
    batches = list(read(path, now=NOW, **options))
    facts = [decode(row.body, row.at) for row in rows_of(batches).values()]
    return facts, [fault.reason for batch in batches for fault in batch.faults]


def of(facts: list[Fact], kind: type) -> list[Any]:
    return [fact for fact in facts if isinstance(fact, kind)]


def profits(facts: list[Fact]) -> dict[str, Decimal]:
    """What each position made: money out less money in, less fees, plus funding; and its net quantity is zero."""
    money, holdings = defaultdict[str | None, Decimal](Decimal), defaultdict[str | None, Decimal](Decimal)
    for fact in facts:
        if isinstance(fact, Fill):
            sign = 1 if fact.side == "sell" else -1
            money[fact.position] += sign * fact.quantity * fact.price - fact.fee
            holdings[fact.position] -= sign * fact.quantity
        elif isinstance(fact, Flow):
            money[fact.position] += fact.value if fact.kind == "funding_received" else -fact.value
    closed = {fact.position for fact in of(facts, Exit)}
    assert all(holdings[position] == 0 for position in closed), "a closed position nets to exactly zero"
    return {position: money[position] for position in closed}


def simple(**changes: Any) -> Trade:
    orders = [
        Order(entry=True, amount=2.0, price=100.0, at=D.format(1)),
        Order(False, 2.0, 110.0, D.format(3)),
    ]
    defaults: dict[str, Any] = {"orders": orders, "stop": 94.0, "enter_tag": "dip"}
    return Trade(**(defaults | changes))


@pytest.mark.parametrize("columns", sorted(TRADES))
def test_a_trade_reads_the_same_in_every_age_of_the_schema(tmp_path: Path, columns: Any) -> None:
    """Worked by hand: 2 x 110 less 0.1 %, less 2 x 100 and 0.1 %, is 19.58; the risk is 2 x (100 - 94)."""
    facts, faults = facts_of(write(tmp_path / "t.sqlite", [simple()], columns))
    (position,), fills = of(facts, Position), of(facts, Fill)
    assert faults == []
    assert profits(facts) == {"ft-1": Decimal("19.58")}
    assert (position.kind, position.instrument, position.side, position.strategy) == (
        "spot", "ETH/USDT", "long", "Sample",
    )  # fmt: skip
    assert (position.venue, position.risk, position.agent) == ("kraken", Decimal(12), "Sample")
    assert [(f.side, f.quantity, f.price, f.fee, f.at) for f in fills] == [
        ("buy", 2, 100, Decimal("0.2"), parse_instant("2026-01-01T00:00:00Z")),
        ("sell", 2, 110, Decimal("0.22"), parse_instant("2026-01-03T00:00:00Z")),
    ]
    assert [fact.reason for fact in of(facts, Exit)] == ["roi"]
    ends = ("x1_0", "x1_1") if columns > 23 else ("entry", "exit")
    assert [fill.id for fill in fills] == [f"ft-1-{end}" for end in ends], (
        "ids come from the exchange's order ids"
    )


def test_numbers_keep_the_digits_the_database_holds(tmp_path: Path) -> None:
    price, amount = 0.1 + 0.2, 1e-08
    order = Order(True, amount, price, D.format(1))
    facts, _ = facts_of(write(tmp_path / "t.sqlite", [Trade([order], open=True)]))
    (fill,) = of(facts, Fill)
    assert (fill.price, fill.quantity) == (Decimal("0.30000000000000004"), Decimal("0.00000001"))


@given(st.lists(lives(), min_size=1, max_size=4), st.sampled_from([49, 51]))
@settings(deadline=None, max_examples=60)
def test_every_closed_trade_comes_to_the_profit_the_bot_states(
    tmp_path_factory: pytest.TempPathFactory, trades: list[Any], columns: int
) -> None:
    for number, trade in enumerate(trades, 1):
        trade.id = number
    facts, faults = facts_of(write(tmp_path_factory.mktemp("db") / "t.sqlite", trades, columns))
    assert faults == []
    realised = profits(facts)
    for trade in trades:
        assert float(realised[f"ft-{trade.id}"]) == pytest.approx(trade.books()["realised"], abs=1e-9)


@given(lives(dust=False), st.data())
@settings(deadline=None, max_examples=40)
def test_a_database_read_later_only_adds_facts(
    tmp_path_factory: pytest.TempPathFactory, trade: Any, data: st.DataObject
) -> None:
    """What was told while the trade was open is told again, word for word, when it has closed."""
    room = tmp_path_factory.mktemp("db")
    order_count = data.draw(st.integers(1, len(trade.orders) - 1))
    early = Trade(**{**trade.__dict__, "orders": trade.orders[:order_count], "open": True})
    before = rows_of(list(read(write(room / "early.sqlite", [early]), now=NOW)))
    after = rows_of(list(read(write(room / "late.sqlite", [trade]), now=NOW)))
    assert before.items() <= after.items()
    as_of = parse_instant(trade.orders[order_count - 1].at + "Z")
    assert rows_of(list(read(room / "late.sqlite", as_of=as_of, now=NOW))) == before


def test_an_entry_whose_fee_was_taken_in_the_coin_shrinks_to_what_was_sold_and_reads_so_before(
    tmp_path: Path,
) -> None:
    """Bought 10, fee 0.01, the exchange trades tenths: 9.9 can be sold, and 9.9 is the position, open or closed."""
    entry = Order(True, 10.0, 100.0, D.format(1), fee_base=0.01)
    closed = Trade([entry, Order(False, 9.9, 120.0, D.format(2))], stop=90.0)
    open_trade = Trade([entry], stop=90.0, open=True, row={"amount": 9.9})
    facts, _ = facts_of(write(tmp_path / "closed.sqlite", [closed]))
    assert [fill.quantity for fill in of(facts, Fill)] == [Decimal("9.9"), Decimal("9.9")]
    assert profits(facts)["ft-1"] == Decimal("195.822")  # 9.9 x (120 x 0.999 - 100 x 1.001)
    earlier, _ = facts_of(write(tmp_path / "open.sqlite", [open_trade]))
    assert [fact for fact in earlier if fact in facts] == earlier


def test_dust_leaves_each_entry_by_the_part_average_cost_leaves_in_it(tmp_path: Path) -> None:
    """10 at 100, 5 sold, 10 at 120, 14.9 sold: the cost is 5 x 100 + 14.9 x (5 x 100 + 10 x 120) / 15."""
    orders = [
        Order(True, 10.0, 100.0, D.format(1)),
        Order(False, 5.0, 110.0, D.format(2)),
        Order(True, 10.0, 120.0, D.format(3)),
        Order(False, 14.9, 130.0, D.format(4)),
    ]
    facts, faults = facts_of(write(tmp_path / "t.sqlite", [Trade(orders, fee=0.0)]))
    assert faults == []
    bought = [fill for fill in of(facts, Fill) if fill.side == "buy"]
    assert sum(fill.quantity for fill in bought) == Decimal("19.9")
    assert float(sum(fill.quantity * fill.price for fill in bought)) == pytest.approx(2188.6666666667)
    assert float(profits(facts)["ft-1"]) == pytest.approx(5 * 110 + 14.9 * 130 - 2188.6666666667, abs=1e-8)


def test_a_leveraged_short_with_funding_is_a_perp_and_its_funding_books_with_the_order(
    tmp_path: Path,
) -> None:
    orders = [
        Order(True, 2.0, 100.0, D.format(1), funding=0.0),
        Order(True, 1.0, 103.0, D.format(2), funding=-0.25, tag="more"),
        Order(False, 3.0, 90.0, D.format(3), funding=0.75),
    ]
    trade = Trade(orders, pair="ETH/USDT:USDT", mode="FUTURES", short=True, leverage=5.0, stop=110.0)
    facts, faults = facts_of(write(tmp_path / "t.sqlite", [trade]))
    (position,) = of(facts, Position)
    assert faults == []
    assert (position.kind, position.side, position.instrument) == ("perp", "short", "ETH/USDT:USDT")
    assert position.risk == 20, "unlevered: 2 x (110 - 100)"
    assert [(flow.kind, flow.value, flow.asset, flow.at) for flow in of(facts, Flow)] == [
        ("funding_paid", Decimal("0.25"), "USDT", parse_instant("2026-01-02T00:00:00Z")),
        ("funding_received", Decimal("0.75"), "USDT", parse_instant("2026-01-03T00:00:00Z")),
    ]
    assert [fill.side for fill in of(facts, Fill)] == ["sell", "sell", "buy"]
    assert profits(facts)["ft-1"] == Decimal(303) - Decimal("0.303") - Decimal("270.27") + Decimal("0.5")


def test_funding_that_only_the_trade_knows_books_at_its_close(tmp_path: Path) -> None:
    trade = simple(
        pair="ETH/USDT:USDT", mode="FUTURES", row={"funding_fees": -1.5, "close_profit_abs": 18.08}
    )
    facts, faults = facts_of(write(tmp_path / "t.sqlite", [trade]))
    assert (faults, profits(facts)) == ([], {"ft-1": Decimal("18.08")})
    assert [(flow.kind, flow.value) for flow in of(facts, Flow)] == [("funding_paid", Decimal("1.5"))]


def test_what_was_decided_why_and_on_which_tag(tmp_path: Path) -> None:
    """Entry, increase and exit cite; a partial exit tells its tag; a text that changed since is the exit's."""
    orders = [
        Order(True, 2.0, 100.0, D.format(1), tag="dip"),
        Order(True, 1.0, 95.0, D.format(2), tag="dca"),
        Order(False, 1.0, 97.0, D.format(3), tag="half"),
        Order(False, 2.0, 99.0, D.format(4), tag="roi"),
    ]
    notes = [("str", "RSI below 25", None), ("float", "30.5", None), ("str", "the thesis broke", D.format(4))]
    facts, _ = facts_of(write(tmp_path / "t.sqlite", [simple(orders=orders, notes=notes)]))
    assert [(d.action, d.cites, d.reasoning) for d in of(facts, Decision)] == [
        ("enter", ["dip"], "dip\nRSI below 25"),
        ("increase", ["dca"], "dca"),
        ("reduce", [], "half"),
        ("exit", ["roi"], "roi\nthe thesis broke"),
    ]
    assert all(d.position == "ft-1" and d.instrument == "ETH/USDT" for d in of(facts, Decision))


def test_only_what_can_no_longer_change_is_told(tmp_path: Path) -> None:
    """Open, unfilled and cancelled orders are no facts; what a cancelled order had filled by then is one."""
    orders = [
        Order(True, 2.0, 100.0, D.format(1)),
        Order(True, 1.0, 99.0, D.format(2), filled=0.0, status="canceled"),
        Order(True, 1.0, 98.0, D.format(3), filled=0.4, status="canceled"),
        Order(True, 1.0, 97.0, D.format(4), filled=0.3, status="open", open=True),
        Order(False, 2.4, 120.0, D.format(5), filled=0.0, status="open", open=True),
    ]
    pending = Trade(
        [Order(True, 1.0, 9.0, D.format(1), filled=0.0, status="open", open=True)], id=2, open=True
    )
    facts, faults = facts_of(write(tmp_path / "t.sqlite", [simple(orders=orders, open=True), pending]))
    assert [(fill.quantity, fill.price) for fill in of(facts, Fill)] == [(2, 100), (Decimal("0.4"), 98)]
    assert [position.id for position in of(facts, Position)] == ["ft-1"]
    assert (of(facts, Exit), faults) == ([], [])


def test_a_buy_still_pending_in_the_oldest_schema_is_no_fact(tmp_path: Path) -> None:
    still = Trade([Order(True, 1.0, 9.0, D.format(1))], open=True, row={"open_order_id": "o1"})
    selling = Trade([Order(True, 1.0, 9.0, D.format(1))], id=2, open=True)
    selling.row = {"open_order_id": "o2", "close_rate_requested": 9.5}
    facts, _ = facts_of(write(tmp_path / "t.sqlite", [still, selling], 23))
    assert [fill.position for fill in of(facts, Fill)] == ["ft-2"]


@pytest.mark.parametrize(
    ("row", "profit", "words"),
    [
        (
            {"close_profit_abs": 25.0, "realized_profit": 0.0},
            Decimal(25),
            ["its orders come to 19.58000000 USDT, its row says 25.0"],
        ),
        ({"close_profit_abs": 3.0, "realized_profit": 19.58}, Decimal("19.58"), []),
        ({"close_profit_abs": 19.0, "realized_profit": 0.0, "trading_mode": "MARGIN"}, Decimal(19), []),
        ({"close_profit_abs": None}, Decimal("19.58"), []),
    ],
    ids=["edited by hand", "row tells its last leg only", "interest on margin", "row is silent"],
)
def test_a_row_that_its_orders_do_not_explain_is_believed_and_told_of(
    tmp_path: Path, row: dict[str, Any], profit: Decimal, words: list[str]
) -> None:
    facts, faults = facts_of(write(tmp_path / "t.sqlite", [simple(row=row)]))
    assert profits(facts) == {"ft-1": profit}
    assert [fault[: len(word)] for fault, word in zip(faults, words, strict=True)] == words


def test_an_exit_whose_order_is_missing_is_taken_from_the_row(tmp_path: Path) -> None:
    whole = Trade(
        [
            Order(True, 2.0, 100.0, D.format(1)),
            Order(False, 0.5, 105.0, D.format(2)),
            Order(False, 1.5, 110.0, D.format(3)),
        ]
    )
    path = write(tmp_path / "t.sqlite", [whole, simple(id=2)])
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM orders WHERE ft_order_side = 'sell' AND ft_price = 110.0")
    connection.close()
    facts, faults = facts_of(path)
    assert faults == []
    assert float(profits(facts)["ft-1"]) == pytest.approx(whole.books()["realised"], abs=1e-9)
    assert profits(facts)["ft-2"] == Decimal("19.58")


def test_a_closed_trade_that_nothing_explains_is_told_of(tmp_path: Path) -> None:
    path = write(tmp_path / "t.sqlite", [simple(), simple(id=2)])
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM orders WHERE ft_trade_id = 2")
        connection.execute("UPDATE trades SET amount = 0 WHERE id = 2")
    connection.close()
    facts, faults = facts_of(path)
    assert profits(facts) == {"ft-1": Decimal("19.58")}
    assert faults == ["it is closed, but neither its orders nor its row say what was bought at what price"]


def test_agents_are_named_for_strategy_and_for_stake_where_there_are_two(tmp_path: Path) -> None:
    bitcoin = simple(id=2, pair="ETH/BTC", stake="BTC")
    other = simple(id=3, strategy="My Strategy/2")
    path = write(tmp_path / "t.sqlite", [simple(), bitcoin, other])
    batches = list(read(path, now=NOW))
    assert batches[-1].base_currency == {"Sample-USDT": "USDT", "Sample-BTC": "BTC", "My-Strategy-2": "USDT"}
    assert set(batches[-1].as_of.values()) == {parse_instant("2026-01-03T00:00:00Z")}
    named = list(read(path, agent="bot", now=NOW))
    assert named[-1].base_currency == {"bot-USDT": "USDT", "bot-BTC": "BTC"}
    with pytest.raises(UsageError):
        list(read(path, agent="a/b", now=NOW))


def test_as_of_is_the_last_thing_the_database_knows_of(tmp_path: Path) -> None:
    """An order that was touched without filling moves it; times beyond the ingest clock do not."""
    waiting = Order(False, 2.0, 130.0, "2026-01-09 12:00:00", filled=0.0, status="open", open=True)
    wrong = Order(False, 2.0, 130.0, "2030-01-01 00:00:00", filled=0.0, status="open", open=True)
    trade = simple(orders=[Order(True, 2.0, 100.0, D.format(1)), waiting, wrong], open=True)
    (batch,) = read(write(tmp_path / "t.sqlite", [trade]), now=NOW)
    assert batch.as_of == {"Sample": parse_instant("2026-01-09T12:00:00Z")}


def test_equity_is_the_sum_of_what_the_bot_manages(tmp_path: Path) -> None:
    wallet = [
        {"timestamp": D.format(1), "currency": "USDT", "balance": 800.0, "total_quote": 800.0},
        {"timestamp": D.format(1), "currency": "ETH", "balance": 2.0, "rate": 100.0, "total_quote": 200.0},
        {"timestamp": D.format(1), "currency": "DOGE", "balance": 9.0, "total_quote": 9.0, "bot_managed": 0},
        {"timestamp": D.format(2), "currency": "USDT", "balance": 801.5, "total_quote": None},
        {"timestamp": D.format(2), "currency": "ETH", "balance": 2.0, "rate": 101.0, "total_quote": None},
        {"timestamp": D.format(3), "currency": "ETH", "balance": 2.0},
        {"timestamp": D.format(9), "currency": "USDT", "balance": 1.0, "total_quote": 1.0},
    ]
    facts, faults = facts_of(write(tmp_path / "t.sqlite", [simple()], wallet=wallet))
    assert [(fact.value, fact.at) for fact in of(facts, Equity)] == [
        (Decimal(1000), parse_instant("2026-01-01T00:00:00Z")),
        (Decimal("1003.5"), parse_instant("2026-01-02T00:00:00Z")),
    ]
    assert faults == ["ETH has no value in USDT, so the total is not known"]
    both = write(tmp_path / "two.sqlite", [simple(), simple(id=2, strategy="Other")], wallet=wallet)
    facts, faults = facts_of(both)
    assert of(facts, Equity) == []
    assert faults == ["one total for Other and Sample together (--agent NAME takes them as one)"]


junk = st.one_of(
    st.none(),
    st.just(""),
    st.text(max_size=6),
    st.binary(max_size=4),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.just(D.format(2)),
)


@given(
    st.sampled_from(
        [("trades", name) for name in TRADES[51]]
        + [
            ("orders", "average"),
            ("orders", "filled"),
            ("orders", "order_filled_date"),
            ("orders", "ft_order_side"),
            ("orders", "order_id"),
            ("orders", "funding_fee"),
            ("orders", "ft_fee_base"),
            ("orders", "ft_is_open"),
        ]
    ),
    junk,
    st.booleans(),
)
@settings(deadline=None, max_examples=150)
def test_whatever_a_cell_holds_the_other_trades_are_told(
    tmp_path_factory: pytest.TempPathFactory, cell: Any, value: Any, is_open: bool
) -> None:
    """A cell of nonsense costs at most its own trade, with a fault that names it, and never a traceback."""
    path = write(tmp_path_factory.mktemp("db") / "t.sqlite", [simple(open=is_open), simple(id=2)])
    with sqlite3.connect(path) as connection:
        try:
            where = "id" if cell[0] == "trades" else "ft_trade_id"
            connection.execute(f"UPDATE {cell[0]} SET {cell[1]} = ? WHERE {where} = 1", [value])
        except sqlite3.Error:
            return
    connection.close()
    try:
        batches = list(read(path, now=NOW))
    except RetroError:
        return
    facts = [decode(row.body, row.at) for row in rows_of(batches).values()]
    assert profits(facts)["ft-2"] == Decimal("19.58")
    assert all(", trade " in fault.where for batch in batches for fault in batch.faults)
