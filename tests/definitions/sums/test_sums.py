"""Journals whose sums were wrong: boundaries, fees in a third asset, accruals of spot and perp, what settles at the exit.

Each is worked by hand. Hours count from a Monday, 2026-01-05.
"""

from __future__ import annotations

from math import fsum
from typing import Any

import pytest

from tests.worlds.oracle import DAY, WEEK, Life, approx, components, life, life_of, row_of

__all__ = ["life"]


def days_and_week(life: Any, days: Any = 4) -> Any:
    return [life.day(d) for d in range(days)], life.week()


# a boundary is a boundary for everything


@pytest.mark.parametrize("first", [24, 24 + 1 / 60, 23])
def test_what_a_first_snapshot_opens_leaves_the_wallet_at_the_same_instant(life: Life, first: float) -> None:
    """0.1 BTC at 60,000, lent on Monday evening, told by snapshots alone; the first exactly at midnight, or near it."""
    life.marks("BTC", [60000] * 97)
    life.tell(0, "equity", balances={"USDC": 10000})
    life.open(20, "p", "lending", instrument="BTC")
    for hours in (first, 48, 72):
        life.tell(hours, "snapshot", position="p", holdings={"BTC": "0.1"}, claimable={})
    life.until(96)
    days, week = days_and_week(life)
    assert [day.pnl.total for day in days] == [0, 0, 0, 0]
    assert {edge.equity for day in days for edge in day.equity[1:]} == {10000}
    assert (week.pnl.total, week.equity[-1].equity) == (0, 10000)
    assert life.position("p").final_pnl == 0


@pytest.mark.parametrize("first", [24, 24 + 1 / 60, 23])
@pytest.mark.parametrize(
    ("kind", "asset", "quantity", "made"), [("reward", "ARB", 10, 20), ("slash", "ETH", "0.01", -20)]
)
def test_what_was_earned_or_lost_before_the_first_snapshot_moves_no_boundary(
    life: Life, first: float, kind: str, asset: str, quantity: Any, made: float
) -> None:
    """10 ARB of 2, or 0.01 ETH of 2,000 lost, on Monday noon; the 0.1 BTC that a snapshot shows leave the wallet with it."""
    for name, price in {"BTC": 60000, "ARB": 2, "ETH": 2000}.items():
        life.marks(name, [price] * 97)
    life.tell(0, "equity", balances={"USDC": 10000})
    life.open(10, "p", "staking", instrument="BTC")
    life.flow(12, "p", kind, asset, quantity)
    life.tell(first, "snapshot", position="p", holdings={"BTC": "0.1"})
    life.until(96)
    days, week = days_and_week(life)
    assert [day.pnl.total for day in days] == approx([made, 0, 0, 0])
    assert {edge.equity for day in days for edge in day.equity[1:]} == {10000 + made}
    assert (week.pnl.total, week.equity[-1].equity) == approx((made, 10000 + made))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_states_at_midnight_the_same_one_counts_on_both_sides(life: Life, order: Any) -> None:
    """0.1 BTC at 60,000; at midnight 0.11 (e9) and 0.12 (e10, the later): Monday made 1,200, in either order of telling."""
    life.marks("BTC", [60000])
    life.tell(0, "equity", balances={"USDC": 10000})
    life.open(20, "p", "lending", instrument="BTC")
    life.flow(20, "p", "deposit", "BTC", "0.1")
    states = [("e9", "0.11"), ("e10", "0.12")]
    for name, quantity in (states[i] for i in order):
        life.tell(24, "snapshot", position="p", holdings={"BTC": quantity})
        life.events[-1]["id"] = name
    life.tell(96, "decision", action="hold")
    days, week = days_and_week(life)
    assert [day.pnl.total for day in days] == approx([1200, 0, 0, 0])
    assert week.pnl.total == approx(1200)


def test_a_first_snapshot_of_a_pool_at_midnight_is_the_next_days_entry(life: Life) -> None:
    life.marks("ETH", [2000] * 97)
    life.tell(0, "equity", balances={"USDC": 10000})
    life.open(20, "p", "lp", instrument="ETH/USDC", token0="ETH", token1="USDC", lower=1000, upper=4000)
    for hours in (24, 48):
        life.tell(hours, "snapshot", position="p", holdings={"ETH": 1, "USDC": 2000}, claimable={"USDC": 0})
    life.tell(72, "snapshot", position="p", holdings={"ETH": 1, "USDC": 2000}, claimable={"USDC": 7})
    life.until(96)
    days, week = days_and_week(life)
    assert [day.pnl.total for day in days] == approx([0, 0, 0, 7])
    assert week.pnl.total == approx(7)


def test_a_deposit_told_after_the_snapshots_is_no_profit_of_the_first(life: Life) -> None:
    """0.1 BTC by snapshots from Monday on, 0.01 more told on Thursday: nothing was earned."""
    life.marks("BTC", [60000] * 97)
    life.tell(0, "equity", balances={"USDC": 10000})
    life.open(20, "p", "lending", instrument="BTC")
    for hours in (20.5, 30, 44):
        life.tell(hours, "snapshot", position="p", holdings={"BTC": "0.1"}, claimable={})
    life.flow(50, "p", "deposit", "BTC", "0.01")
    life.tell(51, "snapshot", position="p", holdings={"BTC": "0.11"}, claimable={})
    life.until(96)
    days, week = days_and_week(life)
    assert [day.pnl.total for day in days] == approx([0, 0, 0, 0])
    assert [day.equity[-1].equity for day in days] == approx([10000] * 4)
    assert (week.pnl.total, week.equity[-1].equity) == approx((0, 10000))
    assert life.position("p").final_pnl == approx(0)


@pytest.mark.parametrize("held", ["0.1", "0.1002", "0.2"])
def test_a_deposit_of_what_the_snapshots_showed_already_names_it_and_adds_nothing(
    life: Life, held: str
) -> None:
    """0.1 BTC by a snapshot, then the deposit of 0.1 is told: there are 0.1 inside (or 0.1002: 12 of interest).

    Where the next snapshot shows 0.2 it was a second one after all, put in when it was seen.
    """
    life.marks("BTC", [60000] * 97)
    life.tell(0, "equity", balances={"USDC": 20000})
    life.open(20, "p", "lending", instrument="BTC")
    life.tell(20.5, "snapshot", position="p", holdings={"BTC": "0.1"})
    life.flow(30, "p", "deposit", "BTC", "0.1")
    life.tell(50, "snapshot", position="p", holdings={"BTC": held})
    life.until(96)
    days, week = days_and_week(life)
    earned = 12 if held == "0.1002" else 0
    assert [day.pnl.total for day in days] == approx([0, 0, earned, 0])
    assert components(week.pnl) == approx({"lending_interest_earned": earned} if earned else {})
    assert week.equity[-1].equity == approx(20000 + earned)


# every fee once


@pytest.mark.parametrize("funded", [{}, {"funded_with": {"USDC": "2000"}}])
def test_a_fee_in_a_third_asset_is_a_cost_whatever_pays_for_the_entry(
    life: Life, funded: dict[str, Any]
) -> None:
    """In and out at 2,000, 0.02 BNB at 500 each time: -20, all of it the position's."""
    life.marks("ETH", [2000] * 97)
    life.marks("BNB", [500] * 97)
    life.tell(0, "equity", balances={"USDC": 10000, "BNB": 10})
    life.open(5, "p", **funded)
    life.fill(5, "p", "buy", 1, 2000, fee="0.02", fee_asset="BNB")
    life.fill(30, "p", "sell", 1, 2000, fee="0.02", fee_asset="BNB")
    life.until(96)
    week = life.week()
    assert week.equity[-1].equity == approx(14980)
    assert components(week.pnl) == approx({"trading_losses": 20})
    assert life_of(week, "p").final_pnl == approx(-20)
    assert [life.day(d).pnl.total for d in range(2)] == approx([-10, -10])


def test_a_rebate_in_a_third_asset_of_a_funded_entry_is_a_gain(life: Life) -> None:
    life.marks("ETH", [2000] * 48)
    life.marks("BNB", [500] * 48)
    life.tell(0, "equity", balances={"USDC": 10000, "BNB": 10})
    life.open(5, "p", funded_with={"USDC": "1990", "BNB": "0.02"})
    life.fill(5, "p", "buy", 1, 2000, fee="-0.01", fee_asset="BNB")
    life.fill(30, "p", "sell", 1, 2000)
    life.until(47)
    document = life.week()
    assert document.equity[-1].equity == approx(15000 + 5)
    assert life_of(document, "p").final_pnl == approx(5)


# interest on spot and perp


@pytest.mark.parametrize(
    ("kind", "quantity", "line", "pnl"),
    [
        ("borrow_interest", "0.5", "borrow_interest", 34.5),
        ("interest", "0.5", "lending_interest_earned", 35.5),
        ("reward", "2", "staking_rewards", 37),
    ],
)
@pytest.mark.parametrize("traded", ["spot", "perp"])
def test_interest_on_a_trade_is_its_income_or_cost_and_makes_it_no_less_believable(
    life: Life, kind: str, quantity: str, line: str, pnl: float, traded: str
) -> None:
    """Sold short at 1,995, bought back at 1,960: 35, and what its margin earned or cost on the way."""
    life.market("ETH/USDC", {h: 2000 - h for h in range(97)})
    life.tell(0, "equity", balances={"USDC": 10000})
    life.open(5, "p", traded, instrument="ETH/USDC", side="short")
    life.fill(5, "p", "sell", 1, 1995)
    life.tell(5, "decision", action="enter", position="p", cites=["H-1"], reasoning="")
    life.flow(20, "p", kind, "USDC", quantity)
    life.fill(40, "p", "buy", 1, 1960)
    life.until(96)
    week = life.week()
    p = life_of(week, "p")
    assert (p.flags, p.final_pnl, p.exit_price) == ([], approx(pnl), approx(1960))
    assert getattr(p.attribution, line) == approx(abs(pnl - 35))
    assert week.pnl.implausible_pnl == 0
    assert (week.effectiveness.closed_positions, row_of(week, "H-1").evaluated_count) == (1, 1)
    assert week.pnl.total == approx(pnl)


def test_interest_without_marks_makes_a_trade_no_less_believable(life: Life) -> None:
    life.open(5, "p", side="short")
    life.fill(5, "p", "sell", 1, 1995)
    life.flow(20, "p", "borrow_interest", "USDC", "0.5")
    life.fill(40, "p", "buy", 1, 1960)
    life.until(96)
    p = life_of(life.week(), "p")
    assert "implausible" not in p.flags
    assert p.final_pnl == approx(34.5)


# against holding


@pytest.mark.parametrize("kind", ["staking", "lending"])
def test_adding_to_a_position_is_no_gain_over_holding(life: Life, kind: str) -> None:
    """0.1 ETH at 2,000, 10 more at 2,000, 2 more at 2,100, all at 2,200 in the end; 0.5 ETH of rewards on top."""
    life.marks("ETH", {0: 2000, 20: 2000, 40: 2100, 60: 2200, 96: 2200})
    life.open(1, "p", kind, instrument="ETH")
    life.flow(1, "p", "deposit", "ETH", "0.1")
    life.flow(21, "p", "deposit", "ETH", 10)
    life.flow(41, "p", "deposit", "ETH", 2)
    life.flow(61, "p", "reward" if kind == "staking" else "interest", "ETH", "0.5")
    life.flow(70, "p", "withdrawal", "ETH", "12.6")
    life.tell(70, "exit", position="p")
    life.until(96)
    p = life.position("p")
    assert p.final_pnl == approx(10.1 * 200 + 2 * 100 + 0.5 * 2200)
    assert p.vs_hold == approx(0.5 * 2200)


def test_adding_to_a_pool_is_no_gain_over_holding(life: Life) -> None:
    """1 ETH and 2,000 USDC by snapshots, then as much again; the pool keeps its tokens, so nothing beats holding them."""
    life.marks("ETH", {0: 2000, 20: 2100, 40: 2200, 96: 2200})
    life.open(1, "p", "lp", instrument="ETH/USDC", token0="ETH", token1="USDC", lower=1000, upper=4000)
    for hours, held in ((1, 1), (21, 2)):
        life.flow(hours, "p", "deposit", "ETH", 1)
        life.flow(hours, "p", "deposit", "USDC", 2000)
        life.tell(hours, "snapshot", position="p", holdings={"ETH": held, "USDC": 2000 * held}, claimable={})
    life.flow(70, "p", "withdrawal", "ETH", 2)
    life.flow(70, "p", "withdrawal", "USDC", 4000)
    life.tell(70, "exit", position="p")
    life.until(96)
    p = life.position("p")
    assert (p.final_pnl, p.vs_hold) == approx((200 + 100, 0))


# what settles at the exit belongs to everything after it


@pytest.mark.parametrize("hours", [30, 20, 30.5])
@pytest.mark.parametrize(("kind", "signed"), [("funding_received", 5), ("funding_paid", -5)])
def test_funding_belongs_to_what_holding_on_would_have_made(
    life: Life, hours: float, kind: str, signed: int
) -> None:
    """The price never moves; funding of 5 comes at the exit, before it, or is posted half an hour after."""
    life.market("ETH/USDC:USDC", [2000] * 97)
    life.open(5, "p", "perp")
    life.fill(5, "p", "buy", 1, 2000, fee=1)
    life.flow(hours, "p", kind, "USDC", 5)
    life.fill(30, "p", "sell", 1, 2000, fee=1)
    life.until(96)
    p = life.position("p")
    assert p.final_pnl == approx(signed - 2)
    assert (p.hold_on, p.left_on_table, p.left_on_table_capped) == approx((0, 0, 0))
    assert [point.pnl for point in p.post_exit_trajectory] == approx([signed - 2] * 4)


@pytest.mark.parametrize("kind", ["interest", "borrow_interest"])
def test_interest_that_accrues_at_the_exit_would_have_come_all_the_same(life: Life, kind: str) -> None:
    life.market("ETH/USDC", {h: 2000 + max(0, h - 30) for h in range(97)})
    life.open(5, "p")
    life.fill(5, "p", "buy", 1, 2000)
    life.flow(30, "p", kind, "USDC", 3)
    life.fill(30, "p", "sell", 1, 2000)
    life.until(96)
    p = life.position("p")
    assert p.final_pnl == approx(3 if kind == "interest" else -3)
    assert (p.hold_on, p.left_on_table) == approx((25, 25))


def test_the_page_and_the_audit_agree_about_an_exit_with_funding(life: Life) -> None:
    life.market("ETH/USDC:USDC", {h: 2000 + h for h in range(97)})
    life.open(5, "p", "perp")
    life.fill(5, "p", "buy", 2, 2005)
    life.fill(30, "p", "sell", 2, 2030)
    life.flow(30, "p", "funding_paid", "USDC", 7)
    life.tell(30, "decision", action="exit", position="p", cites=["H-9"], reasoning="")
    life.until(96)
    document = life.week()
    assert life_of(document, "p").hold_on == approx(50)
    assert row_of(document, "H-9", "exit").associated_pnl == approx(-50)


def test_days_add_up_to_their_week_in_every_case_above(life: Life) -> None:
    """All of them in one life."""
    life.market("ETH/USDC", {h: 2000 + (h * 37 % 23) for h in range(WEEK + 1)})
    life.market("BNB/USDC", {h: 500 + (h * 17 % 11) for h in range(WEEK + 1)})
    life.market("BTC/USDC", {h: 60000 + 10 * (h * 13 % 29) for h in range(WEEK + 1)})
    life.tell(0, "equity", balances={"USDC": 50000, "BNB": 10})
    life.open(20, "s", "lending", instrument="BTC")
    for hours, held in ((24, "0.1"), (48, "0.1"), (60, "0.1001"), (96, "0.12"), (120, "0.1201")):
        life.tell(hours, "snapshot", position="s", holdings={"BTC": held}, claimable={})
    life.flow(72, "s", "deposit", "BTC", "0.0198")
    life.open(5, "f", funded_with={"USDC": "2000"})
    life.fill(5, "f", "buy", 1, 2005, fee="0.02", fee_asset="BNB")
    life.flow(48, "f", "interest", "ETH", "0.01")
    life.fill(100, "f", "sell", 1, 2010, fee="0.02", fee_asset="BNB")
    life.until(WEEK)
    week, days = life.week().pnl, [life.day(d).pnl for d in range(7)]
    for name in ("total", "trading_gains", "trading_losses", "unrealized_pnl", "lending_interest_earned"):
        assert getattr(week, name) == fsum(getattr(day, name) for day in days), name
    assert DAY * 7 == WEEK
