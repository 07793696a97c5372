"""The review of a whole life: its weeks are the weeks, they add up, and every format says them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retro.app.reviews.build import review_period
from retro.app.reviews.life import review_life
from retro.app.settlement.settle import settled_book
from retro.errors import UsageError
from retro.narrate.plain import words
from retro.periods import DAY, HOUR, period_at
from retro.present.formats import render
from retro.report import dump
from retro.report.life import LifeReport
from retro.store.database import open_store
from tests.worlds.service_world import MONDAY, World, life, trade

ZONES: list[dict[str, Any]] = [{}, {"owner": {"time_zone": "America/New_York"}}]


@pytest.fixture(params=ZONES, ids=["UTC", "New York"])
def world(tmp_path: Path, request: pytest.FixtureRequest) -> World:
    """Ten weeks and two days, beginning on a Wednesday."""
    made = World(open_store(str(tmp_path / "r.db")), tmp_path, configuration=request.param)
    made.clock.set(MONDAY + 80 * DAY)
    made.tell(life(72, start=MONDAY + 2 * DAY))
    return made


def life_report(world: World, as_of: int | None = None) -> LifeReport:
    with world.store.read() as conn:
        from retro.store.facts.agents import existing_agent

        settings = world.settings_for(existing_agent(conn, "bot"))
    with settled_book(world.store, "bot", settings) as book:
        return review_life(book, as_of=as_of)


def test_the_weeks_add_up_to_the_life_and_each_is_the_week_that_is_reviewed(world: World) -> None:
    report = life_report(world)
    assert report.weeks[-1].cumulative_pnl == pytest.approx(report.pnl.total)
    assert sum(week.pnl for week in report.weeks) == pytest.approx(report.pnl.total)
    assert sum(week.days for week in report.weeks) == len(report.equity) - 1
    assert sum(week.closed_positions for week in report.weeks) == 72
    with world.store.read() as conn:
        from retro.store.facts.agents import existing_agent

        settings = world.settings_for(existing_agent(conn, "bot"))
    whole = [week for week in report.weeks if week.days == 7]
    assert len(whole) >= 9
    with settled_book(world.store, "bot", settings) as book:
        for number, week in enumerate(whole):
            period = period_at("weekly", MONDAY + (10 + 7 * number) * DAY, settings.zone)
            of_week = review_period(book, period)
            assert (week.week, of_week.pnl.total) == (period.key, pytest.approx(week.pnl))
            assert of_week.risk.time_weighted_return == pytest.approx(week.growth)
            assert week.equity == pytest.approx(of_week.equity[-1].equity)
            assert week.closed_positions == of_week.effectiveness.closed_positions


def test_a_life_is_titled_as_such_in_every_format(world: World) -> None:
    report = words(life_report(world))
    assert isinstance(report, LifeReport)
    text = render(report, "text")
    assert text.startswith("WHOLE LIFE: bot")
    assert "WEEK BY WEEK" in text
    assert "Last 4 weeks" in text
    assert "2026-W14" in text
    assert "Week by week" in render(report, "md")
    html = render(report, "html")
    assert "Whole life" in html
    assert "2026-W14" in html
    document = json.loads(dump(report))
    assert document["horizon"] == "life"
    assert [week["week"] for week in document["weeks"]][:2] == ["2026-W10", "2026-W11"]
    assert all(not position["path"] for position in document["positions"])


def test_a_life_up_to_an_instant_knows_nothing_after_it(world: World) -> None:
    report = life_report(world, MONDAY + 20 * DAY)
    world.tell(trade("later", MONDAY + 60 * DAY + HOUR, MONDAY + 61 * DAY, 2000, 2500))
    assert dump(life_report(world, MONDAY + 20 * DAY)) == dump(report)
    with pytest.raises(UsageError, match="before the agent's first event"):
        life_report(world, MONDAY)
