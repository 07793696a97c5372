"""Lending and staking against the definitions: interest told and untold, borrowing, rewards, slashing, gas in coin."""

from __future__ import annotations

from typing import Any

import pytest

from tests.worlds.oracle import Life, approx, clock, closes, components, life, life_of

__all__ = ["life"]


def test_told_interest_is_booked_where_it_accrues_and_the_rest_is_price(life: Life) -> None:
    """1 ETH lent at 2000; 0.01 ETH at 2100, 0.02 ETH at 1900; all out at 2050."""
    life.marks("ETH", {0: 2000, 10: 2100, 24: 2080, 30: 1900, 40: 2050})
    life.open(0, "l", "lending", instrument="ETH")
    life.flow(0, "l", "deposit", "ETH", 1)
    life.flow(10, "l", "interest", "ETH", "0.01")
    life.flow(30, "l", "interest", "ETH", "0.02")
    life.flow(40, "l", "withdrawal", "ETH", "1.03")
    life.tell(40, "exit", position="l")
    life.until(48)
    first, second = life.day(0).pnl, life.day(1).pnl
    assert components(first) == approx({"lending_interest_earned": 21, "unrealized_pnl": 80 - 0.2})
    price = 50 + 0.01 * -50 + 0.02 * 150
    assert components(second) == approx(
        {"lending_interest_earned": 38, "trading_gains": price, "unrealized_pnl": -79.8}
    )
    p = life_of(life.week(), "l")
    assert p.final_pnl == approx(1.03 * 2050 - 2000)
    assert p.vs_inaction == approx(p.final_pnl)
    assert p.vs_hold == approx(0.03 * 2050)
    assert p.vs_cash == approx(p.final_pnl)
    assert first.net_yield == approx(21)


def test_interest_stated_in_base_currency_needs_no_mark(life: Life) -> None:
    life.open(0, "l", "lending", instrument="AUSDC")
    life.flow(0, "l", "deposit", "AUSDC", 1000, value=1000)
    life.flow(10, "l", "interest", "AUSDC", 2, value="2.1")
    life.flow(20, "l", "withdrawal", "AUSDC", 1002, value="1002.3")
    life.tell(20, "exit", position="l")
    life.until(24)
    pnl = life.day(0).pnl
    assert pnl.total == approx(2.3)
    assert pnl.lending_interest_earned == approx(2.1)
    assert components(pnl) == approx({"lending_interest_earned": 2.1, "trading_gains": 0.2})


def test_untold_interest_is_the_growth_of_the_holdings_at_the_later_mark(life: Life) -> None:
    """1 ETH at 2000, 1.01 at 2100 (snapshot), 1.03 out at 2050."""
    life.marks("ETH", {0: 2000, 10: 2100, 24: 2080, 40: 2050})
    life.open(0, "l", "lending", instrument="ETH")
    life.flow(0, "l", "deposit", "ETH", 1)
    life.tell(10, "snapshot", position="l", holdings={"ETH": "1.01"})
    life.flow(40, "l", "withdrawal", "ETH", "1.03")
    life.tell(40, "exit", position="l")
    life.until(48)
    first, second = life.day(0).pnl, life.day(1).pnl
    assert components(first) == approx({"lending_interest_earned": 21, "unrealized_pnl": 80 - 0.2})
    assert components(second) == approx(
        {"lending_interest_earned": 0.02 * 2050, "trading_gains": 50 - 0.5, "unrealized_pnl": -79.8}
    )
    assert life.position("l").final_pnl == approx(1.03 * 2050 - 2000)


def test_a_stablecoin_lent_and_left_grows_by_its_snapshots(life: Life) -> None:
    life.open(0, "l", "lending", instrument="USDC")
    life.flow(0, "l", "deposit", "USDC", 1000)
    for day, balance in ((1, "1000.5"), (2, "1001.25"), (3, "1001.25")):
        life.tell(24 * day - 1, "snapshot", position="l", holdings={"USDC": balance})
    life.until(24 * 3)
    days = [life.day(d).pnl for d in range(3)]
    assert [d.lending_interest_earned for d in days] == approx([0.5, 0.75, 0])
    assert [d.total for d in days] == approx([0.5, 0.75, 0])
    assert life.position("l").final_pnl == approx(1.25)


def test_a_snapshot_on_the_boundary_tells_principal_to_the_day_before_it(life: Life) -> None:
    """The state at midnight takes the snapshot's holdings, not its claimable."""
    life.open(0, "l", "lending", instrument="USDC")
    life.flow(0, "l", "deposit", "USDC", 1000)
    life.tell(24, "snapshot", position="l", holdings={"USDC": 1003}, claimable={"USDC": 9})
    life.until(48)
    first, second = life.day(0).pnl, life.day(1).pnl
    assert (first.total, second.total) == approx((3, 9))
    assert life.week().pnl.total == approx(12)


def test_interest_that_snapshots_showed_first_is_not_counted_twice(life: Life) -> None:
    """Held 1,001 at 20 o'clock, told as interest of 1 at 22; then 1,002 the next day, told an hour later."""
    life.open(0, "l", "lending", instrument="USDC")
    life.flow(0, "l", "deposit", "USDC", 1000)
    life.tell(20, "snapshot", position="l", holdings={"USDC": 1001})
    life.flow(22, "l", "interest", "USDC", 1)
    life.tell(44, "snapshot", position="l", holdings={"USDC": 1002})
    life.flow(45, "l", "interest", "USDC", 1)
    life.flow(60, "l", "withdrawal", "USDC", 1002)
    life.tell(60, "exit", position="l")
    life.until(72)
    assert [life.day(d).pnl.total for d in range(3)] == approx([1, 1, 0])
    assert components(life.week().pnl) == approx({"lending_interest_earned": 2})
    assert life.position("l").final_pnl == approx(2)


def test_interest_told_first_and_then_seen_in_the_holdings_is_one(life: Life) -> None:
    life.open(0, "l", "lending", instrument="USDC")
    life.flow(0, "l", "deposit", "USDC", 1000)
    life.flow(10, "l", "interest", "USDC", 1)
    life.tell(11, "snapshot", position="l", holdings={"USDC": 1001})
    life.flow(20, "l", "withdrawal", "USDC", 1001)
    life.tell(20, "exit", position="l")
    life.until(24)
    assert components(life.day(0).pnl) == approx({"lending_interest_earned": 1})


def test_a_pot_emptied_and_filled_again_is_one_position(life: Life) -> None:
    """Everything out on Monday, 50 in on Tuesday, 51 out on Wednesday."""
    life.tell(0, "equity", balances={"USDC": 1000}, value=1000)
    life.open(0, "l", "lending", instrument="USDC")
    life.flow(0, "l", "deposit", "USDC", 100)
    life.flow(10, "l", "withdrawal", "USDC", 100)
    life.flow(30, "l", "deposit", "USDC", 50)
    life.flow(49, "l", "interest", "USDC", 1)
    life.flow(50, "l", "withdrawal", "USDC", 51)
    life.tell(50, "exit", position="l")
    life.until(4 * 24)
    assert [life.day(d).pnl.total for d in range(4)] == approx([0, 0, 1, 0])
    assert [e.equity for e in life.week().equity][1:4] == approx([1000, 1000, 1001])
    p = life.position("l")
    assert (p.final_pnl, p.open) == (approx(1), False)


def test_an_exit_told_before_its_withdrawals_pays_once(life: Life) -> None:
    """The exit is logged at 20 o'clock, the money comes at 20:00:05 and 20:00:09 (a little more than the marks say)."""
    life.market("ETH/USDC", dict.fromkeys(range(50), 2000))
    life.tell(0, "equity", balances={"USDC": 10000}, value=10000)
    life.open(1, "s", "staking", instrument="ETH")
    life.flow(1, "s", "deposit", "ETH", 2)
    life.tell(20, "exit", position="s", reason="out")
    life.flow(20 + 5 / 3600, "s", "withdrawal", "ETH", 1, value=2003)
    life.flow(20 + 9 / 3600, "s", "withdrawal", "ETH", 1, value=2004)
    life.until(30)
    document = life.day(0)
    p = life_of(document, "s")
    assert (p.final_pnl, p.open, p.exit_reason) == (approx(7), False, "out")
    assert document.equity[-1].equity == approx(10007)
    assert components(document.pnl) == approx({"trading_gains": 7})


def test_an_exit_told_before_its_last_fill_pays_once(life: Life) -> None:
    life.market("ETH/USDC", dict.fromkeys(range(50), 100))
    life.tell(0, "equity", balances={"USDC": 10000}, value=10000)
    life.open(1, "p")
    life.fill(1, "p", "buy", 2, 100)
    life.tell(20, "exit", position="p", reason="stop")
    life.fill(20.001, "p", "sell", 2, 98, fee="0.2")
    life.until(30)
    document = life.day(0)
    p = life_of(document, "p")
    assert (p.final_pnl, p.exit_price, p.open) == (approx(-4.2), 98, False)
    assert p.exit_at == clock(20.001)
    assert document.equity[-1].equity == approx(9995.8)
    assert components(document.pnl) == approx({"trading_losses": 4.2})


def test_an_exit_without_a_sale_leaves_at_the_mark(life: Life) -> None:
    life.market("ETH/USDC", {h: 100 + h for h in range(50)})
    life.open(1, "p")
    life.fill(1, "p", "buy", 2, 101)
    life.tell(20, "exit", position="p", reason="gone")
    life.until(30)
    p = life.position("p")
    assert (p.exit_at, p.final_pnl) == (clock(20), approx(38))
    assert any("quantity left" in warning for warning in life.day(0).data_quality.warnings)


def test_gas_for_a_position_that_never_came_into_being_is_a_cost(life: Life) -> None:
    """The transaction that would have opened it failed: its gas is paid, in base currency and in ETH."""
    life.market("ETH/USDC", {0: 2000, 48: 2000})
    life.tell(0, "equity", balances={"USDC": 100, "ETH": "0.1"}, value=300)
    life.tell(5, "cost", kind="gas", amount=3, position="never")
    life.tell(6, "cost", kind="gas", asset="ETH", quantity="0.001", position="never")
    life.until(60)
    document = life.day(0)
    assert components(document.pnl) == approx({"gas_costs": 5})
    assert document.costs.gas == approx(5)
    assert document.equity[-1].equity == approx(295)
    assert life.day(1).equity[-1].equity == approx(295)
    assert any("never" in warning for warning in document.data_quality.warnings)


def test_borrowing_costs_what_accrues(life: Life) -> None:
    """Interest owed in ETH at 2000 and in USDC; paid from the position's own deposit at the end."""
    life.marks("ETH", {0: 2000, 5: 2000, 24: 2100, 30: 2100})
    life.open(0, "l", "lending", instrument="USDC")
    life.flow(0, "l", "deposit", "USDC", 5000)
    life.flow(5, "l", "borrow_interest", "ETH", "0.001")
    life.flow(6, "l", "borrow_interest", "USDC", "1.5")
    life.until(30)
    first = life.day(0).pnl
    assert components(first) == approx({"borrow_interest": 2 + 1.5, "unrealized_pnl": -0.1})
    assert first.total == approx(-3.6)
    assert closes(first) < 1e-9


@pytest.mark.parametrize("claimable", [None, {}])
def test_a_loan_against_collateral(life: Life, claimable: dict[str, Any] | None) -> None:
    """1 ETH deposited, 500 USDC borrowed and taken out; 0.5 owed is told, then stands in the debt; repaid with 500.5."""
    life.market("ETH/USDC", {0: 2000, 10: 2000, 24: 2050, 40: 2100})
    life.tell(0, "equity", balances={"USDC": 10000}, value=10000)
    life.open(1, "l", "lending", instrument="ETH")
    life.flow(1, "l", "deposit", "ETH", 1)
    life.flow(2, "l", "withdrawal", "USDC", 500)
    life.flow(5, "l", "borrow_interest", "USDC", "0.5")
    fields = {} if claimable is None else {"claimable": claimable}
    life.tell(6, "snapshot", position="l", holdings={"ETH": 1}, debt={"USDC": "500.5"}, **fields)
    life.flow(40, "l", "deposit", "USDC", "500.5")
    life.flow(40, "l", "withdrawal", "ETH", 1)
    life.tell(40, "exit", position="l")
    life.until(48)
    first, second = life.day(0), life.day(1)
    assert components(first.pnl) == approx({"borrow_interest": 0.5, "unrealized_pnl": 50})
    assert first.equity[-1].equity == approx(10049.5)
    assert components(second.pnl) == approx({"trading_gains": 100, "unrealized_pnl": -50})
    assert life.position("l").final_pnl == approx(99.5)


def test_debt_that_grows_untold_is_borrowing_cost(life: Life) -> None:
    life.market("ETH/USDC", {0: 2000, 40: 2000})
    life.open(1, "l", "lending", instrument="ETH")
    life.flow(1, "l", "deposit", "ETH", 1)
    life.flow(2, "l", "withdrawal", "USDC", 500)
    life.tell(6, "snapshot", position="l", holdings={"ETH": 1}, debt={"USDC": "500.7"})
    life.until(24)
    assert components(life.day(0).pnl) == approx({"borrow_interest": 0.7})


def test_what_moves_between_holdings_and_claims_is_nobodys_pnl(life: Life) -> None:
    """0.1 ETH of the holdings becomes claimable at another price than it was lent at."""
    life.market("ETH/USDC", {0: 2000, 10: 2100, 24: 2100})
    life.open(0, "l", "lending", instrument="ETH")
    life.flow(0, "l", "deposit", "ETH", 1)
    life.tell(10, "snapshot", position="l", holdings={"ETH": "0.9"}, claimable={"ETH": "0.1"})
    life.until(24)
    p = life_of(life.day(0), "l")
    assert components(p.attribution) == approx({"unrealized_pnl": 100})
    assert p.final_pnl == approx(p.attribution.total)


def test_staking_with_a_slash(life: Life) -> None:
    """Rewards of 0.03 ETH, slashed by 0.05: negative rewards."""
    life.marks("ETH", {0: 2000, 10: 2100, 20: 1900, 24: 1950, 30: 2000})
    life.open(0, "s", "staking", instrument="ETH")
    life.flow(0, "s", "deposit", "ETH", 2)
    life.flow(10, "s", "reward", "ETH", "0.03")
    life.flow(20, "s", "slash", "ETH", "0.05")
    life.flow(30, "s", "withdrawal", "ETH", "1.98")
    life.tell(30, "exit", position="s")
    life.until(48)
    first, second = life.day(0).pnl, life.day(1).pnl
    assert first.staking_rewards == approx(63 - 95)
    assert first.total == approx(1.98 * 1950 - 4000)
    assert second.total == approx(1.98 * 50)
    p = life_of(life.week(), "s")
    assert p.final_pnl == approx(1.98 * 2000 - 4000)
    assert p.attribution.staking_rewards == approx(-32)
    assert p.attribution.total == approx(p.final_pnl)
    assert p.attribution.trading_gains - p.attribution.trading_losses == approx(-40 + 32)
    assert closes(first) < 1e-9


def test_rewards_of_another_asset_stay_inside_until_they_are_taken_out(life: Life) -> None:
    life.marks("ETH", {0: 2000, 30: 2000})
    life.marks("LDO", {0: 2, 5: 2, 24: 3, 30: 3, 31: 1})
    life.tell(0, "equity", balances={"USDC": 10000}, value=10000)
    life.open(0, "s", "staking", instrument="ETH")
    life.flow(0, "s", "deposit", "ETH", 1)
    life.flow(5, "s", "reward", "LDO", 10)
    life.flow(30, "s", "withdrawal", "LDO", 10)
    life.until(48)
    first, second = life.day(0), life.day(1)
    assert components(first.pnl) == approx({"staking_rewards": 20, "unrealized_pnl": 10})
    # a withdrawal settles in base currency: the later fall to 1 is not the agent's
    assert second.pnl.total == approx(0)
    assert components(second.pnl) == approx({"trading_gains": 10, "unrealized_pnl": -10})
    assert second.equity[-1].equity == approx(10030)


def test_claims_leave_before_principal(life: Life) -> None:
    """12 USDC out of 10 claimable and 100 principal: 2 % of the principal leaves."""
    life.marks("ETH", {0: 50, 10: 60, 24: 60, 30: 60})
    life.open(0, "s", "staking", instrument="ETH")
    life.flow(0, "s", "deposit", "ETH", 2)
    life.flow(5, "s", "reward", "ETH", "0.2")
    life.flow(10, "s", "withdrawal", "ETH", "0.4")
    life.until(30)
    first = life.day(0).pnl
    # 0.2 ETH claimed at basis 50, then 0.2 of 2 ETH: both at 60
    assert components(first) == approx(
        {"staking_rewards": 10, "trading_gains": 0.2 * 10 + 0.2 * 10, "unrealized_pnl": 1.8 * 10}
    )


def test_gas_in_a_coin_held_is_a_cost_and_a_disposal(life: Life) -> None:
    """2 ETH opened at 2000; 0.01 burnt at 2100: cost 21, gain 1 on what was burnt."""
    life.marks("ETH", {0: 2000, 10: 2100, 24: 2100})
    life.tell(0, "equity", balances={"ETH": 2, "USDC": 100}, value=4100)
    life.tell(10, "cost", kind="gas", asset="ETH", quantity="0.01")
    life.until(30)
    first = life.day(0)
    assert components(first.pnl) == approx({"gas_costs": 21, "wallet_pnl": 1 + 1.99 * 100})
    assert first.equity[-1].equity == approx(1.99 * 2100 + 100)


def test_gas_in_a_coin_not_held_is_bought_at_its_mark(life: Life) -> None:
    life.marks("ETH", {0: 2000, 10: 2100, 24: 2200})
    life.tell(0, "equity", balances={"ETH": "0.004", "USDC": 100}, value=108)
    life.tell(10, "cost", kind="gas", asset="ETH", quantity="0.01")
    life.until(30)
    first = life.day(0)
    assert components(first.pnl) == approx({"gas_costs": 21, "wallet_pnl": 0.4})
    assert first.equity[-1].equity == approx(100 - 0.006 * 2100)


def test_gas_of_a_position_in_a_coin_charges_its_mark_to_the_position_and_the_gain_to_the_wallet(
    life: Life,
) -> None:
    life.marks("ETH", {0: 2000, 10: 2100, 24: 2100})
    life.tell(0, "equity", balances={"ETH": 1, "USDC": 5000}, value=7000)
    life.open(0, "l", "lending", instrument="USDC")
    life.flow(0, "l", "deposit", "USDC", 1000)
    life.tell(10, "cost", kind="gas", asset="ETH", quantity="0.01", position="l")
    life.until(24)
    document = life.day(0)
    p = life_of(document, "l")
    assert p.final_pnl == approx(-21)
    assert components(p.attribution) == approx({"gas_costs": 21})
    assert document.pnl.total == approx(-21 + 1 + 0.99 * 100)


def test_rewards_to_the_wallet_are_income_at_their_mark_which_is_their_basis(life: Life) -> None:
    life.marks("ARB", {0: 1, 10: 2, 24: 3})
    life.tell(0, "equity", balances={"USDC": 100}, value=100)
    life.flow(10, None, "reward", "ARB", 10)
    life.until(30)
    assert components(life.day(0).pnl) == approx({"staking_rewards": 20, "wallet_pnl": 10})
    assert life.day(0).equity[-1].equity == approx(130)


def test_costs_by_tier_and_by_asset(life: Life) -> None:
    life.tell(0, "equity", balances={"USDC": 100}, value=100)
    life.tell(1, "cost", kind="inference", amount="0.3", tier="T1", tokens_in=1000, tokens_out=50)
    life.tell(2, "cost", kind="inference", amount="0.9", tier="T2", tokens_in=10, tokens_out=5)
    life.tell(3, "cost", kind="data", amount="0.1")
    life.tell(4, "cost", kind="gas", amount="0.2")
    life.until(24)
    document = life.day(0)
    assert components(document.pnl) == approx({"inference_costs": 1.2, "data_costs": 0.1, "gas_costs": 0.2})
    assert document.pnl.operational_cost == approx(1.5)
    assert document.pnl.net_yield is None
    costs = document.costs
    assert (costs.gas, costs.inference, costs.data) == approx((0.2, 1.2, 0.1))
    assert costs.by_tier["T1"] == approx(0.3)
    assert costs.by_tier["T2"] == approx(0.9)
    assert (costs.tokens_in, costs.tokens_out) == (1010, 55)
