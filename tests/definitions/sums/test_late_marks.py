"""Prices that begin after they are first needed: every horizon books alike, by the first mark that is known.

Each is worked by hand. Hours count from a Monday, 2026-01-05.
"""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, Any

import pytest

from tests.definitions.sums.parts import check_parts, totals
from tests.worlds.oracle import Life, approx, components, life

if TYPE_CHECKING:
    from retro.store.database import Store

__all__ = ["life"]


def test_gas_in_an_asset_without_a_mark_costs_the_same_in_a_day_and_in_its_week(life: Life) -> None:
    """0.01 ETH of gas on Monday, the first mark (2,000) on Wednesday at 02:00."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.tell(5, "cost", kind="gas", asset="ETH", quantity="0.01")
    life.marks("ETH", {50 + hours: 2000 for hours in range(40)})
    life.until(96)
    week = life.week()
    assert totals(life) == approx([-20, 0, 0, 0])
    assert week.pnl.total == approx(-20)
    assert components(week.pnl) == approx({"gas_costs": 20})
    assert [life.day(d).equity[-1].equity for d in range(3)] == approx([9980] * 3)
    assert "ETH" in str(life.day(0).data_quality.missing_marks)


def test_coins_of_the_wallet_that_had_no_mark_yet_are_worth_their_first_one_from_the_start(
    life: Life,
) -> None:
    """1 ETH from the owner on Monday, first mark 2,000 on Wednesday, 2,100 a day later: 100 earned, all on Thursday."""
    life.tell(0, "equity", balances={"USDC": 1000, "ETH": 1})
    life.marks("ETH", {50: 2000, 74: 2100})
    life.until(96)
    week = life.week()
    assert totals(life) == approx([0, 0, 0, 100])
    assert week.pnl.total == approx(100)
    assert [edge.equity for edge in week.equity[:5]] == approx([0, 3000, 3000, 3000, 3100])


def test_a_fill_prices_what_has_no_mark_yet_in_a_day_as_in_the_week(life: Life) -> None:
    """Bought and sold at 1,900 on Monday, gas in ETH on Tuesday, the first mark on Wednesday: the gas is 0.01 x 1,900."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.trade("p", (1, 1900), (3, 1900))
    life.tell(30, "cost", kind="gas", asset="ETH", quantity="0.01")
    life.market("ETH/USDC", {50: 2000, 60: 2000})
    life.until(96)
    assert totals(life) == approx([0, -19, 0, 0])
    assert life.week().pnl.total == approx(-19)


def test_the_last_fill_of_an_asset_counts_in_whatever_instrument(life: Life) -> None:
    """Bought at 1,900 on Monday, a future of it traded at 1,950 on Tuesday; the first mark, 2,000, on Wednesday."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 1900)
    life.open(30, "q", "perp")
    life.fill(30, "q", "buy", 1, 1950)
    life.fill(31, "q", "sell", 1, 1950)
    life.market("ETH/USDC", {50: 2000, 60: 2000})
    life.until(96)
    week = life.week()
    assert [edge.equity for edge in week.equity[:5]] == approx([0, 10000, 10050, 10100, 10100])
    assert totals(life) == approx([0, 50, 50, 0])


def test_a_fill_at_midnight_prices_nothing_of_the_day_that_ends_there(life: Life) -> None:
    """1.5 ETH of the wallet from Monday, bought more at 1,900 at exactly Tuesday's end, first mark 1,600 on Thursday."""
    life.tell(0, "equity", balances={"USDC": 10000, "ETH": "1.5"})
    life.open(48, "p")
    life.fill(48, "p", "buy", 1, 1900)
    life.market("ETH/USDC", {80: 1600, 90: 1600})
    life.until(96)
    assert totals(life) == approx([0, 0, 450, -750])
    assert life.week().pnl.total == approx(-300)
    assert [edge.equity for edge in life.week().equity[:5]] == approx([0, 12400, 12400, 12850, 12100])


@pytest.mark.parametrize("stated", [True, False])
def test_the_first_mark_comes_before_what_a_flow_was_said_to_be_worth(life: Life, stated: bool) -> None:
    """1 ETH from the owner, said to be worth 1,900 or nothing said; the pool before and after it enters at the mark."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.open(5, "p", "lp", instrument="ETH/USDC", token0="ETH", token1="USDC", lower=1000, upper=4000)
    life.flow(5, "p", "deposit", "ETH", 1)
    life.flow(5, "p", "deposit", "USDC", 2000)
    life.tell(30, "external", asset="ETH", quantity=1, **({"value": 1900} if stated else {}))
    life.market("ETH/USDC", {60: 2000, 90: 2100})
    life.until(96)
    week, thursday = life.week(), life.day(3)
    assert totals(life)[:3] == approx([0, 100 if stated else 0, 0])
    assert [edge.equity for edge in week.equity[:4]] == approx([0, 10000, 12000, 12000])
    assert week.pnl.total == fsum(totals(life))
    assert [p.final_pnl for p in thursday.positions] == approx([p.final_pnl for p in week.positions])


def test_a_dollar_that_begins_to_be_marked_later_is_not_at_par_before_in_one_horizon_alone(
    life: Life,
) -> None:
    """100 USDT of data on Monday; its first mark, 0.99, comes on Wednesday."""
    life.tell(0, "equity", balances={"USDC": 10000, "USDT": 1000})
    life.tell(5, "cost", kind="data", asset="USDT", quantity="100")
    life.marks("USDT", {50: 0.99, 60: 0.99})
    life.until(96)
    assert totals(life) == approx([-99, 0, 0, 0])
    assert life.week().pnl.total == approx(-99)


def test_a_price_in_another_asset_waits_for_both_marks(life: Life) -> None:
    """ETH is marked in BTC (0.05) from Wednesday on, BTC at 40,000 and from Wednesday at 42,000: 0.01 ETH are 21."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.tell(5, "cost", kind="gas", asset="ETH", quantity="0.01")
    life.open(80, "q", "spot", instrument="ETH/BTC")
    life.market("ETH/BTC", {50: 0.05, 70: 0.05})
    life.market("BTC/USDC", {0: 40000, 49: 42000, 90: 42000})
    life.until(96)
    assert life.week().pnl.total == approx(sum(totals(life)))


def test_what_nobody_could_know_by_then_prices_nothing(life: Life) -> None:
    """The agent falls silent on Tuesday; a shared mark of Wednesday is none of its knowledge."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.tell(5, "cost", kind="gas", asset="ETH", quantity="0.01")
    life.market("ETH/USDC", {50: 2000})
    life.until(30)
    day, week = life.day(0), life.week()
    assert (day.pnl.total, week.pnl.total) == (0, 0)
    assert "ETH" in str(week.data_quality.missing_marks)


def test_nothing_looks_ahead_of_as_of(life: Life) -> None:
    life.tell(0, "equity", balances={"USDC": 10000})
    life.tell(5, "cost", kind="gas", asset="ETH", quantity="0.01")
    life.marks("ETH", {50: 2000, 60: 2000})
    life.until(96)
    assert life.as_of(0, 168, cutoff=49).pnl.total == 0
    assert life.as_of(0, 168, cutoff=51).pnl.total == approx(-20)


LINES: list[dict[str, Any]] = [
    {"type": "equity", "id": "1", "at": "2026-01-05T00:00:00Z", "balances": {"USDC": 10000}},
    {"type": "cost", "id": "2", "at": "2026-01-05T05:00:00Z", "kind": "gas", "asset": "ETH", "quantity": "0.01"},
    {"type": "decision", "id": "3", "at": "2026-01-06T00:00:00Z", "action": "hold", "reasoning": ""},
    {"type": "mark", "id": "4", "at": "2026-01-07T02:00:00Z", "asset": "ETH", "price": 2000},
    {"type": "decision", "id": "5", "at": "2026-01-09T00:00:00Z", "action": "hold", "reasoning": ""},
]  # fmt: skip


@pytest.mark.parametrize(
    "order", [[[0, 1, 2], [3, 4]], [[0, 1, 2, 4], [3]], [[3, 4], [0, 1, 2]], [[0, 1, 2], [3], [4]]]
)
def test_the_first_mark_settles_again_what_was_settled_without_it(
    store: Store, order: list[list[int]]
) -> None:
    """However it is read, the same bytes as read at once; on both databases."""
    check_parts(store, LINES, order, [-20, 0, 0, 0])
