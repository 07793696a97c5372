"""What the market did meanwhile: the pairs an agent traded or watched, and its own pair for each position."""

from __future__ import annotations

from pathlib import Path

import pytest

from retro.kernels.returns import market_change, over_holding
from tests.worlds.commands import Retro, event, retro
from tests.worlds.freqtrade_databases import Order, Trade, write

__all__ = ["retro"]

AT = "2026-01-{:02d} 00:00:00.000000"
WEEK = ("review", "weekly", "--at", "2026-01-06")


def candles(pair: str, prices: dict[int, float]) -> None:
    """Daily candles of January 2026 that close at these prices at the start of these days."""
    Path("data").mkdir(exist_ok=True)
    rows = "".join(f"2026-01-{day - 1:02d} 00:00:00,{p},{p},{p},{p},1\n" for day, p in sorted(prices.items()))
    name = pair.replace("/", "_")
    Path(f"data/{name}-1d.csv").write_text("date,open,high,low,close,volume\n" + rows)


def bot(pair: str, number: int, gain: float) -> Trade:
    """Two units bought at 100 on Tuesday the 6th, sold on Thursday the 8th; a fee of 1 a side and a tenth."""
    orders = [Order(True, 2.0, 100.0, AT.format(6)), Order(False, 2.0, 100.0 + gain, AT.format(8))]
    return Trade(orders, id=number, pair=pair, fee=0.005)


def test_a_basket_is_the_mean_of_what_its_pairs_did() -> None:
    """+10 %, -20 % and 0: -10 / 3 %."""
    assert market_change([100, 50, 8], [110, 40, 8]) == pytest.approx(-0.1 / 3)
    assert market_change([], []) is None
    assert over_holding(3.0, [200.0, 90.0], [100.0, 90.0], 99.0) == pytest.approx(3 + 2 - 9)


def test_the_market_of_a_week_is_that_of_the_pairs_traded_in_it(retro: Retro) -> None:
    """ETH 100 -> 110 from Tuesday, the bot's first event, to Thursday, its last; XRP 1 -> 0.8: -5 % on average."""
    candles("ETH/USDT", {4: 90, 5: 95, 6: 100, 7: 105, 8: 110, 9: 300})
    candles("XRP/USDT", {4: 3, 5: 2, 6: 1, 7: 1, 8: 0.8, 9: 9})
    write(Path("t.sqlite"), [bot("ETH/USDT", 1, 4), bot("XRP/USDT", 2, -1), bot("OLD/USDT", 3, 0)])
    retro("ingest", "freqtrade", "t.sqlite", "--candles", "data", "--capital", "1000")
    report = retro(*WEEK, "--json").data
    market, made = report["market"], report["risk"]["time_weighted_return"]
    assert market["change"] == pytest.approx(-0.05)
    assert (market["pairs"], market["left_out"]) == (2, ["OLD/USDT"])
    assert market["over_market"] == pytest.approx(made + 0.05)
    page = " ".join(retro(*WEEK).out.split())
    assert "Against the market" in page
    assert "2 pairs traded or watched, equally weighted, -5.00 %; 1 left out" in page
    assert "doing nothing was cash: this is the result itself" in page


def test_pairs_an_agent_only_watched_belong_to_its_market(retro: Retro) -> None:
    """It skipped SOL, which fell from 20 to 10 while ETH stood still: -25 %."""
    at = "2026-01-{:02d}T00:00:00Z"
    facts = [
        event("equity", "e", at.format(5), value="1000"),
        event("position", "p", at.format(6), position="p", kind="spot", instrument="ETH/USDC"),
        event("fill", "f1", at.format(6), position="p", side="buy", quantity="1", price="100"),
        event("decision", "d", at.format(6), action="skip", instrument="SOL/USDC", reasoning="too thin"),
        event("fill", "f2", at.format(8), position="p", side="sell", quantity="1", price="101"),
        event("death", "x", at.format(11)),
        *(
            event("mark", f"m{name}{day}", at.format(day), instrument=name, price=str(price))
            for name, prices in {
                "ETH/USDC": {5: 100, 11: 100},
                "SOL/USDC": {5: 20, 11: 10},
            }.items()
            for day, price in prices.items()
        ),
    ]
    Path("j.jsonl").write_text("".join(facts))
    assert retro("ingest", "journal", "j.jsonl").code == 0
    market = retro(*WEEK, "--json").data["market"]
    assert (market["change"], market["pairs"], market["left_out"]) == (-0.25, 2, [])


def test_without_marks_there_is_no_market_and_the_page_says_so(retro: Retro) -> None:
    write(Path("t.sqlite"), [bot("ETH/USDT", 1, 4)])
    retro("ingest", "freqtrade", "t.sqlite")
    market = retro(*WEEK, "--json").data["market"]
    assert (market["change"], market["over_market"]) == (None, None)
    assert market["reasons"]["change"] == "no pair has a mark at both ends of the period"
    assert "no pair has a mark at both ends" in " ".join(retro(*WEEK).out.split())


def test_a_position_is_held_against_its_pair(retro: Retro) -> None:
    """Bought 2 at 100 and 2 at 90, half of it sold at 99 and half at 96: 10; all four kept until 96 made -8 + 12."""
    orders = [
        Order(True, 2.0, 100.0, AT.format(6)),
        Order(True, 2.0, 90.0, AT.format(7)),
        Order(False, 2.0, 99.0, AT.format(7)),
        Order(False, 2.0, 96.0, AT.format(8)),
    ]
    short = Trade(
        [Order(True, 1.0, 100.0, AT.format(6)), Order(False, 1.0, 90.0, AT.format(8))],
        id=2, pair="ETH/USDT:USDT", short=True, mode="FUTURES", fee=0.0,
    )  # fmt: skip
    write(Path("t.sqlite"), [Trade(orders, fee=0.0), short])
    retro("ingest", "freqtrade", "t.sqlite")
    added = retro("review", "position", "ft-1", "--format", "json").data
    assert added["final_pnl"] == pytest.approx(10)
    assert added["vs_pair"] == pytest.approx(10 - 4)
    shorted = retro("review", "position", "ft-2", "--format", "json").data
    assert shorted["vs_pair"] == pytest.approx(10 + 10), "the pair itself fell by 10"
