"""hummingbot's fills are the same from the database and its twin, as far as the database has the digits."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from retro.errors import InputError
from retro.ingest.hummingbot.fees import charges
from retro.ingest.hummingbot.reader import read, sniff
from retro.ingest.sample import sample_of
from retro.model import Cost, Exit, Fill, Flow, Position
from tests.worlds.commands import Retro, retro
from tests.worlds.logs import hummingbot
from tests.worlds.logs.facts import NOW, Reading
from tests.worlds.logs.hummingbot import BEGIN_MS, LIFE, BotFill

__all__ = ["retro"]


def reading(*paths: Path, agent: str | None = None) -> Reading:
    return Reading(read(paths, agent=agent, now=NOW))


def test_fills_make_positions_from_flat_to_flat(tmp_path: Path) -> None:
    """0.1 % of each value is paid in USDT; what is sold first and bought back later is a short."""
    facts = reading(hummingbot.write_csv(tmp_path / "trades_conf_mm_1.csv"))
    assert facts.faults == []
    assert facts.base_currency == {"conf_mm_1": "USDT"}
    assert [(line.instrument, line.kind, line.side, line.strategy) for line in facts.of(Position)] == [
        ("ETH/USDT", "spot", "long", "pure_market_making"),
        ("ETH/USDT", "spot", "short", "pure_market_making"),
    ]
    assert [(line.side, line.price, line.quantity, line.fee) for line in facts.of(Fill)] == [
        ("buy", Decimal("2000.12345678"), Decimal("0.03"), Decimal("0.0600037037034")),
        ("sell", 2010, Decimal("0.03"), Decimal("0.0603")),
        ("sell", 2020, Decimal("0.01"), Decimal("0.0202")),
        ("buy", 2015, Decimal("0.01"), Decimal("0.02015")),
    ]
    assert "paper orders, left out: 1" in facts.notices


def test_the_twin_s_digits_are_taken_where_it_lies_beside(tmp_path: Path) -> None:
    database = hummingbot.write_database(tmp_path / "conf_mm_1.sqlite")
    alone = reading(database)
    assert alone.of(Fill)[0].price == Decimal("2000.123456"), "six decimals are all there is"
    assert hummingbot.cut("0.03") == 30000, "this one a double holds"
    table = hummingbot.write_csv(tmp_path / "trades_conf_mm_1.csv", LIFE[:3])
    both = reading(database)
    assert both.of(Fill) == reading(table, database).of(Fill) == reading(tmp_path).of(Fill)
    assert both.of(Fill)[0].price == Decimal("2000.12345678")
    assert len(both.of(Fill)) == 4, "the fourth is in the database alone"


def test_a_round_number_that_was_cut_is_round_again(tmp_path: Path) -> None:
    """8.2 x 10^6 is 8199999.99... as a double: what is sold is what was bought, and nothing is left over."""
    assert hummingbot.cut("8.2") == 8_199_999
    fills = [BotFill("1", 0, "BUY", "2000", "8.2"), BotFill("2", 1, "SELL", "2000", "8.2")]
    facts = reading(hummingbot.write_database(tmp_path / "a.sqlite", fills))
    assert [line.quantity for line in facts.of(Fill)] == [Decimal("8.2")] * 2
    assert len(facts.of(Position)) == 1


def test_an_old_database_holds_floats(tmp_path: Path) -> None:
    old = reading(hummingbot.write_database(tmp_path / "a.sqlite", version=None))
    assert [line.price for line in old.of(Fill)][:2] == [Decimal("2000.12345678"), 2010]


def test_a_price_of_which_nothing_is_left_is_a_fault_that_names_the_remedy(tmp_path: Path) -> None:
    fills = [BotFill(f"{n}", n, "BUY", "0.0000000299", "20000", symbol="NIM-BTC") for n in range(3)]
    database = hummingbot.write_database(tmp_path / "nim.sqlite", [*fills, LIFE[0]])
    facts = reading(database)
    assert [fault.reason.split(",")[0] for fault in facts.faults] == [
        "3 fills of binance NIM-BTC have price or amount 0"
    ]
    hummingbot.write_csv(tmp_path / "trades_nim.csv", fills)
    assert reading(database).faults == []


@pytest.mark.parametrize(
    ("text", "paid"),
    [
        ('{"fee_type": "AddedToCost", "percent": "0.001", "percent_token": null, "flat_fees": []}', [(Decimal("0.2"), "USDT")]),
        ('{"fee_type": "DeductedFromReturns", "percent": "0.001", "percent_token": null, "flat_fees": []}', [(Decimal("0.002"), "ETH")]),
        ("{'fee_type': 'DeductedFromReturns', 'percent': '0', 'percent_token': 'BNB', 'flat_fees': [{'token': 'BNB', 'amount': '0E-8'}]}", []),
        ('{"percent": 0, "flat_fees": [["BNB", 0.1]]}', [(Decimal("0.1"), "BNB")]),
        ('{"percent": "0", "flat_fees": [{"token": "USDT", "amount": "-0.05"}]}', [(Decimal("-0.05"), "USDT")]),
        ("", []),
    ],
)  # fmt: skip
def test_fees_of_every_shape(text: str, paid: list[tuple[Decimal, str]]) -> None:
    """Of 2 ETH bought at 100: a thousandth is 0.2 of the quote, or 0.002 of what is received."""
    assert (
        charges(text, price=Decimal(100), quantity=Decimal(2), base="ETH", quote="USDT", is_buy=True) == paid
    )


@pytest.mark.parametrize(
    "text", ["__import__('os')", "[" * 9000, "{'percent': 'x'}", "[1]", "{" + "'a':" * 4000]
)
def test_what_is_no_fee_is_a_fault_and_nothing_is_run(tmp_path: Path, text: str) -> None:
    table = hummingbot.write_csv(tmp_path / "trades_a.csv", LIFE[:2])
    table.write_text(table.read_text().replace(f'"{LIFE[0].fee!r}"', '"' + text.replace('"', '""') + '"', 1))
    facts = reading(table)
    assert [fault.line for fault in facts.faults] == [2]
    assert "trade_fee" in facts.faults[0].reason


def test_funding_belongs_to_the_position_that_was_open(tmp_path: Path) -> None:
    fills = [BotFill("1", 0, "SELL", "2000", "1", market="bybit_perpetual", fee={})]
    database = hummingbot.write_database(tmp_path / "a.sqlite", fills)
    hummingbot.add_rows(
        database, "FundingPayment",
        [
            {"timestamp": BEGIN_MS + 60_000, "config_file_path": "conf_mm_1.yml", "market": "bybit_perpetual", "rate": 0.0001, "symbol": "ETH-USDT", "amount": 0.2},
            {"timestamp": (BEGIN_MS + 120_000) // 1000, "config_file_path": "conf_mm_1.yml", "market": "bybit_perpetual", "rate": 0.0001, "symbol": "ETH-USDT", "amount": -0.3},
        ],
    )  # fmt: skip
    facts = reading(database)
    (position,) = facts.of(Position)
    assert (position.kind, position.instrument, position.side) == ("perp", "ETH/USDT:USDT", "short")
    assert [(line.kind, line.quantity, line.position) for line in facts.of(Flow)] == [
        ("funding_received", Decimal("0.2"), position.position),
        ("funding_paid", Decimal("0.3"), position.position),
    ]


def test_executors_are_positions_held_against_their_own_result(tmp_path: Path) -> None:
    """Two at once: bought at 2000 and sold at 2010 makes 10 less 4.01 of fees; the other is still open, and waits."""
    fills = [
        BotFill("1", 0, "BUY", "2000", "1", order="a-1"),
        BotFill("2", 1, "BUY", "2001", "1", order="b-1"),
        BotFill("3", 2, "SELL", "2010", "1", order="a-2"),
        BotFill("4", 9, "SELL", "2020", "1", order="c-1"),
    ]
    database = hummingbot.write_database(tmp_path / "a.sqlite", fills)
    closed = {
        "type": "position_executor", "status": 4, "config": "{}", "net_pnl_pct": 0.1, "cum_fees_quote": 4.01,
        "filled_amount_quote": 4010.0, "is_active": 0, "is_trading": 0, "timestamp": BEGIN_MS / 1000,
    }  # fmt: skip
    hummingbot.add_rows(
        database, "Executors",
        [
            closed | {"id": "A", "close_type": 3, "close_timestamp": BEGIN_MS // 1000 + 121, "net_pnl_quote": 5.99, "custom_info": json.dumps({"order_ids": ["a-1", "a-2"]})},
            closed | {"id": "B", "close_type": 1, "close_timestamp": BEGIN_MS // 1000 + 180, "net_pnl_quote": 0.0, "custom_info": json.dumps({"held_position_orders": [{"order_id": "b-1"}]})},
        ],
    )  # fmt: skip
    facts = reading(database)
    assert len(facts.of(Position)) == 2
    assert [line.reason for line in facts.of(Exit)] == ["take_profit"]
    (stated,) = facts.checks
    assert (stated.stated, stated.net_of, stated.subject) == (
        Decimal("5.99"),
        ("fees",),
        facts.of(Exit)[0].position,
    )
    assert any("wait until their executor has ended: 1" in sentence for sentence in facts.notices)


def test_liquidity_is_put_in_and_taken_out_with_its_fees(tmp_path: Path) -> None:
    database = hummingbot.write_database(tmp_path / "a.sqlite", [])
    update = {
        "config_file_path": "lp.yml",
        "market": "meteora/clmm",
        "trading_pair": "SOL-USDC",
        "position_address": "Ab1",
        "lower_price": 90.0,
        "upper_price": 110.0,
        "hb_id": "range",
        "token_id": 0,
        "trade_fee": "{}",
    }
    hummingbot.add_rows(
        database, "RangePositionUpdate",
        [
            update | {"timestamp": BEGIN_MS, "order_action": "ADD", "mid_price": 100.0, "base_amount": 1.0, "quote_amount": 100.0, "tx_hash": "t1", "trade_fee_in_quote": 0.01},
            update | {"timestamp": BEGIN_MS + 60_000, "order_action": "REMOVE", "mid_price": 102.0, "base_amount": 0.9, "quote_amount": 110.0, "base_fee": 0.01, "quote_fee": 1.0, "tx_hash": "t2"},
            update | {"timestamp": BEGIN_MS + 90_000, "order_action": "REMOVE", "position_address": "elsewhere", "mid_price": 102.0, "base_amount": 1.0, "quote_amount": 1.0, "tx_hash": "t3"},
        ],
    )  # fmt: skip
    facts = reading(database)
    (position,) = facts.of(Position)
    assert (position.kind, position.token0, position.token1, position.lower, position.upper) == (
        "lp",
        "SOL",
        "USDC",
        90,
        110,
    )
    assert [(line.kind, line.asset, line.quantity, line.value) for line in facts.of(Flow)] == [
        ("deposit", "SOL", 1, 100), ("deposit", "USDC", 100, 100),
        ("withdrawal", "SOL", Decimal("0.91"), Decimal("92.82")), ("withdrawal", "USDC", 111, 111),
        ("lp_fee", "SOL", Decimal("0.01"), Decimal("1.02")), ("lp_fee", "USDC", 1, 1),
    ]  # fmt: skip
    assert [line.amount for line in facts.of(Cost)] == [Decimal("0.01")]
    assert ["taken out that was put in before" in fault.reason for fault in facts.faults] == [True]


@pytest.mark.parametrize("ended", range(1, 5))
def test_files_that_grew_tell_what_they_told_and_more(tmp_path: Path, ended: int) -> None:
    whole = reading(hummingbot.write_csv(tmp_path / "trades_a.csv"))
    part = reading(hummingbot.write_csv(tmp_path / "trades_a.csv", LIFE[:ended]))
    assert part.rows.items() <= whole.rows.items()


def test_two_rows_of_one_trade_are_one(tmp_path: Path) -> None:
    hummingbot.write_csv(tmp_path / "trades_a.csv", [*LIFE, *LIFE])
    assert len(reading(tmp_path).of(Fill)) == 4


def test_a_torn_row_is_a_fault_and_another_file_an_error(tmp_path: Path) -> None:
    table = hummingbot.write_csv(tmp_path / "trades_a.csv", LIFE[:3])
    table.write_text(table.read_text()[:-90])
    facts = reading(table)
    assert ([fault.line for fault in facts.faults], len(facts.of(Fill))) == ([4], 2)
    table.write_text("date,price\n1,2\n")
    with pytest.raises(InputError, match=r"trades_a\.csv has no column config_file_path"):
        reading(table)
    table.write_text('{"date": "2026-01-01"}\n{"date": "2026-01-02", "positions": {}, "b": 1, "c": 2}\n')
    with pytest.raises(InputError, match=r"trades_a\.csv has no column config_file_path"):
        reading(table)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty holds neither"):
        reading(tmp_path / "empty")


def test_a_reading_again_changes_nothing_and_a_review_follows(tmp_path: Path, retro: Retro) -> None:
    Path("data").mkdir()
    hummingbot.write_database(Path("data/conf_mm_1.sqlite"))
    hummingbot.write_csv(Path("data/trades_conf_mm_1.csv"))
    first = retro("ingest", "hummingbot", "data", "--json")
    again = retro("ingest", "hummingbot", "data", "--json")
    assert (first.code, again.code, again.data["stored"], again.data["conflicts"]) == (0, 0, 0, 0)
    weekly = retro("review", "weekly", "--at", "2026-01-05", "--json")
    assert weekly.code == 0
    made = Decimal("0.03") * (2010 - Decimal("2000.12345678")) + Decimal("0.05")
    fees = Decimal("0.0600037037034") + Decimal("0.0603") + Decimal("0.0202") + Decimal("0.02015")
    assert weekly.data["pnl"]["total"] == pytest.approx(float(made - fees))


def test_its_files_are_known_by_what_they_are(tmp_path: Path) -> None:
    database = hummingbot.write_database(tmp_path / "a.sqlite")
    table = hummingbot.write_csv(tmp_path / "trades_a.csv")
    for path in (tmp_path, database, table):
        assert sniff(sample_of(path)), path
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    assert sniff(sample_of(tmp_path / "other.csv")) is None
