"""The golden vectors that whole reviews answer to, and that none of the files is left unread."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from retro.accounting.attribution import signed_sum
from retro.kernels.returns import chained, stretches
from retro.report.lines import COMPONENTS
from tests.worlds.oracle import DAY, WEEK, Life, approx, components, life, row_of
from tests.worlds.places import GOLDEN, TESTS

__all__ = ["life"]


SEED = json.loads((GOLDEN / "lots_and_seed.json").read_text())

FIELDS = {
    "fees": "lp_fees_earned",
    "interest": "lending_interest_earned",
    "rewards": "staking_rewards",
    "funding": "funding",
    "gains": "trading_gains",
    "losses": "trading_losses",
    "gas": "gas_costs",
    "inference": "inference_costs",
    "data": "data_costs",
    "U": "unrealized_pnl",
    "IL": "impermanent_loss",
}


def test_every_golden_file_is_read_by_a_test() -> None:
    files = {path.stem for path in GOLDEN.glob("*.json")}
    read = "".join(path.read_text() for path in TESTS.rglob("test_*.py"))
    assert {name for name in files if f"{name}.json" not in read} == set()


@pytest.mark.parametrize("method", ["fifo", "avg"])
def test_three_weeks_of_components_close_to_their_equity(method: str) -> None:
    """What a day booked, with the changes U and IL, is the change E of its equity less the owner's money."""
    days = json.loads((GOLDEN / "closure_world.json").read_text())[method]
    equity = 0.0
    for day in days:
        parts = dict.fromkeys(COMPONENTS, 0.0) | {name: day[short] for short, name in FIELDS.items()}
        total = signed_sum(parts)
        assert total == pytest.approx(day["total_components"], abs=1e-8)
        assert total == pytest.approx(day["E"] - day["flows"], abs=1e-8)
        if equity:
            # the owner's money comes or goes when the day ends: it earned nothing
            levels = [equity, equity + day["E"] - day["flows"], equity + day["E"]]
            daily = chained(stretches(levels, [0, day["flows"], 0]), np.array([0, 2]))
            assert daily.tolist() == pytest.approx([total / equity], abs=1e-12)
        equity += day["E"]


def test_the_seeds_daily_review(life: Life) -> None:
    """Fees 4.20, impermanent loss 1.40, gas 0.62, inference 0.36: 1.82 net."""
    example = SEED["seed_arithmetic"]["daily"]
    life.tell(0, "equity", balances={"USDC": 2000})
    life.open(1, "lp", "lp", instrument="ETH/USDC", token0="ETH", token1="USDC", lower=2380, upper=2420)
    life.flow(1, "lp", "deposit", "USDC", 1000)
    life.flow(9, "lp", "lp_fee", "USDC", example["fees"])
    life.tell(10, "snapshot", position="lp", holdings={"USDC": "998.60"}, claimable={"USDC": example["fees"]})
    life.tell(11, "cost", kind="gas", amount=example["gas"], position="lp")
    life.tell(12, "cost", kind="inference", amount=example["inference"])
    life.until(DAY)
    pnl = life.day(0).pnl
    assert pnl.total == approx(example["net"]) == 1.82
    assert components(pnl) == approx(
        {
            "lp_fees_earned": example["fees"],
            "impermanent_loss": example["il"],
            "gas_costs": example["gas"],
            "inference_costs": example["inference"],
        }
    )
    assert pnl.net_yield == approx(2.80)


def test_the_seeds_position(life: Life) -> None:
    """Peak +2.80 on day 2.5, left at -4.20 on day 7.2: a regret of 7.00."""
    example = SEED["seed_arithmetic"]["position"]
    path = {0: 100, 12: 101, 36: 102, 60: 100 + example["peak"], 72: 101, 100: 99, 130: 97, 160: 96}
    life.market("ETH/USDC", path)
    life.trade("lp", (0, 100), (172.8, 100 + example["final"]))
    life.until(2 * WEEK)
    p = life.position("lp")
    assert (p.final_pnl, p.mfe, p.regret) == approx((example["final"], example["peak"], example["regret"]))
    assert (p.optimal_exit_at, p.optimal_exit_pnl) == ("2026-01-07T12:00:00Z", approx(example["peak"]))
    assert p.vs_inaction == approx(example["final"])


def test_the_seeds_rule(life: Life) -> None:
    example = SEED["seed_arithmetic"]["H7"]
    for day, pnl in enumerate(example["pnl"]):
        life.trade(f"p{day}", (DAY * day, 100), (DAY * day + 1, 100 + pnl), cites=["H-7"])
    life.until(WEEK)
    row = row_of(life.week(), "H-7")
    assert (row.avg_pnl_per_citation, row.win_rate) == approx((example["avg"], example["win_rate"]))


@pytest.mark.parametrize(
    ("fees", "il", "net"),
    [
        tuple(SEED["seed_arithmetic"]["net_yield"][name] for name in ("fees", "il", "net_yield")),
        tuple(SEED["loesch_2021"][name] for name in ("fees_musd", "il_musd", "net_musd")),
    ],
)
def test_fees_that_were_less_than_the_impermanent_loss(life: Life, fees: Any, il: Any, net: Any) -> None:
    """The seed's own -5.80, and seventeen pools in 2021, in millions."""
    life.open(1, "lp", "lp", instrument="ETH/USDC", token0="ETH", token1="USDC", lower=2380, upper=2420)
    life.flow(1, "lp", "deposit", "USDC", 1000)
    life.flow(9, "lp", "lp_fee", "USDC", fees)
    life.flow(20, "lp", "withdrawal", "USDC", 1000 - il + fees)
    life.tell(20, "exit", position="lp")
    life.until(DAY)
    assert life.day(0).pnl.net_yield == approx(net)


def test_funding_of_a_published_example(life: Life) -> None:
    """A short of 100,000 at 7,000 receives 0.01785 % for an hour: 17.85, paid in coin."""
    example = SEED["funding_kraken_example1"]
    life.marks("BTC", {0: example["btc_price"]})
    life.open(0, "p", "perp", instrument="BTC/USDC:USDC", side="short")
    quantity = example["notional_usd"] / example["btc_price"]
    life.fill(0, "p", "sell", quantity, example["btc_price"])
    life.flow(1, "p", "funding_received", "BTC", example["published_received_btc"])
    life.fill(1, "p", "buy", quantity, example["btc_price"])
    life.until(2)
    assert life.day(0).pnl.funding == approx(example["published_received_usd"])
    assert example["notional_usd"] * example["rate_per_hour"] * example["hours"] == approx(17.85)
