"""Returns against the definitions: chained at the owner's flows, from the first day on, and within the day."""

from __future__ import annotations

from statistics import stdev
from typing import TYPE_CHECKING, Any

import pytest

from tests.worlds.oracle import WEEK, Life

if TYPE_CHECKING:
    from pathlib import Path

    from retro.report import RetrospectiveReport


@pytest.fixture
def life(tmp_path: Path) -> Life:
    return Life(tmp_path)


def approx(value: Any) -> Any:
    return pytest.approx(value, abs=1e-9, rel=1e-12)


def growths(document: RetrospectiveReport) -> list[float | None]:
    """The time-weighted return of each day."""
    return [day.growth for day in document.equity[1:]]


def test_a_deposit_in_the_morning_does_not_make_a_return(life: Life) -> None:
    """100 on Monday; on Tuesday 10,000 come at 00:06 and 84 are earned on the 10,100."""
    life.tell(0, "equity", balances={"USDC": 100}, value=100)
    life.tell(24.1, "external", quantity=10_000)
    life.trade("p", (30, 100), (31, 184))
    life.until(WEEK)
    assert growths(life.week())[:3] == approx([0, 84 / 10_100, 0])


def test_a_withdrawal_in_the_morning_does_not_hide_a_loss(life: Life) -> None:
    """Of 10,000, 9,800 leave at 00:06 on Tuesday; 84 are lost of the 200 that were left."""
    life.tell(0, "equity", balances={"USDC": 10_000}, value=10_000)
    life.tell(24.1, "external", quantity=-9_800)
    life.trade("p", (30, 100), (31, 16))
    life.until(WEEK)
    week = life.week()
    assert growths(week)[:2] == approx([0, -84 / 200])
    assert week.risk.max_drawdown == approx(-0.42)
    assert week.risk.time_weighted_return == approx(-0.42)


def test_a_day_chains_the_stretches_between_flows_at_the_marks_before_them(life: Life) -> None:
    """1 ETH held: 1000 at midnight, 1100 at 6 when 500 come, 1210 at noon when 1000 go, 1331 at the day's end."""
    life.market("ETH/USDC", {0: 1000, 6: 1100, 12: 1210, 18: 1331, 47: 1331})
    life.tell(0, "equity", balances={"USDC": 1000, "ETH": 1}, value=2000)
    life.tell(6, "external", quantity=500)
    life.tell(12, "external", quantity=-1000)
    life.until(47)
    day = life.day(0)
    expected = 2100 / 2000 * 2710 / 2600 * 1831 / 1710 - 1
    assert growths(day) == approx([expected])
    assert day.risk.time_weighted_return == approx(expected)
    assert day.risk.money_weighted_return is None
    assert day.risk.reasons["money_weighted_return"] == "for weeks and longer"


def test_a_stretch_that_begins_with_nothing_leaves_its_day_without_a_return(life: Life) -> None:
    """Everything leaves at noon on Tuesday while a perp is open: what it makes then has no base."""
    life.market("ETH/USDC:USDC", {h: 100 + h for h in range(60)})
    life.tell(0, "equity", balances={"USDC": 1000}, value=1000)
    life.open(25, "p", "perp")
    life.fill(25, "p", "buy", 1, 125)
    life.tell(36, "external", quantity=-1011)
    life.fill(40, "p", "sell", 1, 140)
    life.tell(50, "external", quantity=500)
    life.until(WEEK)
    week = life.week()
    assert [growth is None for growth in growths(week)] == [False, True, False, False, False, False, False]
    assert "1 of 7 days have no return" in week.risk.reasons["days"]
    assert week.risk.days == 6


def test_the_first_day_counts_from_the_instant_the_capital_is_known(life: Life) -> None:
    """10,000 at 5 o'clock on Monday, a fifth is lost on that day; small days after it."""
    life.tell(5, "equity", balances={"USDC": 10_000}, value=10_000)
    gains = [-2000, 10, -5, 10, -5, 10, -5]
    for day, gain in enumerate(gains):
        life.trade(f"p{day}", (24 * day + 6, 3000), (24 * day + 7, 3000 + gain))
    life.until(WEEK)
    week = life.week()
    returns, worth = [], 10_000.0
    for gain in gains:
        returns.append(gain / worth)
        worth += gain
    assert growths(week) == approx(returns)
    assert week.risk.days == 7
    assert week.risk.max_drawdown == approx(-0.2 * 1.0)
    assert week.risk.sharpe == approx(sum(returns) / 7 / stdev(returns) * 365**0.5)
    assert week.risk.time_weighted_return == approx(worth / 10_000 - 1)
    # Modified Dietz from that instant on: the capital was there the whole of the time that is left
    assert week.risk.money_weighted_return == approx((worth - 10_000) / 10_000)


def test_days_before_the_capital_have_no_return(life: Life) -> None:
    life.tell(0, "decision", action="hold")
    life.tell(50, "external", quantity=1000)
    life.trade("p", (60, 100), (61, 110))
    life.until(WEEK)
    week = life.week()
    assert week.risk.sharpe is None  # nobody said what it began with


def test_the_money_weighted_return_weighs_flows_by_the_time_they_were_there(life: Life) -> None:
    """1,000 all week; 2,000 more from Thursday 12:00 on (half of the week is left), 300 gained in all."""
    life.tell(0, "equity", balances={"USDC": 1000}, value=1000)
    life.tell(84, "external", quantity=2000)
    life.trade("p", (100, 100), (101, 400))
    life.until(2 * WEEK)
    week = life.week()
    assert week.risk.money_weighted_return == approx(300 / (1000 + 2000 / 2))
    assert week.risk.time_weighted_return == approx(300 / 3000)
    second = life.week(1)
    assert (second.risk.money_weighted_return, second.risk.time_weighted_return) == (0, 0)


def test_the_marked_drawdown_sees_what_daily_closes_do_not(life: Life) -> None:
    """10 ETH perp on 10,000: 2000, then 1200 at noon, then 2000 again."""
    prices = {h: 1200 if h == 36 else 2000 for h in range(73)}
    life.market("ETH/USDC:USDC", prices)
    life.tell(0, "equity", balances={"USDC": 10_000}, value=10_000)
    life.open(30, "p", "perp")
    life.fill(30, "p", "buy", 10, 2000)
    life.fill(60, "p", "sell", 10, 2000)
    life.until(WEEK)
    week = life.week()
    assert week.risk.max_drawdown_marked == approx(-0.8)
    assert week.risk.reasons["max_drawdown"] == "the daily returns do not vary"


def test_the_marked_drawdown_takes_one_mark_an_hour_and_the_owners_flows_make_no_fall(life: Life) -> None:
    """The last mark of each hour: 90 at 30:59 counts, 10 at 30:20 does not. 900 of 1,000 leave at 40."""
    life.market("ETH/USDC", {0: 100, 30: 100, 30 + 1 / 3: 10, 30 + 59 / 60: 90, 31: 100, 100: 100})
    life.tell(0, "equity", balances={"USDC": 900, "ETH": 1}, value=1000)
    life.tell(40, "external", quantity=-900)
    life.until(WEEK)
    week = life.week()
    assert week.risk.max_drawdown_marked == approx(-10 / 1000)


@pytest.mark.parametrize("seed", range(6))
def test_laws_of_returns(tmp_path: Path, seed: int) -> None:
    """Money that only comes and goes makes no return; the marked fall is at least as deep as that of the days."""
    import random

    rng = random.Random(seed)
    idle, life = Life(tmp_path, "idle"), Life(tmp_path, "a")
    prices = {h: 100 * (1 + 0.02 * rng.gauss(0, 1)) for h in range(WEEK + 1)}
    life.market("ETH/USDC", prices)
    for told in (idle, life):
        told.tell(rng.choice([0, 3, 11]), "equity", balances={"USDC": 1000}, value=1000)
    for _ in range(5):
        at, size = rng.uniform(12, WEEK - 1), rng.choice([500, -100, 50])
        for told in (idle, life):
            told.tell(at, "external", quantity=size)
    for i in range(6):
        start = rng.randrange(12, WEEK - 30)
        end = start + rng.randrange(1, 20)
        life.trade(f"p{i}", (start, prices[start]), (end, prices[end]), 1)
    for told in (idle, life):
        told.until(WEEK)
    still, week = idle.week(), life.week()
    assert [growth for growth in growths(still) if growth is not None] == approx([0.0] * still.risk.days)
    assert still.risk.time_weighted_return == approx(0)
    assert still.risk.money_weighted_return == approx(0)
    days = [growth for growth in growths(week) if growth is not None]
    product = 1.0
    for growth in days:
        product *= 1 + growth
    assert week.risk.time_weighted_return == approx(product - 1)
    assert week.risk.max_drawdown_marked <= week.risk.max_drawdown + 1e-12
    one_by_one = [life.day(day).equity[-1].growth for day in range(7)]
    assert [one for one in one_by_one if one is not None] == approx(days)
