"""Balances count what was borrowed and cannot say that it was: a debt makes nobody richer than its events.

Each is worked by hand. Hours count from a Monday, 2026-01-05. ETH is at 2,000, BTC at 60,000 and from Wednesday at 66,000.
"""

from __future__ import annotations

from tests.definitions.sums.parts import totals
from tests.worlds.oracle import Life, approx, life

__all__ = ["life"]


def borrower(life: Life) -> None:
    """10,000 USDC and 2 ETH, these lent out as collateral."""
    life.marks("ETH", {0: 2000, 90: 2000})
    life.marks("BTC", {0: 60000, 50: 66000, 90: 66000})
    life.tell(0, "equity", balances={"USDC": 10000, "ETH": 2})
    life.open(5, "l", "lending", instrument="ETH")
    life.flow(5, "l", "deposit", "ETH", 2)


def test_borrowed_money_in_the_wallet_is_no_gain(life: Life) -> None:
    """1,000 USDC of credit on Monday, 10 of interest on Tuesday, all paid back on Wednesday."""
    borrower(life)
    life.flow(10, "l", "withdrawal", "USDC", 1000)
    life.tell(20, "equity", balances={"USDC": 11000, "ETH": 2})
    life.flow(30, "l", "borrow_interest", "USDC", 10)
    life.tell(40, "equity", balances={"USDC": 11000, "ETH": 2})
    life.flow(60, "l", "deposit", "USDC", 1010)
    life.tell(80, "equity", balances={"USDC": 9990, "ETH": 2})
    life.until(96)
    assert [life.day(day).pnl.unattributed for day in range(4)] == approx([0, 0, 0, 0])
    assert totals(life) == approx([0, -10, 0, 0])
    assert [edge.equity for edge in life.week().equity[1:5]] == approx([14000, 13990, 13990, 13990])


def test_borrowed_coins_that_stay_in_the_wallet_are_no_gain(life: Life) -> None:
    """0.1 BTC of credit, which the balances show: it rises by 600 in the wallet and in the debt alike."""
    borrower(life)
    life.flow(10, "l", "withdrawal", "BTC", "0.1")
    for hours in (20, 70):
        life.tell(hours, "equity", balances={"USDC": 10000, "ETH": 2, "BTC": "0.1"})
    life.until(96)
    assert [life.day(day).pnl.unattributed for day in range(4)] == approx([0, 0, 0, 0])
    assert totals(life) == approx([0, 0, 0, 0])
    assert life.week().pnl.wallet_pnl == approx(600)
    assert life.week().equity[-1].equity == approx(14000)


def test_what_a_short_was_sold_for_is_no_gain(life: Life) -> None:
    """0.1 BTC sold at 60,000 that had to be borrowed: 6,000 more in the wallet, and a debt that grows by 600."""
    borrower(life)
    life.open(10, "s", side="short", instrument="BTC/USDC")
    life.fill(10, "s", "sell", "0.1", 60000)
    for hours in (20, 70):
        life.tell(hours, "equity", balances={"USDC": 16000, "ETH": 2})
    life.until(96)
    assert [life.day(day).pnl.unattributed for day in range(4)] == approx([0, 0, 0, 0])
    assert totals(life) == approx([0, 0, -600, 0])


def test_credit_of_before_the_first_balances_is_no_capital(life: Life) -> None:
    """Nothing is known of the wallet until 11,000 USDC, 1,000 of them borrowed, and 2 ETH are shown: 14,000 - 4,000."""
    life.marks("ETH", {0: 2000, 90: 2000})
    life.open(5, "l", "lending", instrument="ETH")
    life.flow(5, "l", "deposit", "ETH", 2)
    life.flow(10, "l", "withdrawal", "USDC", 1000)
    life.tell(20, "equity", balances={"USDC": 11000, "ETH": 2})
    life.until(96)
    assert [edge.equity for edge in life.week().equity[1:5]] == approx([14000] * 4)
    assert totals(life) == approx([0, 0, 0, 0])
