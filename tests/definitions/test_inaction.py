"""Funding, fees, lots and doing nothing against the definitions: spot, shorts, perps, crossing zero, other currencies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worlds.oracle import Life, approx, closes, components, fifo, life, life_of

__all__ = ["life"]


LADDER = [
    (1, "buy", 2, 100, 0.2),
    (3, "buy", 1, 130, 0.1),
    (25, "sell", 1, 120, 0.3),
    (49, "sell", 2, 110, 0.4),
]


@pytest.mark.parametrize(
    ("method", "gains", "losses"),
    [
        # 1 of the first lot (100.1), then one at 100.1 and one at 130.1
        ("fifo", [0, 120 - 0.3 - 100.1, 0], [0, 0, 100.1 + 130.1 - 220 + 0.4]),
        # 330.3 / 3 = 110.1 each
        ("average", [0, 120 - 0.3 - 110.1, 0], [0, 0, 2 * 110.1 - 220 + 0.4]),
    ],
)
def test_the_lot_method_splits_gains_from_losses_and_leaves_the_net(
    tmp_path: Path, method: str, gains: list[float], losses: list[float]
) -> None:
    life = Life(tmp_path, retrospective={"lot_method": method})
    life.marks("ETH", {0: 100, 24: 125, 48: 115, 72: 110})
    life.open(1, "p")
    for hours, side, quantity, price, fee in LADDER:
        life.fill(hours, "p", side, quantity, price, fee=fee)
    life.until(72)
    days = [life.day(d).pnl for d in range(3)]
    assert [d.trading_gains for d in days] == approx(gains)
    assert [d.trading_losses for d in days] == approx(losses)
    assert [d.total for d in days] == approx([3 * 125 - 330.3, 120 - 0.3 + 230 - 375, 220 - 0.4 - 230])
    assert [d.unrealized_pnl_end for d in days][-1] == approx(0)
    assert life.week().pnl.total == approx(340 - 330 - 1.0)
    assert life.week().pnl.trading_fees == approx(1.0)


def test_a_fill_that_crosses_zero_closes_then_opens(life: Life) -> None:
    """Long 1 at 100, sell 3 at 110 (fee 0.9), buy 2 at 105: 1 closed, short 2, closed."""
    life.marks("ETH", {0: 100, 4: 104, 10: 105, 12: 100})
    life.open(0, "p", "perp")
    life.fill(0, "p", "buy", 1, 100, fee=0.1)
    life.fill(2, "p", "sell", 3, 110, fee=0.9)
    life.fill(10, "p", "buy", 2, 105, fee=0.2)
    life.until(24)
    realised = fifo([(1, 100, 0.1), (-3, 110, 0.9), (2, 105, 0.2)])
    assert realised == approx([10 - 0.1 - 0.3, 10 - 0.6 - 0.2])
    p = life_of(life.day(0), "p")
    assert p.final_pnl == approx(sum(realised))
    assert p.attribution.trading_gains == approx(sum(realised))
    assert [c.pnl for c in p.pnl_trajectory][1] == approx(10 - 1 + 2 * (110 - 104))
    assert not p.open


def test_a_losing_side_and_a_gaining_side_of_one_crossing_life(life: Life) -> None:
    life.open(0, "p", "perp", side="short")
    trades = [(-2, 100, 0.0), (5, 104, 0.5), (-3, 101, 0.3)]
    life.fill(0, "p", "sell", 2, 100)
    life.fill(2, "p", "buy", 5, 104, fee=0.5)
    life.fill(4, "p", "sell", 3, 101, fee=0.3)
    life.until(5)
    realised = fifo(trades)
    assert realised == approx([-8 - 0.2, -9 - 0.3 - 0.3])
    pnl = life.position("p").attribution
    assert (pnl.trading_gains, pnl.trading_losses) == approx((0, -sum(realised)))


def test_fees_enter_basis_and_proceeds_in_every_currency(life: Life) -> None:
    """The fee in USDC, in the coin bought, in the coin sold, in BNB held, in BNB not held, and a rebate."""
    life.marks("ETH", {0: 100, 1: 100, 2: 110, 24: 110})
    life.marks("BNB", {0: 300, 1: 310, 2: 320, 24: 320})
    life.tell(0, "equity", balances={"USDC": 1000, "BNB": "0.001"}, value="1000.3")
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 100, fee="0.001", fee_asset="BNB")
    life.fill(2, "p", "sell", 1, 110, fee="0.001", fee_asset="BNB")
    life.until(24)
    document = life.day(0)
    p = life_of(document, "p")
    assert p.final_pnl == approx(10 - 0.31 - 0.32)
    # the BNB burnt first was opened at 300: its own gain of 0.01 is the wallet's; the second is bought at its mark
    assert document.pnl.total == approx(10 - 0.31 - 0.32 + 0.01)
    assert document.equity[-1].equity == approx(1000 + 10 - 0.32)
    assert document.pnl.trading_fees == approx(0.63)


def test_a_rebate_is_a_negative_fee(life: Life) -> None:
    life.marks("ETH", {0: 100, 2: 110})
    life.open(0, "p")
    life.fill(0, "p", "buy", 1, 100, fee="-0.05")
    life.fill(2, "p", "sell", 1, 110, fee="-0.06")
    life.until(3)
    p = life.position("p")
    assert p.final_pnl == approx(10.11)
    assert p.attribution.trading_gains == approx(10.11)
    assert p.attribution.trading_fees == approx(-0.11)


def test_a_fee_in_the_coin_sold_is_taken_besides(life: Life) -> None:
    """Selling 1 ETH with 0.01 ETH charged: 1.01 ETH leave, in base currency 1 x 110 comes."""
    life.marks("ETH", {0: 100, 2: 110, 24: 110})
    life.tell(0, "equity", balances={"USDC": 1000, "ETH": 1}, value=1100)
    life.open(0, "p")
    life.fill(0, "p", "buy", 1, 100)
    life.fill(2, "p", "sell", 1, 110, fee="0.01", fee_asset="ETH")
    life.until(24)
    document = life.day(0)
    assert life_of(document, "p").final_pnl == approx(10 - 1.1)
    assert document.pnl.total == approx(10 - 1.1 + 10)


def test_a_quote_that_is_not_the_base_currency(life: Life) -> None:
    """1 ETH for 0.05 BTC at BTC 50,000; sold for 0.06 BTC at BTC 40,000; fee in BTC."""
    life.marks("BTC", {0: 50000, 2: 40000, 24: 40000})
    life.market("ETH/BTC", {0: 0.05, 1: 0.055, 2: 0.06, 24: 0.06})
    life.open(0, "p", instrument="ETH/BTC")
    life.fill(0, "p", "buy", 1, 0.05, fee="0.0001")
    life.fill(2, "p", "sell", 1, 0.06, fee="0.0001")
    life.until(24)
    p = life_of(life.day(0), "p")
    assert p.final_pnl == approx(0.0599 * 40000 - 0.0501 * 50000)
    assert p.pnl_trajectory[0].pnl == approx(0.055 * 50000 - 0.0501 * 50000)
    assert life.day(0).pnl.trading_losses == approx(0.0501 * 50000 - 0.0599 * 40000)


def test_a_perp_with_funding_on_both_sides_of_midnight(life: Life) -> None:
    """Funding settles at once and is part of the path; a deposit it is not."""
    life.marks("ETH", {0: 100, 8: 102, 24: 104, 32: 103, 40: 101})
    life.open(0, "p", "perp", side="short", risk=5)
    life.fill(0, "p", "sell", 3, 100, fee="0.3")
    life.flow(8, "p", "funding_received", "USDC", "0.6")
    life.flow(32, "p", "funding_paid", "USDC", "0.2")
    life.fill(40, "p", "buy", 3, 101, fee="0.3")
    life.until(48)
    first, second = life.day(0).pnl, life.day(1).pnl
    assert components(first) == approx({"funding": 0.6, "unrealized_pnl": -12 - 0.3})
    assert components(second) == approx({"funding": -0.2, "trading_losses": 3.6, "unrealized_pnl": 12.3})
    p = life.position("p")
    assert p.final_pnl == approx(-3 - 0.6 + 0.4)
    assert p.pnl_trajectory[0].pnl == approx(-0.3)
    # at 24 h: short 3 from 100 at 104, and 0.6 received
    assert p.pnl_trajectory[2].pnl == approx(-12 - 0.3 + 0.6)
    assert p.vs_inaction == approx(p.final_pnl)


def test_funding_at_the_instant_of_the_close_and_of_the_boundary(life: Life) -> None:
    life.marks("ETH", {0: 100, 24: 100, 30: 100})
    life.open(0, "p", "perp")
    life.fill(0, "p", "buy", 1, 100)
    life.flow(24, "p", "funding_paid", "USDC", 1)
    life.flow(30, "p", "funding_received", "USDC", 3)
    life.fill(30, "p", "sell", 1, 100)
    life.until(48)
    assert [life.day(d).pnl.funding for d in (0, 1)] == [0, 2]
    assert life.position("p").final_pnl == approx(2)


def test_funding_in_the_coin_is_valued_at_its_mark(life: Life) -> None:
    life.marks("ETH", {0: 100, 8: 110, 24: 110})
    life.open(0, "p", "perp")
    life.fill(0, "p", "buy", 1, 100)
    life.flow(8, "p", "funding_received", "ETH", "0.01")
    life.flow(9, "p", "funding_received", "ETH", "0.01", value="2")
    life.until(24)
    assert life.day(0).pnl.funding == approx(1.1 + 2)


def test_doing_nothing_with_eth_that_was_given_up(life: Life) -> None:
    """0.06 BTC bought with 1 ETH (at 2000 against 50,000): the fills settle in base currency, the ETH leaves instead."""
    life.marks("ETH", {0: 2000, 10: 2200, 12: 2200})
    life.marks("BTC", {0: 50000, 10: 51000, 12: 51000})
    life.tell(0, "equity", balances={"ETH": 3, "USDC": 5000}, value=11000)
    life.open(0, "p", instrument="BTC/USDC", funded_with={"ETH": 1})
    life.fill(0, "p", "buy", "0.04", 50000)
    life.fill(10, "p", "sell", "0.04", 51000)
    life.until(24)
    document = life.day(0)
    p = life_of(document, "p")
    assert p.final_pnl == approx(40)
    assert p.vs_inaction == approx(40 - 200)
    assert p.vs_cash == approx(40)
    # 2 ETH are left and rise by 200 each; the one given up went at 2000, which was its basis
    assert document.pnl.total == approx(40 + 400)
    assert document.equity[-1].equity == approx(2 * 2200 + 5000 + 2040)


def test_two_tokens_given_up(life: Life) -> None:
    life.marks("ETH", {0: 2000, 10: 2100})
    life.marks("ARB", {0: 1, 10: 2})
    life.open(0, "s", "staking", instrument="ETH", funded_with={"ETH": "0.5", "ARB": 1000})
    life.flow(0, "s", "deposit", "ETH", 1)
    life.flow(10, "s", "withdrawal", "ETH", 1)
    life.tell(10, "exit", position="s")
    life.until(24)
    p = life.position("s")
    assert p.final_pnl == approx(100)
    assert p.vs_inaction == approx(100 - (50 + 1000))


def test_entry_slippage_is_a_trading_loss_of_the_position(life: Life) -> None:
    """1.01 ETH given up for a deposit of 1 ETH: 20 lost at once."""
    life.marks("ETH", {0: 2000, 10: 2100, 24: 2100})
    life.tell(0, "equity", balances={"ETH": 2}, value=4000)
    life.open(0, "s", "staking", instrument="ETH", funded_with={"ETH": "1.01"})
    life.flow(0, "s", "deposit", "ETH", 1)
    life.until(24)
    document = life.day(0)
    p = life_of(document, "s")
    assert p.final_pnl == approx(100 - 20)
    assert p.attribution.trading_losses == approx(20)
    assert p.vs_inaction == approx(80 - 1.01 * 100)
    assert document.pnl.total == approx(0.99 * 100 + 80)
    assert closes(document.pnl) < 1e-9


def test_a_favourable_exchange_at_entry_is_negative_slippage(life: Life) -> None:
    life.marks("ETH", {0: 2000, 10: 2000})
    life.open(0, "s", "staking", instrument="ETH", funded_with={"USDC": 1990})
    life.flow(0, "s", "deposit", "ETH", 1)
    life.until(10)
    p = life.position("s")
    assert p.final_pnl == approx(10)
    assert closes(p.attribution) < 1e-9


def test_cash_given_up_is_worth_what_it_was(life: Life) -> None:
    life.marks("ETH", {0: 100, 4: 103})
    life.trade("p", (0, 100), (4, 103), funded_with={"USDC": 100})
    life.trade("even", (0, 100), (4, 100))
    life.until(24)
    p = life.position("p")
    assert (p.vs_inaction, p.vs_cash, p.vs_hold) == (approx(3), approx(3), None)
    assert life.position("even").vs_inaction == 0
    assert life.day(0).effectiveness.inaction_superiority_rate == 0  # exactly 0 is not inferior


def test_slippage_is_a_memo_against_the_mark_at_the_decision(life: Life) -> None:
    """Decided at 1 o'clock (mark 100), bought at 100.5 and sold at 110 against a mark of 111."""
    life.marks("ETH", {0: 99, 1: 100, 2: 101, 5: 111, 6: 112})
    life.open(2, "p")
    life.tell(1, "decision", action="enter", position="p", reasoning="go")
    life.fill(2, "p", "buy", 2, 100.5)
    life.tell(5, "decision", action="exit", position="p", reasoning="out")
    life.fill(6, "p", "sell", 2, 110)
    life.until(7)
    p = life.position("p")
    assert p.attribution.slippage == approx(2 * 0.5 - 2 * (110 - 111))
    assert p.final_pnl == approx(19)
    assert life.day(0).pnl.slippage == approx(3)


def test_slippage_knows_which_side_a_fill_was_through_zero(life: Life) -> None:
    """Decided at 100 throughout: bought 1 at 101, sold 3 at 99, bought 2 at 102."""
    life.market("ETH/USDC", dict.fromkeys(range(10), 100))
    life.open(0, "p", "perp")
    for hours, side, quantity, price in ((0, "buy", 1, 101), (2, "sell", 3, 99), (4, "buy", 2, 102)):
        life.tell(hours, "decision", action="adjust", position="p", reasoning="now")
        life.fill(hours, "p", side, quantity, price)
    life.until(5)
    assert life.position("p").attribution.slippage == approx(1 + 3 + 4)


def test_a_stop_that_nobody_decided_has_no_slippage(life: Life) -> None:
    """Entered at 101 against 100, held, and stopped out at 80 while the last decision is the hold at 90."""
    life.market("ETH/USDC", {0: 100, 5: 90, 6: 85})
    life.open(1, "p")
    life.tell(1, "decision", action="enter", position="p", reasoning="go")
    life.fill(1, "p", "buy", 1, 101)
    life.tell(5, "decision", action="hold", position="p", reasoning="it will come back")
    life.fill(7, "p", "sell", 1, 80)
    life.until(8)
    assert life.position("p").attribution.slippage == approx(1)


def test_an_order_filled_in_pieces_was_funded_once(life: Life) -> None:
    """1,000 USDC given up; half filled at 100, half two seconds later at 100; an increase the next day is cash."""
    life.market("ETH/USDC", dict.fromkeys(range(72), 100))
    life.tell(0, "equity", balances={"USDC": 5000}, value=5000)
    life.open(1, "p", funded_with={"USDC": 1000})
    life.fill(1, "p", "buy", 5, 100)
    life.fill(1 + 2 / 3600, "p", "buy", 5, 100)
    life.fill(30, "p", "buy", 2, 100)
    life.fill(50, "p", "sell", 12, 101)
    life.until(72)
    week = life.week()
    assert life_of(week, "p").final_pnl == approx(12)
    assert components(week.pnl) == approx({"trading_gains": 12})
    assert life.day(0).equity[-1].equity == approx(5000)
    assert week.equity[3].equity == approx(5012)


@pytest.mark.parametrize("side", ["long", "short"])
def test_open_positions_are_in_no_rate(life: Life, side: str) -> None:
    life.market("ETH/USDC", {0: 100, 5: 100, 24: 150, 30: 500})
    life.open(0, "p", "perp", side=side)
    life.fill(0, "p", "buy" if side == "long" else "sell", 1, 100)
    life.until(24)
    document = life.day(0)
    assert document.effectiveness.inaction_superiority_rate is None
    assert document.effectiveness.closed_positions == 0
    assert life_of(document, "p").vs_inaction == approx(50 if side == "long" else -50)
