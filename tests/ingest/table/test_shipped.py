"""Every mapping of ours on an export of its kind: found by its columns, and what it tells worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from retro.ingest.table.maps import mapping_of, shipped, shipped_for
from tests.worlds.commands import Retro, retro
from tests.worlds.logs import exports
from tests.worlds.logs.tables import Reading, reading_of

__all__ = ["retro"]

ZONE: Final = "America/New_York"


class Expected(NamedTuple):
    """Fills as (instrument, side, quantity, price, fee, its asset); how many positions; checks as (what, stated)."""

    fills: list[tuple[str, str, str, str, str, str | None]]
    positions: int
    checks: Sequence[tuple[str, str]] = ()
    base: str | None = None
    faults: int = 0
    first: str | None = None
    """When the first position was opened."""


EXPECTED: Final[dict[str, Expected]] = {
    # a swap of 3 contracts of 0.01 BTC: cost 1,500 = 50,000 x 0.03; the third is inverse
    "ccxt": Expected(
        [("BTC/USDT:USDT", "buy", "0.03", "50000", "0.75", None), ("BTC/USDT:USDT", "sell", "0.03", "51000.5", "-0.1", None)],
        1, [("realized_pnl", "30.015")], "USDT", 1, "2025-01-01T10:00:00Z",
    ),
    # 1,000 bought less a fee of 1 in kind leaves 999; sold for a fee in BNB; newest first in the file
    "binance-spot": Expected(
        [("1INCH/USDT", "buy", "1000", "0.4", "1", "1INCH"), ("1INCH/USDT", "sell", "999", "0.5", "0.001", "BNB")],
        1, base="USDT", first="2025-01-02T10:00:00Z",
    ),
    # short 2, bought 3: 2 close at a profit of 200, 1 opens, the fee of 3.48 goes 2 : 1
    "binance-futures": Expected(
        [
            ("ETH/USDT:USDT", "sell", "2", "3000", "2.4", None), ("ETH/USDT:USDT", "buy", "2", "2900", "2.32", None),
            ("ETH/USDT:USDT", "buy", "1", "2900", "1.16", None),
        ],
        2, [("realized_pnl", "200")], "USDT", first="2025-01-02T10:00:00Z",
    ),
    # 1,000 - 2.75 - 2.10 + 100 - 2.805 = 1,092.345
    "bybit": Expected(
        [("BTC/USDT:USDT", "buy", "0.1", "50000", "2.75", None), ("BTC/USDT:USDT", "sell", "0.1", "51000", "2.805", None)],
        1, [("balance", "1000"), ("balance", "997.25"), ("balance", "995.15"), ("balance", "1092.345")], "USDT",
    ),
    # the same with fees below 0, and 300 USDT for 0.1 ETH less a fee of 0.0001 ETH: two rows of spot
    "bybit-uta": Expected(
        [
            ("BTC/USDT:USDT", "buy", "0.1", "50000", "2.75", None), ("BTC/USDT:USDT", "sell", "0.1", "51000", "2.805", None),
            ("ETH/USDT", "buy", "0.1", "3000", "0.0001", "ETH"),
        ],
        2, [("balance", text) for text in ("1000", "997.25", "995.15", "1092.345", "0.0999", "792.345", "790.345")], "USDT", 1,
    ),
    # 199.532 for 601 is 0.332 each, 210 for 600 is 0.35; what futures made is left out
    "binance-statement": Expected(
        [("DOGE/USDT", "buy", "601", "0.332", "0.601", "DOGE"), ("DOGE/USDT", "sell", "600", "0.35", "0.0003", "BNB")],
        1, base="USDT", first="2024-12-24T10:00:00Z",
    ),
    # at their average prices; one was cancelled, and the rows of an order's fills are left out
    "binance-orders": Expected(
        [("ETH/USDT", "buy", "2", "2999.5", "0", None), ("ETH/USDT", "sell", "2", "3500", "0", None)],
        1, base="USDT", first="2025-03-01T10:00:00Z",
    ),
    "kraken-ledgers": Expected(
        [("BTC/EUR", "buy", "0.01", "50000", "1.3", None), ("BTC/EUR", "sell", "0.01", "52000", "1.35", None)],
        1, [("balance", text) for text in ("1000", "498.7", "0.01", "0", "1017.35")], "EUR",
    ),
    "kraken-trades": Expected(
        [("BTC/EUR", "buy", "0.01", "40000", "1.04", None), ("BTC/EUR", "sell", "0.01", "41000", "1.07", None)],
        1, base="EUR", first="2025-01-02T10:00:00.123400Z",
    ),
    "coinbase": Expected(
        [("ETH/EUR", "buy", "1", "3000", "45", None), ("ETH/EUR", "sell", "0.5", "3100", "3.1", None)], 1, base="EUR",
    ),
    "coinbase-exchange": Expected(
        [("BTC/USD", "buy", "0.5", "40000", "100", None), ("BTC/USD", "sell", "0.5", "42000", "105", None)], 1, base="USD",
    ),
    # 900 EUR for 0.5 ETH, and a fee of 4.50
    "coinbase-account": Expected(
        [("ETH/EUR", "buy", "0.5", "1800", "4.5", None)], 1, [("balance", "1000"), ("balance", "0.5"), ("balance", "95.5")], "EUR",
        first="2025-01-01T10:00:00Z",
    ),
    # newest first in the file; 10:00 in New York is 15:00 UTC
    "kucoin": Expected(
        [("XRP/USDT", "buy", "400", "0.5", "0.2", None), ("XRP/USDT", "sell", "400", "0.75", "0.3", None)],
        1, base="USDT", first="2025-01-02T15:00:00Z",
    ),
    # 300 USDT for 0.1 ETH less a fee of 0.0001 ETH; 18:00 in New York is 23:00 UTC; two rows of contracts are one fault
    "okx": Expected(
        [("ETH/USDT", "buy", "0.1", "3000", "0.0001", "ETH")], 1,
        [("balance", text) for text in ("0.0999", "700", "700", "700")], "USDT", 1, "2025-01-02T23:00:00Z",
    ),
    # (102 - 100) x 10 - 2 of commissions = 18; the row of the order is no execution
    "ibkr-flex": Expected(
        [("AAPL/USD", "buy", "10", "100", "1", None), ("AAPL/USD", "sell", "10", "102", "1", None)],
        1, [("realized_pnl", "18")], "USD", first="2025-01-02T15:00:00Z",
    ),
    "alpaca": Expected(
        [("AAPL/USD", "sell", "4", "10.5", "0", None), ("AAPL/USD", "buy", "4", "10", "0", None)], 1, base="USD",
    ),
    # a fee of 1 + 0.06 + 0.01; 09:47:59 in New York in summer is 13:47:59 UTC
    "tradenote": Expected(
        [("RBLX/USD", "sell", "50", "49.88", "1.07", None), ("RBLX/USD", "buy", "50", "49.6", "1", None)],
        1, base="USD", first="2024-08-13T13:47:59Z",
    ),
    "tradervue": Expected(
        [("TSLA/USD", "buy", "10", "400", "0.55", None), ("TSLA/USD", "sell", "10", "405", "0.52", None)], 1, base="USD",
    ),
    # the sell stands twice; 718 made on 5 SPY sold at 643.6 had cost 643.6 - 718 / 5 = 500 each
    "micro-cap-trades": Expected(
        [
            ("ABEO/USD", "buy", "6", "5.77", "0", None), ("ABEO/USD", "sell", "6", "6.4", "0", None),
            ("SPY/USD", "buy", "5", "500", "0", None), ("SPY/USD", "sell", "5", "643.6", "0", None),
        ],
        2, [("realized_pnl", "3.78")], "USD", first="2025-06-30T13:30:00Z",
    ),
    "micro-cap-portfolio": Expected([], 0),
    # short 0.1 from 50,000 to 49,000: 100 less fees of 9.90
    "jesse": Expected(
        [("BTC/USDT:USDT", "sell", "0.1", "50000", "4.95", None), ("BTC/USDT:USDT", "buy", "0.1", "49000", "4.95", None)],
        1, [("realized_pnl", "90.1")], "USDT", first="2025-01-01T10:00:00Z",
    ),
    # one position id, used again after it was flat
    "nautilus-fills": Expected(
        [
            ("ETH/USDT:USDT", "sell", "2", "3000", "2.4", None), ("ETH/USDT:USDT", "buy", "2", "2900", "2.32", None),
            ("ETH/USDT:USDT", "buy", "1", "2950", "1.18", None),
        ],
        2, base="USDT", first="2025-01-01T10:00:00Z",
    ),
    # short 10 from 100 to 90: 100 less 1.90
    "backtesting-py": Expected(
        [("ASSET/CASH", "sell", "10", "100", "0.95", None), ("ASSET/CASH", "buy", "10", "90", "0.95", None)],
        1, [("realized_pnl", "98.1")], "CASH", first="2025-01-02T05:00:00Z",
    ),
    # 500 less 40.50; the second is open, its exit is the last bar
    "vectorbt": Expected(
        [
            ("BTC/USD", "buy", "0.5", "40000", "20", None), ("BTC/USD", "sell", "0.5", "41000", "20.5", None),
            ("BTC/USD", "buy", "0.5", "42000", "21", None),
        ],
        2, [("realized_pnl", "459.5")], "USD",
    ),
    # 8.00 made on 4.00 a unit is a quantity of 2
    "tradememory": Expected(
        [("XAU/USD", "buy", "2", "100", "0", None), ("XAU/USD", "sell", "2", "104", "0", None)], 1, base="USD",
    ),
    "tradememory-swaps": Expected(
        [("MIM/USDC", "buy", "100", "0.95", "0", None), ("MIM/USDC", "sell", "100", "0.99", "0", None)], 1,
    ),
    # 25.00 on 10 a unit is 2.5; 12.00 made on a fall is none
    "tradememory-trades": Expected(
        [("XAU/USD", "buy", "2.5", "5000", "0", None), ("XAU/USD", "sell", "2.5", "5010", "0", None)], 1, base="USD", faults=1,
    ),
}  # fmt: skip


def zone_of(name: str) -> str | None:
    return ZONE if mapping_of(name).rules.time.zone == "ask" else None


def read(folder: Path, name: str) -> Reading:
    return reading_of(exports.write(folder, name), name, zone=zone_of(name))


def test_every_mapping_of_ours_is_worked_out() -> None:
    assert set(EXPECTED) == set(shipped())


@pytest.mark.parametrize("name", EXPECTED)
def test_a_mapping_is_found_by_the_columns_of_its_file(tmp_path: Path, name: str) -> None:
    assert shipped_for(exports.write(tmp_path, name)).name == name


@pytest.mark.parametrize("name", EXPECTED)
def test_what_it_tells_is_what_was_worked_out(tmp_path: Path, name: str) -> None:
    events, expected = read(tmp_path, name), EXPECTED[name]
    fills = [
        (instrument, side, Decimal(quantity), Decimal(price), Decimal(fee), asset)
        for instrument, side, quantity, price, fee, asset in events.of(
            "fill", "instrument", "side", "quantity", "price", "fee", "fee_asset"
        )
    ]
    assert fills == [(i, s, Decimal(q), Decimal(p), Decimal(f), a) for i, s, q, p, f, a in expected.fills]
    assert len(events.of("position")) == expected.positions
    assert [(check.what, check.stated) for check in events.checks] == [
        (what, Decimal(stated)) for what, stated in expected.checks
    ]
    assert len(events.faults) == expected.faults
    assert set(events.bases.values()) == ({expected.base} if expected.base else set())
    if expected.first is not None:
        assert events.of("position", "at")[0] == (expected.first,)


@pytest.mark.parametrize(
    ("name", "kind", "fields", "rows"),
    [
        ("bybit", "flow", ("kind", "quantity", "position"), [("funding_paid", "2.1", "bybit-BTC/USDT:USDT-t1")]),
        ("bybit", "external", ("quantity", "asset"), [("1000", "USDT")]),
        ("bybit-uta", "flow", ("kind", "quantity", "asset"), [("funding_paid", "2.1", "USDT")]),
        ("binance-statement", "external", ("quantity", "asset"), [("1000", "USDT")]),
        ("kraken-ledgers", "flow", ("kind", "asset", "quantity"), [("reward", "DOT", "0.5")]),
        ("kraken-ledgers", "external", ("quantity", "asset"), [("1000.0", "EUR")]),
        ("coinbase", "external", ("quantity", "asset"), [("-0.5", "ETH")]),
        ("alpaca", "external", ("quantity",), [("1000",)]),
        ("alpaca", "flow", ("kind", "quantity"), [("interest", "1.25")]),
        ("micro-cap-trades", "exit", ("reason",), [("stop_loss",)]),
        ("micro-cap-portfolio", "equity", ("at", "value"), [("2025-06-30T20:00:00.001Z", "99.46")]),
        ("tradememory", "decision", ("action", "reasoning", "confidence", "cites"), [("enter", "range broke", 0.72, ["VolBreakout"])]),
        ("tradememory", "position", ("risk", "strategy"), [("4", "VolBreakout")]),
        ("backtesting-py", "position", ("risk", "side"), [("100.0", "short")]),
        ("jesse", "position", ("agent", "strategy"), [("Turtle-One", "Turtle One")]),
        ("tradememory-swaps", "cost", ("kind", "asset", "quantity"), [("gas", "ETH", "0.01"), ("gas", "ETH", "0.02"), ("gas", "ETH", "0.03")]),
    ],
)  # fmt: skip
def test_what_stands_beside_the_fills_is_told(
    tmp_path: Path, name: str, kind: str, fields: tuple[str, ...], rows: list[tuple[Any, ...]]
) -> None:
    assert read(tmp_path, name).of(kind, *fields) == rows


@pytest.mark.parametrize("name", EXPECTED)
def test_a_second_reading_changes_nothing_and_what_is_stored_can_be_reviewed(
    retro: Retro, tmp_path: Path, name: str
) -> None:
    zone = zone_of(name)
    command: list[str | Path] = [
        "ingest",
        "table",
        exports.write(tmp_path, name),
        *(["--zone", zone] if zone else []),
        "--agent",
        "ada",
        "--json",
    ]
    first, second = retro(*command), retro(*command)
    assert first.data["stored"] > 0
    assert (second.data["stored"], second.data["conflicts"]) == (0, 0)
    assert second.code == (1 if EXPECTED[name].faults else 0)
    review = retro("review", "life", "--agent", "ada", "--json")
    assert (review.code, review.data["agent"]) == (0, "ada"), review.err
