"""Each verb of the closed grammar by itself, its value worked out by hand; joins; positions of each side."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from retro.ingest.table.grammar.tables import NumberMap
from retro.ingest.table.grammar.verbs import AmountVerbs, FeeVerbs, TextVerbs, WordVerbs
from retro.ingest.table.numerals import Numerals
from retro.ingest.table.readings import Readings
from tests.worlds.logs.tables import reading_of, told

ROW: Final[dict[str, Any]] = {
    "pair": "BTC-USDT", "glued": "XXBTZEUR", "note": "filled at 12.50 USD", "n": "-12.5", "m": "4", "empty": "",
    "bought": "3", "sold": "", "side": "LONG", "nested": {"fees": [{"cost": "0.75"}]}, "paid": "-1.5",
}  # fmt: skip
TEXTS: Final[list[tuple[dict[str, Any], str]]] = [
    ({"column": "pair"}, "BTC-USDT"),
    ({"column": ["empty", "absent", "side", "pair"]}, "LONG"),
    ({"column": "nested.fees.0.cost"}, "0.75"),
    ({"const": "ETH/USDC"}, "ETH/USDC"),
    ({"column": "note", "regex": r"at ([\d.]+)"}, "12.50"),
    ({"column": "note", "regex": r"for ([\d.]+)"}, ""),
    ({"column": "pair", "split": "-"}, "BTC/USDT"),
    ({"column": "glued", "quotes": ["ZEUR", "EUR"]}, "XXBT/ZEUR"),
    ({"column": "glued", "quotes": ["ZEUR"], "table": {"XXBT": "BTC", "ZEUR": "EUR"}}, "BTC/EUR"),
    ({"column": "side", "template": "{}/{m}"}, "LONG/4"),
    ({"column": "side", "template": "{}/{empty}"}, ""),
    ({"column": "pair", "split": "-", "settle": "quote"}, "BTC/USDT:USDT"),
    ({"column": "pair", "split": "-", "settle": "USDC", "settle_if": "-PERP"}, "BTC/USDT"),
    ({"column": "pair", "split": "-", "settle": "USDC", "settle_if": "-USDT"}, "BTC/USDT:USDC"),
]
AMOUNTS: Final[list[tuple[dict[str, Any], str | None]]] = [
    ({"column": "n"}, "-12.5"),
    ({"column": "empty"}, None),
    ({"column": "n", "abs": True}, "12.5"),
    ({"column": "n", "sign": "-"}, "12.5"),
    ({"column": "n", "scale": 0.01}, "-0.125"),
    ({"column": "n", "times": "m"}, "-50"),
    ({"column": "n", "times": 2}, "-25"),
    ({"column": "n", "times": "empty"}, None),
    ({"column": "n", "divide": "m"}, "-3.125"),
    ({"column": "n", "divide": 100}, "-0.125"),
    ({"column": "n", "divide": "empty"}, None),
    ({"sum": ["n", "m", "empty"]}, "-8.5"),
    ({"sum": ["n", "m"], "abs": True, "times": 2}, "17"),
]


def readings(**number: Any) -> Readings:
    return Readings(Numerals(NumberMap(**number)))


@pytest.mark.parametrize(("verbs", "expected"), TEXTS)
def test_a_text(verbs: dict[str, Any], expected: str) -> None:
    assert readings().text(TextVerbs.model_validate(verbs))(ROW) == expected


@pytest.mark.parametrize(("verbs", "expected"), AMOUNTS)
def test_an_amount(verbs: dict[str, Any], expected: str | None) -> None:
    value = readings().amount(AmountVerbs.model_validate(verbs))(ROW)
    assert value == (None if expected is None else Decimal(expected))


def test_a_word_that_is_unknown_is_counted_a_fault_or_the_word_it_means() -> None:
    verbs = {"column": "side", "map": {"short": "sell"}}
    assert readings().word(WordVerbs.model_validate(verbs | {"map": {"long": "buy"}}))(ROW) == "buy"
    with pytest.raises(ValueError, match="LONG"):
        readings().word(WordVerbs.model_validate(verbs))(ROW)
    assert readings().word(WordVerbs.model_validate(verbs | {"other": "buy"}))(ROW) == "buy"
    counting = readings()
    assert counting.word(WordVerbs.model_validate(verbs | {"other": "count"}))(ROW) == ""
    assert counting.unknown == {("side", "LONG"): 1}


def test_a_fee_that_was_paid_is_above_0_whichever_sign_the_file_gives_it() -> None:
    verbs = FeeVerbs.model_validate(
        {"column": "paid", "paid": "-", "asset": "absent", "asset_default": "BNB"}
    )
    amount, asset, default = readings().fee(verbs)
    assert (amount(ROW), asset(ROW), default) == (Decimal("1.5"), "", "BNB")


def test_numbers_are_written_in_many_ways() -> None:
    reading = readings(thousands=". ", strip="€$", decimal=",", scale={"cut": Decimal("1e-6")})
    amount = reading.amount(AmountVerbs.model_validate({"column": "euros"}))
    assert amount({"euros": "€1.234 567,5"}) == Decimal("1234567.5")
    assert reading.amount(AmountVerbs.model_validate({"column": "cut"}))({"cut": "2500000"}) == Decimal("2.5")


TIME: Final = '[time]\ncolumn = "t"\nformat = "s"\n'
FILL: Final = '[fill]\ninstrument = "pair"\nside = "side"\nquantity = "q"\nprice = "p"\n'


def test_a_venue_that_hedges_has_a_position_of_each_side(tmp_path: Path) -> None:
    """Long 2, then short 3 beside it: a sale of a long never touches the short, and neither crosses zero."""
    rows = (
        "t,pair,side,q,p,book\n1735725600,A/USD:USD,buy,2,10,LONG\n1735725601,A/USD:USD,sell,3,11,SHORT\n"
        "1735725602,A/USD:USD,sell,2,12,LONG\n1735725603,A/USD:USD,buy,1,9,SHORT\n1735725604,A/USD:USD,sell,1,9,LONG\n"
    )
    events = told(tmp_path, TIME + FILL + '[position]\nby = "side"\ncolumn = "book"\n', rows)
    long, short = events.of("position", "position", "side")
    assert (long[1], short[1]) == ("long", "short")
    assert events.of("fill", "position", "side", "quantity") == [
        (long[0], "buy", "2"), (short[0], "sell", "3"), (long[0], "sell", "2"), (short[0], "buy", "1"),
    ]  # fmt: skip
    ((line, reason),) = events.faults
    assert line == 6
    assert "opened before the file" in reason


def test_a_quantity_is_what_contracts_hold_or_what_a_result_says(tmp_path: Path) -> None:
    """3 contracts at 50,000 came to 1,500: 0.01 each. A short from 50 to 48 made 10: 5 of them."""
    contracts = FILL.replace('"q"', '{ column = "q", notional = "cost" }')
    row = "t,pair,side,q,p,cost\n1735725600,BTC/USDT:USDT,buy,3,50000,1500.02\n1735725601,BTC/USDT:USDT,buy,2,50000,\n"
    row += "1735725602,BTC/USDT,buy,2,50000,\n1735725603,ETH/USDT:USDT,buy,7,3000,\n"
    quantities = {"ETH/USDT:USDT": Decimal("0.7"), "BTC/USDT:USDT": Decimal("0.03"), "BTC/USDT": Decimal(2)}
    events = told(tmp_path, TIME + contracts, row)
    ((line, reason), (last, _)) = events.faults
    assert (line, last, 'write contracts = { "BTC/USDT:USDT" = 0.01 }' in reason) == (3, 5, True)
    assert {pair: Decimal(q) for pair, q in events.of("fill", "instrument", "quantity")} == {
        pair: quantities[pair] for pair in ("BTC/USDT:USDT", "BTC/USDT")
    }
    sized = contracts.replace('"cost" }', '"cost", contracts = { "ETH/USDT:USDT" = 0.1 } }')
    events = told(tmp_path, TIME + sized, row)
    assert {pair: Decimal(q) for pair, q in events.of("fill", "instrument", "quantity")} == quantities
    trips = (
        FILL.replace('"q"', '{ result = "pnl" }')
        + '[exit]\ntime = "end"\nprice = "px"\n[position]\nby = "row"\nshort = true\n'
    )
    rows = "t,pair,side,p,end,px,pnl\n1735725600,A/USD,sell,50,1735725601,48,10\n1735725602,A/USD,buy,50,1735725603,48,10\n"
    events = told(tmp_path, TIME + trips, rows)
    assert events.of("fill", "side", "quantity", "price") == [("sell", "5", "50"), ("buy", "5", "48")]
    assert events.faults == [(3, "quantity: the result has not the sign of what the prices say")]


def test_a_cost_may_come_out_of_the_result_of_the_fill_that_closes(tmp_path: Path) -> None:
    """2 sold at 10 for a gain of 5 had cost 7.5 each."""
    opening = '[position]\nopening = { result = "pnl" }\n'
    row = "t,pair,side,q,p,pnl\n1735725600,A/USD,sell,2,10,5\n"
    events = told(tmp_path, TIME + FILL + opening, row)
    assert events.of("fill", "side", "quantity", "price") == [("buy", "2", "7.5"), ("sell", "2", "10")]


JOINED: Final = (
    TIME
    + '[[join]]\nname = "order"\nkey = "order_id"\non = "id"\n{place}\n'
    + '[rows]\nkeep = {{ "order.status" = ["filled"] }}\n[fill]\ninstrument = "pair"\nside = "side"\nquantity = "order.qty"\n'
    + 'price = "order.avg"\n[decision]\nreasoning = "why"\n'
)
INTENTS: Final = "t,pair,side,order_id,why\n1735725600,A/USD,buy,o1,cheap\n1735725601,A/USD,buy,o2,cheaper\n1735725602,A/USD,buy,,\n"


@pytest.mark.parametrize("form", ["csv", "jsonl", "json", "sqlite"])
def test_the_fill_of_an_intent_stands_in_another_table(tmp_path: Path, form: str) -> None:
    """o1 was filled after it was accepted: its last row counts. o2 was rejected, the third never became an order."""
    orders = [("o1", "accepted", "", ""), ("o1", "filled", "2", "9.5"), ("o2", "rejected", "", "")]
    columns, rules = ("id", "status", "qty", "avg"), JOINED.format(place=f'file = "orders.{form}"')
    as_json = [
        "{" + ", ".join(f'"{c}": "{v}"' for c, v in zip(columns, row, strict=True)) + "}" for row in orders
    ]
    if form == "sqlite":
        with closing(sqlite3.connect(tmp_path / "export-0.db")) as connection, connection:
            connection.execute("CREATE TABLE intents (t, pair, side, order_id, why)")
            rows = [line.split(",") for line in INTENTS.splitlines()[1:]]
            connection.executemany("INSERT INTO intents VALUES (?, ?, ?, ?, ?)", rows)
            connection.execute("CREATE TABLE orders (id, status, qty, avg)")
            connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", orders)
        rules = '[source]\nformat = "sqlite"\ntable = "intents"\n' + JOINED.format(place='table = "orders"')
        (tmp_path / "map.toml").write_text(rules)
        events = reading_of(tmp_path / "export-0.db", str(tmp_path / "map.toml"), agent="bot")
    else:
        text = {"csv": "\n".join(map(",".join, [columns, *orders])), "jsonl": "\n".join(as_json)}
        (tmp_path / f"orders.{form}").write_text(text.get(form, f"[{', '.join(as_json)}]") + "\n")
        rules = rules.replace("[rows]", f'format = "{form}"\n[rows]')
        events = told(tmp_path, rules, INTENTS)
    assert events.faults == []
    assert events.of("fill", "side", "quantity", "price") == [("buy", "2", "9.5")]
    assert events.of("decision", "action", "reasoning") == [("enter", "cheap")]


def test_what_belongs_to_a_row_is_no_part_of_its_name(tmp_path: Path) -> None:
    """An order that is filled later tells the same event then."""
    rules = (
        JOINED.format(place='file = "orders.csv"').partition("[rows]")[0] + '[equity]\nvalue = "order.qty"\n'
    )
    events = []
    for quantity in ("1", "2"):
        (tmp_path / "orders.csv").write_text(f"id,qty\no1,{quantity}\n")
        events.append(told(tmp_path, rules, INTENTS).of("equity", "id", "value"))
    ((first, before),), ((second, after),) = events
    assert first == second
    assert (before, after) == ("1", "2")
