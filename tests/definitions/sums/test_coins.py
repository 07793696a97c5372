"""Coins that came out of a position: which of them lie in the wallet when balances are stated, beside open positions."""

from __future__ import annotations

from math import fsum
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.lives import report
from tests.worlds.oracle import (
    DAY,
    Life,
    approx,
    clock,
    closes,
    documents,
    instant,
    life,
    life_of,
    told_in_parts,
)

__all__ = ["life"]

SHOWN = 40


def loan_repaid(life: Any) -> None:
    """1 ETH of 10,000 USDC lent at 2,000 and out again at 2,000, nothing said of what became of it; ETH ends at 2,400."""
    life.marks("ETH", {0: 2000, 50: 2400})
    life.tell(0, "equity", balances={"USDC": 10000})
    life.open(10, "l", "lending", instrument="ETH")
    life.flow(10, "l", "deposit", "ETH", 1)
    life.flow(30, "l", "withdrawal", "ETH", 1)
    life.tell(30, "exit", position="l")


def bought(life: Any) -> None:
    life.open(5, "s")
    life.fill(5, "s", "buy", 2, 2000)


def lent(life: Any) -> None:
    """Half of it a claim that nobody has taken out, worth nothing more when it came than what was told of it."""
    life.open(5, "s", "lending", instrument="ETH")
    life.flow(5, "s", "deposit", "ETH", 1)
    life.flow(6, "s", "interest", "ETH", 1)


def pooled(life: Any) -> None:
    """Full range: 2 ETH and 4,000 USDC at 2,000."""
    life.open(5, "s", "lp", instrument="ETH/USDC", token0="ETH", token1="USDC")
    life.flow(5, "s", "deposit", "ETH", 2)
    life.flow(5, "s", "deposit", "USDC", 4000)


def shorted(life: Any) -> None:
    life.open(5, "s", side="short")
    life.fill(5, "s", "sell", 2, 2000)


def swapped(life: Any) -> None:
    """A perp of 2 ETH is a bet on coins, and holds none."""
    life.open(5, "s", "perp")
    life.fill(5, "s", "buy", 2, 2000)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(
    ("position", "shown", "stayed", "made"),
    [
        (bought, {"USDC": 6000, "ETH": 2}, 0, 800),
        (bought, {"USDC": 5000, "ETH": "2.5"}, 0.5, 800),
        (bought, {"USDC": 4000, "ETH": 3}, 1, 800),
        (bought, {"USDC": 2000, "ETH": 4}, 1, 800),
        (lent, {"USDC": 8000, "ETH": 2}, 0, 2800),
        (lent, {"USDC": 6000, "ETH": 3}, 1, 2800),
        (pooled, {"USDC": 6000, "ETH": 2}, 0, 8000 * (1.2**0.5 - 1)),
        (pooled, {"USDC": 4000, "ETH": 3}, 1, 8000 * (1.2**0.5 - 1)),
        (shorted, {"USDC": 14000, "ETH": 0}, 0, -800),
        (shorted, {"USDC": 12000, "ETH": 1}, 1, -800),
        (swapped, {"USDC": 10000}, 0, 800),
        (swapped, {"USDC": 8000, "ETH": 1}, 1, 800),
    ],
)
def test_coins_that_an_open_position_holds_did_not_stay_in_the_wallet(
    tmp_path: Path, position: Any, shown: Any, stayed: float, made: float, cut: bool, zone: str
) -> None:
    """The position moves with its market, of the wallet only what balances show beyond it, 400 an ETH."""
    life = Life(tmp_path, owner={"time_zone": zone})
    loan_repaid(life)
    position(life)
    life.tell(SHOWN, "equity", balances=shown)
    life.until(96)
    early = [event for event in life.events if event["at"] < clock(SHOWN) or event["type"] == "mark"]
    late = [event for event in life.events if event not in early]
    table = life.configuration
    store = told_in_parts(tmp_path, "w", *((early, late) if cut else (life.events,)), table=table)
    week = report(store, "a", "weekly", at=instant(84), configuration=table)
    days = [report(store, "a", "daily", at=instant(DAY * d), configuration=table) for d in range(5)]
    assert (week.pnl.total - (week.pnl.unattributed or 0), week.pnl.wallet_pnl) == approx(
        (made + 400 * stayed, 400 * stayed)
    )
    assert week.equity[-1].equity == approx(10000 + made + 400 * stayed)
    assert life_of(week, "s").period_pnl == approx(made)
    for name in ("total", "wallet_pnl", "unrealized_pnl"):
        assert getattr(week.pnl, name) == approx(fsum(getattr(day.pnl, name) for day in days)), name
    assert closes(week.pnl) == approx(0)


@pytest.mark.parametrize("cut", [False, True])
def test_balances_that_count_a_positions_coins_leave_nothing_unattributed(tmp_path: Path, cut: bool) -> None:
    """6,000 USDC and the 2 ETH of the position, stated twice: 10,000 at 2,000, 10,800 at 2,400, and nothing beyond."""
    life = Life(tmp_path)
    loan_repaid(life)
    bought(life)
    for hours in (SHOWN, 70):
        life.tell(hours, "equity", balances={"USDC": 6000, "ETH": 2})
    life.until(96)
    at = next(i for i, event in enumerate(life.events) if event["at"] == clock(SHOWN))
    store = told_in_parts(tmp_path, "w", *((life.events[:at], life.events[at:]) if cut else (life.events,)))
    pnl = report(store, "a", "weekly", at=instant(84)).pnl
    assert (pnl.total, pnl.wallet_pnl, pnl.unattributed) == approx((800, 0, 0))
    assert documents(store) == documents(told_in_parts(tmp_path, "whole", life.events))


def test_a_state_told_with_the_balances_says_what_of_them_is_inside(life: Life) -> None:
    """The loan has 1.5 ETH by a snapshot of the same instant, of the 2 ETH that are shown: 0.5 of 1 stayed."""
    loan_repaid(life)
    life.open(5, "s", "lending", instrument="ETH")
    life.flow(5, "s", "deposit", "ETH", 1)
    life.tell(SHOWN, "snapshot", position="s", holdings={"ETH": "1.5"}, claimable={})
    life.tell(SHOWN, "equity", balances={"USDC": 7000, "ETH": 2})
    life.until(96)
    week = life.week()
    assert week.pnl.wallet_pnl == approx(200)
    assert week.pnl.unattributed == approx(0)
    assert week.pnl.total == fsum(life.day(d).pnl.total for d in range(7))
