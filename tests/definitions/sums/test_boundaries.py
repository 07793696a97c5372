"""Periods against the definitions: half-open windows, the owner's zone, daylight saving, events on the line."""

from __future__ import annotations

from datetime import datetime
from math import fsum
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from retro.periods import HOUR
from tests.worlds.oracle import (
    ADDED,
    DAY,
    MONDAY,
    TAKEN,
    WEEK,
    Life,
    approx,
    clock,
    components,
    hours_of,
    life,
    life_of,
)

__all__ = ["life"]


def hour_of(year: int, month: int, day: int, hour: int, zone: str) -> float:
    """The hour of the life of a wall clock."""
    at = datetime(year, month, day, hour, tzinfo=ZoneInfo(zone))
    return (at.timestamp() * 1_000_000 - MONDAY) / HOUR


def test_windows_are_half_open(life: Life) -> None:
    """A trade closed at exactly midnight is the next day's; a mark at midnight is this day's."""
    life.market("ETH/USDC", {0: 100, 24: 107, 25: 105})
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 100)
    life.fill(24, "p", "sell", 1, 106)
    life.until(30)
    assert components(life.day(0).pnl) == approx({"unrealized_pnl": 7})
    assert components(life.day(1).pnl) == approx({"trading_gains": 6, "unrealized_pnl": -7})
    assert [a.action for a in life.day(0).actions_taken].count("exit") == 0
    assert life_of(life.day(0), "p").open is True
    assert life.day(1).effectiveness.closed_positions == 1
    assert life.day(0).effectiveness.closed_positions == 0


def test_a_cost_at_midnight_and_one_microsecond_before(life: Life) -> None:
    life.tell(0, "equity", balances={"USDC": 100}, value=100)
    life.tell(24, "cost", kind="gas", amount=1)
    life.tell(24 - 1e-9 * 0.2778 * 1000, "cost", kind="gas", amount=2)
    life.until(48)
    assert [life.day(d).pnl.gas_costs for d in (0, 1)] == [2, 1]


def test_owners_money_at_midnight_is_not_pnl_of_either_day(life: Life) -> None:
    life.tell(0, "equity", balances={"USDC": 100}, value=100)
    life.tell(24, "external", quantity=50)
    life.tell(30, "external", quantity=-20)
    life.until(48)
    first, second = life.day(0), life.day(1)
    assert (first.pnl.total, second.pnl.total) == (0, 0)
    assert (first.equity[-1].equity, second.equity[-1].equity) == (100, 130)
    assert second.equity[-1].flow == 30


LONDON: dict[str, Any] = {"owner": {"time_zone": "Europe/London"}}
NEW_YORK: dict[str, Any] = {"owner": {"time_zone": "America/New_York"}}


@pytest.mark.parametrize(
    ("zone", "sunday", "length"),
    [
        ("Europe/London", (2026, 3, 29), 23),
        ("Europe/London", (2026, 10, 25), 25),
        ("America/New_York", (2026, 3, 8), 23),
        ("America/New_York", (2026, 11, 1), 25),
    ],
)
def test_the_days_of_a_week_follow_the_owners_clock_across_daylight_saving(
    tmp_path: Path, zone: str, sunday: tuple[int, int, int], length: int
) -> None:
    """Costs of 1, 2, 4, ... just after and just before each local midnight: every day gets exactly its own."""
    life = Life(tmp_path, owner={"time_zone": zone})
    noon = hour_of(*sunday, 12, zone)
    start = hour_of(*sunday, 0, zone)
    end = hour_of(*sunday, 23, zone) + 1
    assert end - start == length
    life.tell(start - 200, "equity", balances={"USDC": 1e6}, value=1e6)
    for amount, hours in ((1, start - 0.001), (2, start), (4, end - 0.001), (8, end)):
        life.tell(hours, "cost", kind="data", amount=amount)
    life.until(end + 200)
    sunday_review = life.at("daily", noon)
    assert (hours_of(sunday_review.period_start), hours_of(sunday_review.period_end)) == approx((start, end))
    assert sunday_review.pnl.data_costs == 6
    week = life.at("weekly", noon)
    assert hours_of(week.period_end) == approx(end)  # ISO weeks end on Sunday
    assert hours_of(week.period_end) - hours_of(week.period_start) == approx(6 * 24 + length)
    assert week.pnl.data_costs == 7
    assert [e.at for e in week.equity][-2:] == [clock(start), clock(end)]


@pytest.mark.parametrize("zone", ["Europe/London", "America/New_York", "Asia/Kathmandu", "UTC"])
def test_a_week_is_the_sum_of_its_days_in_every_zone(tmp_path: Path, zone: str) -> None:
    """An open position and hourly marks over both changes of the clock."""
    life = Life(tmp_path, owner={"time_zone": zone})
    for base in (hour_of(2026, 3, 2, 0, "UTC"), hour_of(2026, 10, 19, 0, "UTC")):
        life.market("ETH/USDC", {base + h: 100 + (h * 37 % 23) for h in range(700)})
        name = f"p{base:.0f}"
        life.open(base + 5, name)
        life.fill(base + 5, name, "buy", 1, 101, fee="0.1")
        life.flow(base + 300, name, "funding_paid", "USDC", "0.3")
        life.fill(base + 600, name, "sell", 1, 111, fee="0.2")
    life.until(hour_of(2026, 11, 10, 0, "UTC"))
    for month, day in ((3, 8), (3, 29), (10, 25), (11, 1)):
        noon = hour_of(2026, month, day, 12, zone)
        week = life.at("weekly", noon)
        days = [life.at("daily", hours_of(week.period_start) + 12 + 24 * d) for d in range(7)]
        assert len({d.period_start for d in days}) == 7
        for name in ("total", *ADDED, *TAKEN):
            assert getattr(week.pnl, name) == fsum(getattr(d.pnl, name) for d in days), name
        assert [e.at for e in week.equity] == [days[0].period_start, *(d.period_end for d in days)]


def test_an_epoch_starts_at_midnight_of_the_day_of_birth(tmp_path: Path) -> None:
    """Born on a Tuesday evening in New York (Wednesday in UTC): thirty local days from that Tuesday."""
    life = Life(tmp_path, **NEW_YORK)
    born = hour_of(2026, 2, 24, 20, "America/New_York")
    life.tell(born, "equity", balances={"USDC": 100}, value=100)
    life.until(born + 40 * DAY)
    epoch = life.at("epoch", born + 5)
    start = hour_of(2026, 2, 24, 0, "America/New_York")
    assert hours_of(epoch.period_start) == approx(start)
    assert hours_of(epoch.period_end) == approx(hour_of(2026, 3, 26, 0, "America/New_York"))
    assert epoch.id == "a.epoch.2026-02-24"
    following = life.at("epoch", born + 31 * DAY)
    assert following.period_start == epoch.period_end


def test_names_of_reviews(tmp_path: Path) -> None:
    life = Life(tmp_path, **LONDON)
    life.trade("p", (0, 100), (1, 101))
    life.until(WEEK * 2)
    assert life.day(0).id == "a.daily.2026-01-05"
    assert life.week().id == "a.weekly.2026-W02"
    assert (life.week().generated_at, life.week().period_end) == (clock(WEEK + 1), clock(WEEK))


def test_the_last_complete_period_is_chosen_by_the_agents_newest_fact(life: Life) -> None:
    from tests.worlds.lives import report

    life.trade("p", (0, 100), (1, 101))
    life.until(3 * DAY + 5)
    assert report(life.store, "a", "daily").period_start == clock(2 * DAY)
    # no week is complete: the one it lives in
    assert report(life.store, "a", "weekly").period_start == clock(0)


def test_entry_and_exit_days_of_the_breakdowns_are_the_owners(tmp_path: Path) -> None:
    """Entered at 23:30 UTC on Monday: Tuesday 00:30 in Berlin."""
    life = Life(tmp_path, owner={"time_zone": "Europe/Berlin"})
    life.trade("p", (23.5, 100), (30, 101))
    life.until(100)
    breakdowns = life.week().breakdowns
    assert [b.n for b in breakdowns.by_hour] == [1]
    assert breakdowns.by_hour[0].key.startswith("00")
    assert breakdowns.by_weekday[0].key.lower().startswith("tue")


def test_a_custom_span_inside_a_day(life: Life) -> None:
    life.market("ETH/USDC", {h: 100 + h for h in range(48)})
    life.open(2, "p")
    life.fill(2, "p", "buy", 1, 102)
    life.until(47)
    assert life.span(5, 11).pnl.total == approx(6)
    assert life.span(5.5, 11).pnl.total == approx(6)  # the mark of 5 o'clock is the last before 5:30
