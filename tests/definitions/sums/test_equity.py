"""What the agent states about its equity: opening capital, unattributed, external money, returns."""

from __future__ import annotations

from math import fsum, sqrt
from pathlib import Path
from statistics import stdev

import pytest

from retro.store.database import open_store
from tests.worlds.lives import live, report
from tests.worlds.oracle import DAY, WEEK, Life, approx, closes, components, life
from tests.worlds.random_facts import HOUR, START, World

__all__ = ["life"]


def test_balances_at_the_first_event_open_the_wallet(life: Life) -> None:
    """2 ETH and 100 USDC: external money of the first day, then moved by the market."""
    life.market("ETH/USDC", {0: 1000, 24: 1010, 48: 990})
    life.tell(1, "equity", balances={"ETH": 2, "USDC": 100}, value=2100)
    life.until(48)
    first, second = life.day(0), life.day(1)
    assert components(first.pnl) == approx({"wallet_pnl": 20})
    assert components(second.pnl) == approx({"wallet_pnl": -40})
    assert [e.equity for e in first.equity][-1] == approx(2120)
    assert [e.flow for e in first.equity][-1] == approx(2100)
    assert first.pnl.unattributed == 0


def test_without_balances_the_first_statement_tells_the_opening_capital(life: Life) -> None:
    """Stated 1,500 at 12 o'clock, after a trade that made 10: it began with 1,490."""
    life.trade("p", (2, 100), (5, 110))
    life.tell(12, "equity", value=1500)
    life.tell(20, "cost", kind="gas", amount=4)
    life.until(24)
    document = life.day(0)
    assert document.pnl.total == approx(6)
    assert document.equity[-1].equity == approx(1496)
    assert document.equity[-1].flow == approx(1490)
    assert document.pnl.unattributed == 0


def test_a_statement_is_before_the_events_of_its_instant(life: Life) -> None:
    life.tell(0, "equity", value=1000)
    life.tell(30, "cost", kind="gas", amount=4)
    life.tell(30, "equity", value=1000)
    life.tell(31, "equity", value=996)
    life.until(48)
    assert life.week().pnl.unattributed == 0
    assert life.day(1).equity[-1].equity == approx(996)


def test_what_statements_show_beyond_the_events_is_unattributed(life: Life) -> None:
    """Stated 1,000, then 1,003 with a cost of 2 told: 5 came from nowhere, on the second day."""
    life.tell(0, "equity", value=1000)
    life.tell(10, "cost", kind="gas", amount=2)
    life.tell(20, "equity", value=998)
    life.tell(30, "equity", value=1003)
    life.until(3 * DAY)
    days = [life.day(d).pnl for d in range(3)]
    assert [d.unattributed for d in days] == approx([0, 5, 0])
    assert [d.total for d in days] == approx([-2, 5, 0])
    assert all(closes(d) < 1e-9 for d in days)
    week = life.week()
    assert (week.pnl.total, week.pnl.unattributed) == approx((3, 5))
    assert any("stated equity" in w for w in life.day(1).data_quality.warnings)
    assert not any("stated equity" in w for w in life.day(0).data_quality.warnings)


@pytest.mark.parametrize(("gap", "warned"), [(0.01, False), (0.011, True)])
def test_a_cent_is_no_warning(life: Life, gap: float, warned: bool) -> None:
    life.tell(0, "equity", value=1000)
    life.tell(30, "equity", value=1000 + gap)
    life.until(2 * DAY)
    document = life.day(1)
    assert document.pnl.unattributed == pytest.approx(gap, abs=1e-9)
    assert bool([w for w in document.data_quality.warnings if "stated equity" in w]) is warned


@pytest.mark.parametrize(("gap", "warned"), [(0.99, False), (1.01, True)])
def test_a_thousandth_of_what_moved_is_no_warning(life: Life, gap: float, warned: bool) -> None:
    """Components of 1,000 in all."""
    life.tell(0, "equity", value=10000)
    life.tell(26, "cost", kind="gas", amount=400)
    life.tell(27, "cost", kind="data", amount=600)
    life.tell(30, "equity", value=9000 + gap)
    life.until(2 * DAY)
    document = life.day(1)
    assert bool([w for w in document.data_quality.warnings if "stated equity" in w]) is warned


def test_a_statement_at_midnight_belongs_to_the_day_it_ends(life: Life) -> None:
    """r(t) uses the last statement at or before t."""
    life.tell(0, "equity", value=1000)
    life.tell(24, "equity", value=1007)
    life.until(2 * DAY)
    assert [life.day(d).pnl.unattributed for d in (0, 1)] == approx([7, 0])


def test_statements_after_balances_are_compared_with_the_balances(life: Life) -> None:
    life.market("ETH/USDC", {0: 1000, 24: 1100, 30: 1100})
    life.tell(0, "equity", balances={"ETH": 1}, value=1000)
    life.tell(30, "equity", value=1120)
    life.until(48)
    assert [life.day(d).pnl.unattributed for d in (0, 1)] == approx([0, 20])
    assert life.week().pnl.total == approx(120)


def test_without_statements_it_is_absent(life: Life) -> None:
    life.trade("p", (0, 100), (1, 101))
    life.until(24)
    document = life.day(0)
    assert document.pnl.unattributed is None
    assert "pnl.unattributed" in document.reasons


def test_without_a_known_capital_returns_are_absent(life: Life) -> None:
    for d in range(5):
        life.trade(f"p{d}", (24 * d, 100), (24 * d + 1, 101 + d))
    life.until(WEEK)
    week = life.week()
    assert (week.risk.sharpe, week.risk.max_drawdown, week.risk.psr) == (None, None, None)
    assert week.risk.reasons
    assert week.equity[-1].equity is None
    assert week.pnl.total == approx(1 + 2 + 3 + 4 + 5)


def test_a_configured_capital_is_external_money(tmp_path: Path) -> None:
    life = Life(tmp_path, agent={"a": {"capital": 1000}})
    life.trade("p", (2, 100), (3, 110))
    life.until(24)
    document = life.day(0)
    assert document.pnl.total == approx(10)
    assert document.equity[-1].equity == approx(1010)
    assert document.equity[-1].flow == approx(1000)


def test_daily_returns_by_hand(life: Life) -> None:
    """1,000, then +10, -20 (and 500 from the owner), +30, 0, +5, -1, +8."""
    pnl = [10, -20, 30, 0, 5, -1, 8]
    life.tell(0, "equity", balances={"USDC": 1000}, value=1000)
    for d, gain in enumerate(pnl):
        life.trade(f"p{d}", (24 * d + 1, 100), (24 * d + 2, 100 + gain))
    life.tell(30, "external", quantity=500)
    life.until(WEEK)
    week = life.week()
    before = [1000, 1010, 1490, 1520, 1520, 1525, 1524]
    # the first day counts from the instant on at which its capital was known
    assert [e.equity for e in week.equity][1:] == approx([1010, 1490, 1520, 1520, 1525, 1524, 1532])
    returns = [p / b for p, b in zip(pnl, before, strict=True)]
    mean = sum(returns) / len(returns)
    assert week.risk.days == len(returns)
    assert week.risk.sharpe == approx(mean / stdev(returns) * sqrt(365))
    curve, worst, level = 1.0, 0.0, 1.0
    for r in returns:
        level *= 1 + r
        curve = max(curve, level)
        worst = min(worst, level / curve - 1)
    assert abs(week.risk.max_drawdown or 0.0) == approx(abs(worst))
    assert week.risk.noisy
    assert week.pnl.risk_adjusted_return is None  # no yield to speak of


def test_risk_adjusted_return_is_yield_over_the_spread_of_daily_pnl(life: Life) -> None:
    life.tell(0, "equity", balances={"USDC": 1000}, value=1000)
    life.open(0, "l", "lending", instrument="USDC")
    life.flow(0, "l", "deposit", "USDC", 500)
    daily_interest = [1, 2, 4, 1, 3, 2, 5]
    for d, interest in enumerate(daily_interest):
        life.flow(24 * d + 5, "l", "interest", "USDC", interest)
    life.tell(50, "cost", kind="gas", amount=1.5)
    life.until(WEEK)
    pnl = [1, 2, 2.5, 1, 3, 2, 5]
    week = life.week().pnl
    assert week.net_yield == approx(18)
    assert week.net_yield_after_costs == approx(16.5)
    assert week.risk_adjusted_return == approx(18 / stdev(pnl))


def test_owners_coins_come_at_their_stated_value(life: Life) -> None:
    """0.1 ETH stated at 190 against a mark of 2,000 x 0.1 = 200."""
    life.market("ETH/USDC", {0: 2000, 24: 2000})
    life.tell(0, "equity", balances={"USDC": 100}, value=100)
    life.tell(5, "external", asset="ETH", quantity="0.1", value=190)
    life.tell(6, "external", asset="ETH", quantity="-0.05", value="-95")
    life.until(24)
    document = life.day(0)
    assert document.equity[-1].equity == approx(100 + 0.05 * 2000)
    assert document.equity[-1].flow == approx(100 + 95)
    assert document.pnl.total == approx(5)


def test_what_lies_in_the_wallet_is_priced_in_every_period(life: Life) -> None:
    """Opened with 2 ETH on the first day, given 10 ARB on the second; reviewed three weeks later."""
    life.market("ETH/USDC", {h: 1000 + h for h in range(24 * 30)})
    life.market("ARB/USDC", {h: 1 + h / 100 for h in range(24 * 30)})
    life.tell(0, "equity", balances={"USDC": 1000, "ETH": 2}, value=3000)
    life.flow(30, None, "reward", "ARB", 10)
    life.until(24 * 30 - 1)
    day, week = life.day(20), life.week(2)
    assert day.pnl.total == approx(2 * 24 + 10 * 0.24)
    assert week.pnl.total == approx(7 * (2 * 24 + 10 * 0.24))
    assert day.data_quality.missing_marks == []
    end = 21 * 24
    assert day.equity[-1].equity == approx(1000 + 2 * (1000 + end) + 10 * (1 + end / 100))
    assert day.risk.days == 1


def test_a_statement_after_the_as_of_is_not_known(life: Life) -> None:
    life.tell(0, "equity", value=1000)
    life.tell(10, "cost", kind="gas", amount=2)
    life.tell(20, "equity", value=1003)
    life.until(30)
    assert life.as_of(0, DAY, 15).pnl.unattributed == 0
    assert life.as_of(0, DAY, 20).pnl.unattributed == approx(5)


@pytest.mark.parametrize(("seed", "zone"), [(5, "UTC"), (6, "America/New_York")])
def test_later_weeks_follow_balances_and_statements(tmp_path: Path, seed: int, zone: str) -> None:
    """Seventeen days; now and then the agent states an equity that drifts from its events by what it never told."""
    world, configuration = World(seed, days=17), {"owner": {"time_zone": zone}}
    drift = {60: 1.5, 130: 1.5, 250: -0.75, 330: 2.0}
    for hour, gap in drift.items():
        world.tell(hour, 0, type="equity", value=world.equity[hour] + gap)
    store = open_store(str(tmp_path / "w.db"))
    assert live(store, world.lines(), configuration=configuration).clean

    def stated(hour: float) -> float:
        return drift[max(h for h in drift if h <= hour)] if hour >= 60 else 0.0

    for start, end in ((168, 336), (240, 264), (100, 333), (336, 360)):
        document = report(
            store, "w", span=(START + start * HOUR, START + end * HOUR), configuration=configuration
        )
        owner = fsum(value for hour, value in world.flows if start <= hour < end)
        change = world.equity[end] - world.equity[start] - owner
        assert document.pnl.total == pytest.approx(change + stated(end) - stated(start), abs=2e-7)
        assert document.pnl.unattributed == pytest.approx(stated(end) - stated(start), abs=2e-7)
        assert document.equity[-1].equity == pytest.approx(world.equity[end], abs=1e-6)
        assert closes(document.pnl) < 1e-9
