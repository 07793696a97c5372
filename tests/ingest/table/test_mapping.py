"""A mapping of one's own: each way positions, decisions and states come out of rows."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from tests.worlds.logs.tables import told

FILLS = """
[source]
base = "quote"
[time]
column = "time"
zone = "UTC"
[fill]
id = "id"
instrument = "pair"
side = { column = "side", map = { BUY = "buy", SELL = "sell" } }
quantity = "qty"
price = "price"
fee = { column = "fee", asset = "fee_asset" }
"""


def test_fills_become_positions_from_flat_to_flat(tmp_path: Path) -> None:
    text = (
        "id,time,pair,side,qty,price,fee,fee_asset\n"
        "1,2025-01-02 10:00:00,ETH/USDT:USDT,BUY,2,100,0.2,USDT\n"
        "2,2025-01-02 11:00:00,ETH/USDT:USDT,SELL,3,110,0.3,USDT\n"
    )
    events = told(tmp_path, FILLS, text)
    assert events.of("position", "position", "side", "kind", "at") == [
        ("map-ETH/USDT:USDT-1", "long", "perp", "2025-01-02T10:00:00Z"),
        ("map-ETH/USDT:USDT-2+", "short", "perp", "2025-01-02T11:00:00Z"),
    ]
    assert events.of("fill", "id", "position", "side", "quantity", "price", "fee") == [
        ("map-1", "map-ETH/USDT:USDT-1", "buy", "2", "100", "0.2"),
        ("map-2", "map-ETH/USDT:USDT-1", "sell", "2", "110", "0.2"),  # 2 of 3 close
        ("map-2+", "map-ETH/USDT:USDT-2+", "sell", "1", "110", "0.1"),
    ]
    assert events.bases == {"bot": "USDT"}


def test_rows_in_any_order_and_in_two_overlapping_exports_tell_the_same(tmp_path: Path) -> None:
    header = "time,pair,qty,price\n"
    rows = [
        f"2025-01-0{day} 10:00:00,BTC/USDT:USDT,{qty},{day}00\n"
        for day, qty in ((1, 1), (1, 1), (2, -1), (3, -2), (4, 1))
    ]
    rules = FILLS.replace('id = "id"\n', "").replace(
        'side = { column = "side", map = { BUY = "buy", SELL = "sell" } }\n', ""
    )
    rules = rules.replace('fee = { column = "fee", asset = "fee_asset" }\n', "")
    whole = told(tmp_path, rules, header + "".join(rows))
    assert [quantity for (quantity,) in whole.of("fill", "quantity")] == ["1", "1", "1", "1", "1", "1"]
    assert told(tmp_path, rules, header + "".join(reversed(rows))).rows == whole.rows
    assert told(tmp_path, rules, header + "".join(rows[2:]), header + "".join(rows[:4])).rows == whole.rows
    late = told(tmp_path, rules, header + "".join(rows[:3]))
    assert {row["id"] for row in late.rows} <= {row["id"] for row in whole.rows}


@pytest.mark.parametrize(
    ("policy", "quantities", "faults"),
    [("distinct", ["1", "1"], 0), ("same", ["1"], 0), ("fault", ["1"], 1)],
)
def test_what_equal_rows_are_is_for_the_source_to_say(
    tmp_path: Path, policy: str, quantities: list[str], faults: int
) -> None:
    row = "7,2025-01-01,BTC/USDT:USDT,BUY,1,5,,\n"
    rules = FILLS.replace("[source]", f'[source]\nidentical = "{policy}"').replace('id = "id"\n', "")
    events = told(tmp_path, rules, "id,time,pair,side,qty,price,fee,fee_asset\n" + row + row)
    assert [quantity for (quantity,) in events.of("fill", "quantity")] == quantities
    assert len(events.faults) == faults
    assert len({name for (name,) in events.of("fill", "id")}) == len(quantities)


def test_rows_of_one_instant_are_a_millisecond_apart_in_the_order_of_their_file(tmp_path: Path) -> None:
    rows = [
        "1,2025-01-02,A/USD,BUY,1,5,,\n",
        "2,2025-01-02,A/USD,SELL,1,6,,\n",
        "3,2025-01-02,A/USD,BUY,1,7,,\n",
    ]
    header = "id,time,pair,side,qty,price,fee,fee_asset\n"
    forward = told(tmp_path, FILLS, header + "".join(rows))
    assert forward.of("fill", "id", "at") == [
        ("map-1", "2025-01-02T00:00:00Z"), ("map-2", "2025-01-02T00:00:00.001Z"), ("map-3", "2025-01-02T00:00:00.002Z"),
    ]  # fmt: skip
    newest_first = FILLS.replace("[source]", '[source]\norder = "newest_first"')
    assert told(tmp_path, newest_first, header + "".join(reversed(rows))).rows == forward.rows


def test_round_trips_are_two_fills_and_a_check(tmp_path: Path) -> None:
    rules = """
[time]
column = "opened"
format = "ms"
[fill]
instrument = { column = "symbol", split = "-" }
side = { column = "type", map = { long = "buy", short = "sell" } }
quantity = "qty"
price = "entry"
fee = "fee"
[exit]
time = "closed"
price = "exit"
reason = "why"
[position]
by = "row"
[decision]
reasoning = "because"
[stated]
realized = { column = "PNL", net_of = "fees" }
"""
    text = (
        "symbol,type,qty,entry,exit,fee,PNL,opened,closed,why,because\n"
        "BTC-USDT,short,2,100,90,0.4,19.6,1735725600000,1735729200000,target,weak\n"
        "BTC-USDT,long,1,100,,0.1,,1735725601000,,,strong\n"
    )
    events = told(tmp_path, rules, text)
    (first, second) = [name for (name,) in events.of("position", "position")]
    assert events.of("fill", "position", "side", "quantity", "price", "fee") == [
        (first, "sell", "2", "100", "0.2"), (first, "buy", "2", "90", "0.2"), (second, "buy", "1", "100", "0.1"),
    ]  # fmt: skip
    assert events.of("exit", "position", "reason") == [(first, "target")]
    assert events.of("decision", "action", "position") == [("enter", first), ("enter", second)]
    (check,) = events.checks
    assert (check.what, check.subject, check.stated, check.net_of) == (
        "realized_pnl",
        first,
        Decimal("19.6"),
        ("fees",),
    )
    closed = told(
        tmp_path,
        rules,
        text.replace("100,,0.1,,1735725601000,,", "100,101,0.1,0.9,1735725601000,1735729200000,"),
    )
    assert closed.of("position", "position")[1] == (second,), "an open trade keeps its name when it closes"


def test_states_become_the_trades_between_them(tmp_path: Path) -> None:
    rules = """
[source]
format = "jsonl"
base = "quote"
[time]
column = "date"
zone = "UTC"
[position]
by = "state"
kind = "spot"
holdings = "positions"
cash = "CASH"
"""
    lines = [
        {"date": "2025-01-01", "positions": {"CASH": 1000, "AAA": 0}},
        {"date": "2025-01-02", "positions": {"CASH": 800, "AAA": 4}},
        {"date": "2025-01-03", "positions": {"CASH": 925, "AAA": 1.5}},
        {"date": "2025-01-04", "positions": {"CASH": 925, "AAA": 1.5}},
        {"date": "2025-01-05", "positions": {"CASH": 900, "AAA": 2, "BBB": 1}},
    ]
    events = told(tmp_path, rules, "".join(json.dumps(line) + "\n" for line in lines), ending="jsonl")
    assert events.of("equity", "balances") == [({"CASH": "1000"},)]
    assert events.of("fill", "instrument", "side", "quantity", "price") == [
        ("AAA/CASH", "buy", "4", "50"), ("AAA/CASH", "sell", "2.5", "50"),
    ]  # fmt: skip
    assert [(check.what, check.subject, check.stated) for check in events.checks] == [
        ("holding", "AAA", Decimal(4)), ("holding", "AAA", Decimal("1.5")),
    ]  # fmt: skip
    assert events.faults == [(5, "price: 2 holdings changed in one row, and it names no price")]
    by_verb = rules.replace('cash = "CASH"\n', "") + (
        '[fill]\nprice = { change = "positions.CASH", over = "quantity" }\n'
    )
    same = told(tmp_path, by_verb, "".join(json.dumps(line) + "\n" for line in lines), ending="jsonl")
    assert (same.rows, same.faults) == (events.rows, events.faults)


def test_a_ledger_of_legs_becomes_trades(tmp_path: Path) -> None:
    rules = """
[source]
base = "quote"
[time]
column = "time"
zone = "UTC"
[legs]
key = "ref"
asset = { column = "asset", table = { XXBT = "BTC", ZEUR = "EUR" } }
amount = "amount"
fee = "fee"
quotes = ["EUR", "BTC"]
[position]
kind = "spot"
[stated]
balance = { column = "balance", asset = "asset", tolerance = 0.0001 }
"""
    text = (
        "ref,time,asset,amount,fee,balance\n"
        "A,2025-01-01 10:00:00,ZEUR,-100,0.26,899.74\nA,2025-01-01 10:00:00,XXBT,0.002,0,0.002\n"
        "B,2025-01-02 10:00:00,XXBT,-0.001,0.0001,0.0009\nB,2025-01-02 10:00:00,ZEUR,60,0,959.74\n"
        "C,2025-01-03 10:00:00,ZEUR,-5,0,954.74\n"
    )
    events = told(tmp_path, rules, text)
    assert events.of("fill", "instrument", "side", "quantity", "price", "fee") == [
        ("BTC/EUR", "buy", "0.002", "50000", "0.26"),
        ("BTC/EUR", "sell", "0.0011", "60000", "6.0"),  # 0.0001 BTC of fee are sold with it, and paid in EUR
    ]
    assert events.faults == [
        (6, "legs: 1 rows of one trade bring in 0 assets and give out 1; it needs one of each")
    ]
    assert [(check.what, check.subject, check.stated) for check in events.checks][:2] == [
        ("balance", "ZEUR", Decimal("899.74")), ("balance", "XXBT", Decimal("0.002")),
    ]  # fmt: skip


def test_one_row_fans_out_into_decisions_and_unknown_words_are_counted(tmp_path: Path) -> None:
    rules = """
[source]
format = "jsonl"
[time]
column = "timestamp"
[decision]
each = ["decision.trades", "decision.rejected"]
action = { column = "each", map = { "decision.trades" = "enter", "decision.rejected" = "skip" } }
instrument = { column = "symbol", template = "{}/USD" }
reasoning = ["reasoning", "reason"]
confidence = { column = "conviction", divide = 10 }
context = ["regime"]
"""
    line = {
        "timestamp": "2026-07-02T21:39:43+00:00", "regime": "CHOP",
        "decision": {
            "trades": [{"symbol": "AAA", "conviction": 7, "reasoning": "beat"}],
            "rejected": [{"symbol": "BBB", "reason": "late"}, {"symbol": "CCC", "reason": "thin"}],
        },
    }  # fmt: skip
    events = told(tmp_path, rules, json.dumps(line) + "\n", ending="jsonl")
    assert events.of("decision", "action", "instrument", "reasoning", "confidence", "context") == [
        ("enter", "AAA/USD", "beat", 0.7, {"regime": "CHOP"}),
        ("skip", "BBB/USD", "late", None, {"regime": "CHOP"}),
        ("skip", "CCC/USD", "thin", None, {"regime": "CHOP"}),
    ]
    counted = '[time]\ncolumn = "t"\nzone = "UTC"\n[decision]\naction = { column = "a", map = { hold = "hold" }, other = "count" }\n'
    words = told(tmp_path, counted, "t,a\n2025-01-01,hold\n2025-01-02,**\n2025-01-03,**\n2025-01-04,<b>\n")
    assert words.of("decision", "action") == [("hold",)]
    assert words.notices == [
        '3 rows hold words that the mapping does not know, and say nothing: "**" (2), "<b>" (1); add them to its map'
    ]


def test_rows_may_lie_inside_rows(tmp_path: Path) -> None:
    rules = """
[source]
format = "jsonl"
[time]
column = "at"
format = "s"
[rows]
each = "orders"
drop = { state = ["open"] }
[fill]
id = "key"
instrument = "pair"
side = { column = "side", map = { b = "buy" } }
quantity = "n"
price = "p"
"""
    order = {"side": "b", "n": 1, "p": 2, "state": "done"}
    line = {
        "at": 1600000000,
        "pair": "A/USD",
        "orders": {"x": order, "y": {**order, "state": "open"}, "z": order},
    }
    events = told(tmp_path, rules, json.dumps(line) + "\n", ending="jsonl")
    assert events.of("fill", "id", "at") == [
        ("map-x", "2020-09-13T12:26:40Z"),
        ("map-z", "2020-09-13T12:26:40.001Z"),
    ]


def test_equity_after_a_row_is_told_a_millisecond_later(tmp_path: Path) -> None:
    rules = '[time]\ncolumn = "t"\nzone = "UTC"\n[equity]\nvalue = "v"\nwhen = "after"\n[[mark]]\ninstrument = "i"\nprice = "p"\n'
    events = told(tmp_path, rules, "t,v,i,p\n2025-01-01,10,A/USD,2.5\n")
    assert events.of("equity", "at", "value") == [("2025-01-01T00:00:00.001Z", "10")]
    assert events.marks == [("A/USD", 1_735_689_600_000_000, 2.5)]


def test_what_nobody_saw_opened_is_a_fault_or_has_its_stated_cost(tmp_path: Path) -> None:
    text = "id,time,pair,side,qty,price,fee,fee_asset,cost\n1,2025-01-01,A/USD,SELL,2,10,,,8\n"
    (line, reason) = told(tmp_path, FILLS, text).faults[0]
    assert line == 2
    assert "opened before the file begins" in reason
    events = told(tmp_path, FILLS + '[position]\nopening = "cost"\n', text)
    assert events.of("fill", "id", "side", "quantity", "price") == [
        ("map-1-opening", "buy", "2", "8"),
        ("map-1", "sell", "2", "10"),
    ]
    assert told(tmp_path, FILLS + '[position]\nopening = "ignore"\n', text).rows == []
