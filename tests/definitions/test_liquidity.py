"""LP positions against the definitions: pool formula, impermanent loss, fees, adds and removals, snapshots."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.worlds.oracle import Life, approx, clock, closes, components, life, life_of, pool

__all__ = ["life"]


L, LOW, HIGH = 100.0, 1900.0, 2100.0


def opened(
    life: Life,
    hours: float = 0.0,
    price: float = 2000.0,
    name: str = "lp",
    states_liquidity: bool = True,
    **fields: Any,
) -> tuple[float, float]:
    """An LP of L = 100 in 1900..2100; the tokens it takes at this price."""
    x, y = pool(L, price, LOW, HIGH)
    given = {"liquidity": L} if states_liquidity else {}
    life.open(
        hours,
        name,
        "lp",
        instrument="ETH/USDC",
        token0="ETH",
        token1="USDC",
        lower=LOW,
        upper=HIGH,
        **given,
        **fields,
    )
    for asset, quantity in (("ETH", x), ("USDC", y)):
        if quantity:
            life.flow(hours, name, "deposit", asset, quantity)
    return x, y


def removed(
    life: Life,
    hours: float,
    price: float,
    share: float = 1.0,
    name: str = "lp",
    extra: tuple[float, float] = (0.0, 0.0),
    leave: bool = True,
) -> None:
    x, y = pool(L, price, LOW, HIGH)
    x, y = x * share + extra[0], y * share + extra[1]
    for asset, quantity in (("ETH", x), ("USDC", y)):
        if quantity:
            life.flow(hours, name, "withdrawal", asset, quantity)
    if leave:
        life.tell(hours, "exit", position=name, reason="done")


def worth(price: float, share: float = 1.0) -> float:
    x, y = pool(L, price, LOW, HIGH)
    return share * (x * price + y)


def test_two_days_in_range_by_hand(life: Life) -> None:
    """Fees of 3 USDC and 0.001 ETH; the day boundary in between; closed at 2080 with the fees."""
    marks = {0: 2000, 5: 2010, 8: 2040, 24: 2050, 30: 2080, 31: 2080}
    life.marks("ETH", marks)
    x, y = opened(life)
    life.flow(5, "lp", "lp_fee", "USDC", 3)
    life.flow(8, "lp", "lp_fee", "ETH", "0.001")
    removed(life, 30, 2080, extra=(0.001, 3))
    life.until(48)

    def hold(p: float) -> float:
        return x * p + y

    def loss(p: float) -> float:
        return hold(p) - worth(p)

    first, second = life.day(0).pnl, life.day(1).pnl
    assert components(first) == approx(
        {
            "lp_fees_earned": 3 + 2.04,
            "impermanent_loss": loss(2050),
            "unrealized_pnl": hold(2050) - hold(2000) + 0.001 * 10,
        }
    )
    assert first.total == approx(worth(2050) + 3 + 2.05 - worth(2000))
    assert components(second) == approx(
        {
            "impermanent_loss": loss(2080) - loss(2050),
            "trading_gains": hold(2080) - hold(2000) + 0.001 * 40,
            "unrealized_pnl": -(hold(2050) - hold(2000) + 0.001 * 10),
        }
    )
    p = life_of(life.week(), "lp")
    assert p.final_pnl == approx(worth(2080) - worth(2000) + 3 + 2.08)
    assert p.vs_hold == approx(3 + 2.08 - loss(2080))
    assert p.vs_inaction == approx(p.final_pnl)  # funded with base currency
    assert p.attribution.total == approx(p.final_pnl)
    assert p.attribution.impermanent_loss == approx(loss(2080))
    assert (p.left_on_table, p.hold_on) == (None, None)
    assert closes(first) < 1e-9
    assert closes(second) < 1e-9
    assert life.week().pnl.net_yield == approx(5.04 - loss(2080))


def test_impermanent_loss_recovers_and_is_not_clamped(life: Life) -> None:
    life.marks("ETH", {0: 2000, 24: 1930, 48: 2000, 50: 2000})
    opened(life)
    removed(life, 50, 2000)
    life.until(72)
    loss = pool(L, 2000, LOW, HIGH)[0] * 1930 + pool(L, 2000, LOW, HIGH)[1] - worth(1930)
    assert life.day(0).pnl.impermanent_loss == approx(loss)
    assert life.day(1).pnl.impermanent_loss == approx(-loss)
    assert life.week().pnl.impermanent_loss == approx(0)
    assert life.week().pnl.total == approx(0)


@pytest.mark.parametrize("price", [1800.0, 1900.0, 2100.0, 2500.0])
def test_out_of_range_it_is_one_token(life: Life, price: float) -> None:
    life.marks("ETH", {0: 2000, 10: price, 12: price})
    x, y = opened(life)
    removed(life, 12, price)
    life.until(24)
    p = life.position("lp")
    ends = L * (math.sqrt(HIGH) - math.sqrt(LOW))
    coins = L * (1 / math.sqrt(LOW) - 1 / math.sqrt(HIGH))
    value = ends if price >= HIGH else coins * price
    assert p.final_pnl == approx(value - worth(2000))
    assert p.attribution.impermanent_loss == approx(x * price + y - value)
    assert p.pnl_trajectory[0].pnl == approx(0)


def test_the_trajectory_follows_the_marks_by_the_pool_formula(life: Life) -> None:
    path = [2000, 2020, 1990, 1950, 2050, 2090, 2120, 2040]
    life.marks("ETH", path)
    opened(life)
    life.flow(2, "lp", "lp_fee", "USDC", 2)
    removed(life, 7, 2040, extra=(0, 2))
    life.until(8)
    p = life.position("lp")
    gross = [worth(m) - worth(2000) + (2 if h >= 2 else 0) for h, m in enumerate(path)]
    assert [c.pnl for c in p.pnl_trajectory] == approx([gross[1], gross[4], gross[7]])
    assert (p.mfe, p.mae) == (approx(max(gross[1:])), approx(min(gross[1:])))
    assert (p.optimal_exit_at, p.regret) == (clock(6), approx(gross[6] - gross[7]))


def test_full_range_has_the_textbook_loss(life: Life) -> None:
    """IL / H = 1 - 2 sqrt k / (1 + k)."""
    life.marks("ETH", {0: 100, 1: 150, 2: 150})
    life.open(
        0,
        "lp",
        "lp",
        instrument="ETH/USDC",
        token0="ETH",
        token1="USDC",
        lower=None,
        upper=None,
        liquidity=10,
    )
    life.flow(0, "lp", "deposit", "ETH", 1)
    life.flow(0, "lp", "deposit", "USDC", 100)
    k = 1.5
    life.flow(2, "lp", "withdrawal", "ETH", 1 / math.sqrt(k))
    life.flow(2, "lp", "withdrawal", "USDC", 100 * math.sqrt(k))
    life.tell(2, "exit", position="lp")
    life.until(3)
    p = life.position("lp")
    hold = 250
    assert p.attribution.impermanent_loss == approx(hold * (1 - 2 * math.sqrt(k) / (1 + k)))
    assert p.pnl_trajectory[0].pnl == approx(2 * 100 * math.sqrt(k) - 200)
    assert p.vs_hold == approx(-p.attribution.impermanent_loss)


def test_removing_a_part_realises_its_share_of_loss_and_of_the_price_move(life: Life) -> None:
    """40 % leaves at 2080, the rest at 1950; the bundle and the loss are scaled by 0.6."""
    life.marks("ETH", {0: 2000, 10: 2080, 24: 2060, 30: 1950})
    x, y = opened(life)
    removed(life, 10, 2080, share=0.4, leave=False)
    removed(life, 30, 1950, share=0.6)
    life.until(48)

    def hold(p: float) -> float:
        return x * p + y

    def loss(p: float) -> float:
        return hold(p) - worth(p)

    first, second = life.day(0).pnl, life.day(1).pnl
    assert components(first) == approx(
        {
            "impermanent_loss": 0.4 * loss(2080) + 0.6 * loss(2060),
            "trading_gains": 0.4 * x * 80,
            "unrealized_pnl": 0.6 * x * 60,
        }
    )
    assert components(second) == approx(
        {
            "impermanent_loss": 0.6 * (loss(1950) - loss(2060)),
            "trading_losses": 0.6 * x * 50,
            "unrealized_pnl": -0.6 * x * 60,
        }
    )


def test_adding_enlarges_the_bundle(life: Life) -> None:
    """Half as much again at 2050: that loss counts from 2050."""
    life.marks("ETH", {0: 2000, 10: 2050, 24: 2080, 30: 2090})
    x, y = opened(life)
    addition = pool(L / 2, 2050, LOW, HIGH)
    for asset, quantity in zip(("ETH", "USDC"), addition, strict=True):
        life.flow(10, "lp", "deposit", asset, quantity)
    removed(life, 30, 2090, share=1.5)
    life.until(48)

    def loss(p: float) -> float:
        return x * p + y - worth(p) + addition[0] * p + addition[1] - worth(p, 0.5)

    first = life.day(0).pnl
    total = worth(2080, 1.5) - worth(2000) - worth(2050, 0.5)
    assert first.total == approx(total)
    assert first.impermanent_loss == approx(loss(2080))
    assert first.unrealized_pnl == approx(x * 80 + addition[0] * 30)
    second = life.day(1).pnl
    assert second.impermanent_loss == approx(loss(2090) - loss(2080))
    assert second.trading_gains == approx(x * 90 + addition[0] * 40)


def test_a_bundle_in_another_currency_is_valued_through_both_marks(life: Life) -> None:
    """ETH/BTC: the pool's price is the ratio of the marks."""
    life.marks("ETH", {0: 2000, 6: 2200, 7: 2200})
    life.marks("BTC", {0: 50000, 6: 50000, 7: 40000})
    x, y = pool(50, 0.04, 0.03, 0.05)
    life.open(
        0, "lp", "lp", instrument="ETH/BTC", token0="ETH", token1="BTC", lower=0.03, upper=0.05, liquidity=50
    )
    life.flow(0, "lp", "deposit", "ETH", x)
    life.flow(0, "lp", "deposit", "BTC", y)
    x6, y6 = pool(50, 0.044, 0.03, 0.05)
    x7, y7 = pool(50, 0.055, 0.03, 0.05)
    assert x7 == 0
    life.flow(7, "lp", "withdrawal", "BTC", y7)
    life.tell(7, "exit", position="lp")
    life.until(8)
    p = life.position("lp")
    paid = x * 2000 + y * 50000
    assert p.final_pnl == approx(y7 * 40000 - paid)
    assert (p.optimal_exit_at, p.optimal_exit_pnl) == (clock(6), approx(x6 * 2200 + y6 * 50000 - paid))
    assert p.attribution.impermanent_loss == approx(x * 2200 + y * 40000 - y7 * 40000)


def test_snapshots_alone_give_the_extremes(life: Life) -> None:
    """No liquidity told: extremes at snapshot instants; in between the last holdings at the marks."""
    life.marks("ETH", [2000, 2300, 2010, 1700, 2040, 2050, 2060])
    x, y = opened(life, states_liquidity=False)
    life.tell(2, "snapshot", position="lp", holdings={"ETH": 1, "USDC": 4000}, claimable={"USDC": 5})
    life.tell(
        4, "snapshot", position="lp", holdings={"ETH": 0.9, "USDC": 4100}, claimable={"USDC": 7}, value=5930
    )
    life.flow(6, "lp", "withdrawal", "ETH", 0.9)
    life.flow(6, "lp", "withdrawal", "USDC", 4120)
    life.tell(6, "exit", position="lp")
    life.until(7)
    p = life.position("lp")
    paid = x * 2000 + y
    assert p.final_pnl == approx(0.9 * 2060 + 4120 - paid)
    at_two, at_four = 2010 + 4005 - paid, 5930 - paid
    assert p.final_pnl is not None
    assert (p.mfe, p.mae) == (
        approx(max(0, at_two, at_four, p.final_pnl)),
        approx(min(0, at_two, at_four, p.final_pnl)),
    )
    assert p.optimal_exit_at == clock(
        2 if at_two > max(at_four, p.final_pnl) else 4 if at_four > p.final_pnl else 6
    )
    # a checkpoint is a boundary: of the snapshot at 4 h the principal, and what was claimable before
    assert p.pnl_trajectory[1].pnl == approx(0.9 * 2040 + 4100 + 5 - paid)


def test_a_snapshots_value_is_before_what_is_withdrawn_at_its_instant(life: Life) -> None:
    """Worth 5,000 at 2 o'clock, of which 2,000 leave at once: the best moment is 5,000, not 7,000."""
    life.marks("ETH", dict.fromkeys(range(9), 2000))
    life.open(0, "lp", "lp", instrument="ETH/USDC", token0="ETH", token1="USDC", lower=LOW, upper=HIGH)
    life.flow(0, "lp", "deposit", "ETH", 1)
    life.flow(0, "lp", "deposit", "USDC", 2000)
    life.tell(
        2, "snapshot", position="lp", holdings={"ETH": 1, "USDC": 2990}, claimable={"USDC": 10}, value=5000
    )
    life.flow(2, "lp", "withdrawal", "USDC", 2000)
    life.tell(4, "snapshot", position="lp", holdings={"ETH": 1, "USDC": 1000}, value=3000)
    life.flow(6, "lp", "withdrawal", "ETH", 1)
    life.flow(6, "lp", "withdrawal", "USDC", 1000)
    life.tell(6, "exit", position="lp")
    life.until(8)
    p = life.position("lp")
    assert (p.final_pnl, p.mfe) == (approx(1000), approx(1000))


def test_funded_with_its_own_tokens_doing_nothing_is_holding_them(life: Life) -> None:
    life.marks("ETH", {0: 2000, 6: 2080})
    x, y = pool(L, 2000, LOW, HIGH)
    opened(life, funded_with={"ETH": x, "USDC": y})
    life.flow(3, "lp", "lp_fee", "USDC", 4)
    removed(life, 6, 2080, extra=(0, 4))
    life.until(7)
    p = life.position("lp")
    assert p.vs_inaction == approx(p.vs_hold)
    assert p.vs_inaction == approx(4 - (x * 2080 + y - worth(2080)))
    assert p.vs_cash == approx(p.final_pnl)


def test_what_was_given_up_beyond_the_deposits_is_entry_slippage(life: Life) -> None:
    """Funded with 20 USDC more than the deposits are worth: a trading loss on the day of entry."""
    life.marks("ETH", {0: 2000, 30: 2050})
    x, y = pool(L, 2000, LOW, HIGH)
    opened(life, funded_with={"USDC": x * 2000 + y + 20})
    life.until(48)
    first = life.day(0).pnl
    assert components(first) == approx({"trading_losses": 20})
    p = life.position("lp")
    assert p.final_pnl == approx(worth(2050) - worth(2000) - 20)
    assert p.vs_inaction == approx(p.final_pnl)


def test_days_before_and_after_the_first_snapshot_add_up(life: Life) -> None:
    """No liquidity told: the pool formula until the first snapshot, the last holdings from then on."""
    life.marks("ETH", {h: 2000 + 10 * math.sin(h) for h in range(0, 120, 3)})
    x, y = opened(life, 5, 2000, states_liquidity=False)
    life.tell(
        50, "snapshot", position="lp", holdings={"ETH": x * 0.9, "USDC": y * 1.1}, claimable={"USDC": 4}
    )
    life.flow(60, "lp", "lp_fee", "USDC", 6)  # the 4 that were claimable, and 2 more
    life.flow(100, "lp", "withdrawal", "ETH", x * 0.9)
    life.flow(100, "lp", "withdrawal", "USDC", y * 1.1 + 6)
    life.tell(100, "exit", position="lp")
    life.until(120)
    days = [life.day(d).pnl for d in range(5)]
    week = life.week().pnl
    for name in (
        "total",
        "lp_fees_earned",
        "impermanent_loss",
        "trading_gains",
        "trading_losses",
        "unrealized_pnl",
    ):
        assert getattr(week, name) == approx(sum(getattr(d, name) for d in days)), name
    assert week.lp_fees_earned == approx(6)
    assert [d.lp_fees_earned for d in days] == approx([0, 0, 6, 0, 0])
    assert closes(week) < 1e-9


def test_gas_of_an_lp_is_its_own_cost(life: Life) -> None:
    life.marks("ETH", {0: 2000, 6: 2000})
    opened(life)
    life.tell(0, "cost", kind="gas", amount="1.5", position="lp")
    life.tell(3, "cost", kind="gas", amount="0.5", position="lp")
    removed(life, 6, 2000)
    life.tell(6, "cost", kind="gas", amount="2", position="lp")
    life.until(7)
    p = life.position("lp")
    assert p.final_pnl == approx(-4)
    assert p.vs_hold == approx(-4)
    assert [c.pnl for c in p.pnl_trajectory] == approx([-1.5, -2, -4])
    assert components(p.attribution) == approx({"gas_costs": 4})


def test_a_deposit_on_the_boundary_belongs_to_the_next_day(life: Life) -> None:
    life.marks("ETH", {0: 2000, 24: 2000, 30: 2080})
    life.tell(0, "equity", balances={"USDC": 10000, "ETH": 5}, value=20000)
    opened(life, 24)
    life.until(48)
    assert components(life.day(0).pnl) == {}
    assert life.day(1).pnl.impermanent_loss == approx(
        pool(L, 2000, LOW, HIGH)[0] * 2080 + pool(L, 2000, LOW, HIGH)[1] - worth(2080)
    )
