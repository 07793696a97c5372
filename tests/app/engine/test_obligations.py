"""What is owed: periods of the calendar in every zone, positions, losses and deaths; the same whenever one looks."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.app.context import policy_of
from retro.app.engine.calendar import Lifespan, next_end, owed_periods
from retro.config import Config
from retro.periods import DAY, HOUR, SECOND, midnight, parse_instant
from retro.store.database import Store, open_store
from retro.store.jobs.reviews import NEVER
from tests.worlds.service_world import MONDAY, World, life, line, trade

CLOCKS = ["America/New_York", "Europe/London", "Australia/Sydney"]


def a_zone(name: str, epoch_days: int = 30) -> Any:
    return SimpleNamespace(zone=ZoneInfo(name), epoch_days=epoch_days)


def keys(kind: Literal["daily", "weekly", "epoch"], zone: str, birth: str, until: str) -> list[str]:
    periods = owed_periods(kind, a_zone(zone), Lifespan(parse_instant(birth)), parse_instant(until))
    return [period.key for period in periods]


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    return World(store, tmp_path)


# the calendar


def test_14_week_53_and_the_turn_of_the_year_have_their_own_keys() -> None:
    """2026 has 53 ISO weeks; its last one ends in January and still belongs to it."""
    assert keys("weekly", "UTC", "2026-12-20T00:00:00Z", "2027-01-12T00:00:00Z") == [
        "2026-W51",
        "2026-W52",
        "2026-W53",
        "2027-W01",
    ]
    born = Lifespan(parse_instant("2026-12-30T00:00:00Z"))
    week = next(owed_periods("weekly", a_zone("UTC"), born, parse_instant("2028-01-01T00:00:00Z")))
    assert (week.start, week.end) == (
        parse_instant("2026-12-28T00:00:00Z"),
        parse_instant("2027-01-04T00:00:00Z"),
    )


@given(
    day=st.dates(date(2000, 1, 1), date(2060, 1, 1)),
    zone=st.sampled_from([*CLOCKS, "UTC", "Asia/Kolkata", "Pacific/Chatham"]),
    weeks=st.integers(1, 60),
)
@settings(deadline=None, max_examples=60)
def test_14_weeks_follow_one_another_without_gap_and_bear_the_iso_name(
    day: date, zone: str, weeks: int
) -> None:
    tz = ZoneInfo(zone)
    birth = midnight(day, tz) + 5 * HOUR
    until = midnight(day + timedelta(weeks=weeks), tz)
    periods = list(owed_periods("weekly", a_zone(zone), Lifespan(birth), until))
    assert all(before.end == after.start for before, after in pairwise(periods))
    assert len({period.key for period in periods}) == len(periods) >= weeks - 1
    for period in periods:
        local = datetime.fromtimestamp(period.start / 1e6, tz)
        assert (local.weekday(), local.hour) == (0, 0)
        year, week, _ = (local.date() + timedelta(days=3)).isocalendar()
        assert period.key == f"{year}-W{week:02d}"


@pytest.mark.parametrize("zone", CLOCKS)
def test_10_a_day_that_the_spring_shortens_is_reviewed_once(zone: str) -> None:
    """The clocks of New York, London and Sydney each skip an hour once a year: 365 days, one of 23 hours."""
    tz = ZoneInfo(zone)
    birth = midnight(date(2026, 1, 1), tz)
    periods = list(owed_periods("daily", a_zone(zone), Lifespan(birth), midnight(date(2027, 1, 1), tz)))
    assert [p.key for p in periods] == [
        (date(2026, 1, 1) + timedelta(days=k)).isoformat() for k in range(365)
    ]
    hours = sorted((p.end - p.start) // HOUR for p in periods)
    assert (hours[0], hours[-1], sum(hours)) == (23, 25, 365 * 24)


@pytest.mark.parametrize("zone", CLOCKS)
def test_11_a_day_that_the_autumn_lengthens_is_reviewed_once(world: World, zone: str) -> None:
    """Knocking every half hour through the night the clock shows one hour twice makes each day and week once."""
    world.configuration = {"owner": {"time_zone": zone}, "retrospective": {"position_close_review": False}}
    tz = ZoneInfo(zone)
    change = next(
        p
        for p in owed_periods(
            "daily", a_zone(zone), Lifespan(midnight(date(2026, 1, 1), tz)), midnight(date(2027, 1, 1), tz)
        )
        if p.end - p.start == 25 * HOUR
    )
    world.clock.set(change.start - 3 * DAY)
    world.tell([line("equity", "e", change.start - 3 * DAY, value=100)])
    review_keys: dict[str, int] = {}
    for half_hour in range(12 * 48):
        world.clock.set(change.start - 3 * DAY + half_hour * HOUR // 2)
        if half_hour % 16 == 0 or abs(world.clock() - change.end) < 3 * HOUR:
            for review in world.owe():
                review_keys.setdefault(review.id, review.key)
                assert review_keys[review.id] == review.key
    daily_reviews = world.reviews("daily")
    assert [r.period_end for r in daily_reviews[:-1]] == [r.period_start for r in daily_reviews[1:]]
    assert sum(r.period_end - r.period_start == 25 * HOUR for r in daily_reviews) == 1
    assert len(world.reviews("weekly")) in {1, 2}


@pytest.mark.parametrize("zone", CLOCKS)
def test_10_and_11_a_weekly_review_falls_due_at_local_midnight_across_both_changes(zone: str) -> None:
    """The scheduler we knock with loses the Monday after a change of the clock; the ledger does not."""
    tz = ZoneInfo(zone)
    periods = list(
        owed_periods(
            "weekly", a_zone(zone), Lifespan(midnight(date(2025, 12, 29), tz)), midnight(date(2027, 1, 4), tz)
        )
    )
    assert len(periods) == 53
    assert all(datetime.fromtimestamp(p.end / 1e6, tz).strftime("%a %H:%M") == "Mon 00:00" for p in periods)


def test_an_epoch_is_counted_from_the_day_of_the_first_event_and_ends_with_the_life() -> None:
    birth, died = parse_instant("2026-01-05T13:00:00Z"), parse_instant("2026-02-20T08:00:01Z")
    periods = list(
        owed_periods(
            "epoch", a_zone("UTC"), Lifespan(birth, died, died), parse_instant("2026-12-01T00:00:00Z")
        )
    )
    assert [(p.key, p.end) for p in periods] == [
        ("2026-01-05", parse_instant("2026-02-04T00:00:00Z")),
        ("2026-02-04", died),
    ]


def test_the_next_period_to_end_is_the_nearest_of_those_wanted() -> None:
    terms = policy_of(Config.model_validate({"retrospective": {"daily_review_enabled": False}}))
    now = parse_instant("2026-03-04T10:00:00Z")
    assert next_end(a_zone("UTC"), terms, Lifespan(MONDAY), now) == parse_instant("2026-03-09T00:00:00Z")
    dead = Lifespan(MONDAY, MONDAY, MONDAY + SECOND)
    assert next_end(a_zone("UTC"), terms, dead, now) == parse_instant("2026-03-09T00:00:00Z")
    assert next_end(a_zone("UTC"), terms, dead, now + 30 * DAY) == NEVER


# the ledger heals


def test_looking_again_and_again_changes_nothing(world: World) -> None:
    world.clock.set(MONDAY + 20 * DAY)
    world.tell(life(20))
    first = world.owe()
    assert world.owe() == first
    world.clock.advance(1)
    assert world.owe() == first


@given(stops=st.lists(st.integers(0, 70 * 24), max_size=5), lost=st.integers(0, 30))
@settings(deadline=None, max_examples=8)
def test_whenever_one_looks_the_ledger_ends_the_same(
    tmp_path_factory: pytest.TempPathFactory, stops: list[int], lost: int
) -> None:
    """Outages, clocks put back and rows lost with an old backup: what is owed in the end is what was always owed."""

    def owed(hours: list[int], *, lose: int) -> set[tuple[object, ...]]:
        folder = tmp_path_factory.mktemp("w")
        world = World(open_store(str(folder / "r.db")), folder)
        world.tell(life(12, every=5))
        for hour in hours:
            world.clock.set(MONDAY + hour * HOUR)
            world.owe()
        with world.store.write() as conn:
            conn.exec_driver_sql("DELETE FROM reviews WHERE key % 7 = 3 AND key <= ?", (lose,))
        world.clock.set(MONDAY + 70 * DAY)
        owed_reviews = world.owe()
        world.store.close()
        return {(r.id, r.period_start, r.period_end, r.due_at, r.state) for r in owed_reviews}

    assert owed(stops, lose=lost) == owed([], lose=0)


def test_periods_that_ended_before_the_first_ingest_are_history(world: World) -> None:
    world.clock.set(MONDAY + 10 * DAY + 12 * HOUR)
    world.tell(life(10))
    world.clock.set(MONDAY + 15 * DAY)
    backfills = {r.id: r.backfill for r in world.owe()}
    assert backfills["bot.daily.2026-03-11"]
    assert backfills["bot.weekly.2026-W10"]
    assert not backfills["bot.daily.2026-03-12"]
    assert not backfills["bot.weekly.2026-W11"]
    assert backfills["bot.position.p9"]


def test_an_agent_first_seen_by_a_clock_that_was_ahead_is_not_silent_until_then(world: World) -> None:
    world.clock.set(MONDAY + 365 * DAY)
    world.tell([line("equity", "e", MONDAY, value=1)])
    world.clock.set(MONDAY + HOUR)
    world.tell([line("equity", "e2", MONDAY + HOUR, value=1)])
    world.clock.set(MONDAY + 2 * DAY)
    assert [r.backfill for r in world.owe()] == [False, False]


def test_what_the_owner_does_not_want_is_not_owed(world: World) -> None:
    world.configuration = {
        "retrospective": {
            "daily_review_enabled": False,
            "epoch_review_enabled": False,
            "position_close_review": False,
        }
    }
    world.clock.set(MONDAY + 40 * DAY)
    world.tell(life(9))
    assert {r.kind for r in world.owe()} == {"weekly"}


def test_latest_passes_over_what_a_later_period_has_overtaken(world: World) -> None:
    world.configuration = {"service": {"catch_up": "latest"}}
    world.tell(life(1))
    world.clock.set(MONDAY + 35 * DAY + 2 * HOUR)
    owed_reviews = world.owe()
    states = {
        (r.kind, r.state): sum(x.kind == r.kind and x.state == r.state for x in owed_reviews)
        for r in owed_reviews
    }
    assert states == {
        ("daily", "skipped"): 34,
        ("daily", "due"): 1,
        ("weekly", "skipped"): 4,
        ("weekly", "due"): 1,
        ("epoch", "due"): 1,
        ("position", "due"): 1,
    }
    assert {r.reason for r in owed_reviews if r.state == "skipped"} == {"passed over: catch_up = latest"}


# events


def test_a_position_is_owed_at_its_close_and_again_when_it_can_be_judged(world: World) -> None:
    world.clock.set(MONDAY + 12 * HOUR)
    world.tell(life(0) + trade("p", MONDAY + HOUR, MONDAY + 3 * HOUR, 2000, 2010))
    (position_review,) = [r for r in world.owe() if r.kind == "position"]
    assert (position_review.id, position_review.subject, position_review.due_at) == (
        "bot.position.p",
        "p",
        MONDAY + 3 * HOUR,
    )
    assert (position_review.period_start, position_review.period_end) == (MONDAY + HOUR, MONDAY + 3 * HOUR)
    assert position_review.again_at == MONDAY + 5 * HOUR + HOUR


@pytest.mark.parametrize(("price", "owed"), [(1500.0, 0), (1499.99, 1), (1499.0, 1)])
def test_a_loss_is_reviewed_strictly_beyond_the_threshold(world: World, price: float, owed: int) -> None:
    """Equity just before is 10,000: a loss of 500 is exactly 5 %, and one cent more is beyond it."""
    world.clock.set(MONDAY + 2 * DAY)
    world.tell(
        [
            line("equity", "e", MONDAY, value=10_000, balances={"USDC": 10_000}),
            line("mark", "m2", MONDAY + 2 * HOUR, asset="ETH", price=2000),
            line("mark", "m4", MONDAY + 4 * HOUR, asset="ETH", price=1500),
            *trade("p", MONDAY + HOUR, MONDAY + 3 * HOUR, 2000, price),
        ]
    )
    losses = [r for r in world.owe() if r.kind == "loss"]
    assert len(losses) == owed
    for loss in losses:
        assert (loss.id, loss.subject) == ("bot.loss.p-out", "p-out")
        assert (loss.period_start, loss.period_end) == (MONDAY, MONDAY + 3 * HOUR + SECOND)


def test_equity_just_before_counts_what_was_won_and_lost_until_then(world: World) -> None:
    """After a deposit of 10,000 the same loss of 600 is 3 % and no longer beyond the threshold."""
    trades = trade("a", MONDAY + HOUR, MONDAY + 3 * HOUR, 2000, 1400)
    again = trade("b", MONDAY + 6 * HOUR, MONDAY + 8 * HOUR, 2000, 1400)
    world.clock.set(MONDAY + 2 * DAY)
    world.tell(
        [
            line("equity", "e", MONDAY, value=10_000, balances={"USDC": 10_000}),
            line("external", "x", MONDAY + 5 * HOUR, quantity=10_600),
            *trades,
            *again,
        ]
    )
    assert [r.subject for r in world.owe() if r.kind == "loss"] == ["a-out"]


def test_one_exit_in_several_fills_is_one_action(world: World) -> None:
    """Three fills of one exit decision lose 2 % each: together beyond 5 %."""
    lines = [
        line("equity", "e", MONDAY, value=10_000, balances={"USDC": 10_000}),
        *trade("p", MONDAY + HOUR, MONDAY + 3 * HOUR, 2000, 1800, quantity=3.0)[:3],
        line("decision", "out", MONDAY + 3 * HOUR, action="exit", position="p"),
    ]
    lines += [
        line(
            "fill", f"f{k}", MONDAY + 3 * HOUR + k * SECOND, position="p", side="sell", quantity=1, price=1800
        )
        for k in range(3)
    ]
    world.clock.set(MONDAY + DAY)
    world.tell(lines)
    assert [(r.subject, r.period_end) for r in world.owe() if r.kind == "loss"] == [
        ("out", MONDAY + 3 * HOUR + 3 * SECOND)
    ]


def test_without_a_known_capital_there_is_no_loss_trigger(world: World) -> None:
    world.clock.set(MONDAY + DAY)
    world.tell(trade("p", MONDAY + HOUR, MONDAY + 3 * HOUR, 2000, 1000))
    assert [r.kind for r in world.owe() if r.kind == "loss"] == []


def test_a_death_is_reviewed_after_the_last_position_is_settled(world: World) -> None:
    p = trade("p", MONDAY + HOUR, MONDAY + 30 * HOUR, 2000, 2010)
    world.clock.set(MONDAY + 26 * HOUR)
    world.tell([*life(1), *p[:3], line("death", "d", MONDAY + 25 * HOUR, cause="out of gas")])
    (waiting,) = [r for r in world.owe() if r.kind == "death"]
    assert (waiting.id, waiting.state) == ("bot.death", "waiting")
    assert waiting.reason == "waits until 1 open position is settled"
    world.clock.set(MONDAY + 32 * HOUR)
    world.tell(p[3:])
    (settled,) = [r for r in world.owe() if r.kind == "death"]
    assert settled.key == waiting.key
    assert (settled.period_end, settled.state) == (MONDAY + 30 * HOUR + SECOND, "due")
    assert (settled.period_start, settled.reason) == (MONDAY, None)


def test_after_a_death_no_further_period_is_owed(world: World) -> None:
    world.clock.set(MONDAY + 300 * DAY)
    world.tell([*life(2), line("death", "d", MONDAY + 40 * HOUR)])
    review_ids = [r.id for r in world.owe() if r.kind != "position"]
    assert review_ids == [
        "bot.daily.2026-03-02",
        "bot.death",
        "bot.epoch.2026-03-02",
        "bot.daily.2026-03-03",
        "bot.weekly.2026-W10",
    ]


def test_times_told_here_are_utc() -> None:
    assert datetime.fromtimestamp(MONDAY / 1e6, UTC).weekday() == 0
