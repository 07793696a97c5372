"""Each agent keeps the grid of its reviews: no id ever names two periods, whatever the configuration says later."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retro.app.doctor.agents import agents as examine_agents
from retro.app.doctor.check import Installation
from retro.app.settlement.grid import regrid
from retro.errors import UsageError
from retro.periods import DAY, HOUR, SECOND
from retro.store.database import Store, open_store
from retro.store.facts import agents
from retro.store.facts.agents import Grid
from tests.worlds.service_world import MONDAY, Recorder, World, life, trade

EAST: dict[str, Any] = {"owner": {"time_zone": "Europe/Berlin"}}
WEST: dict[str, Any] = {"owner": {"time_zone": "America/New_York"}}


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    """A bot of two weeks and a day, every review made on UTC's grid."""
    made = World(store, tmp_path, mail=Recorder(), files=True)
    made.tell(life(15))
    made.clock.set(MONDAY + 15 * DAY + 2 * HOUR)
    made.knock()
    return made


def on_the_new_grid(world: World, name: str = "bot") -> str:
    with world.store.write() as conn:
        return regrid(conn, agents.existing_agent(conn, name), world.config, world.clock())


def periods(world: World) -> dict[str, tuple[int, int]]:
    return {review.id: (review.period_start, review.period_end) for review in world.reviews()}


@pytest.mark.parametrize(
    "changed", [EAST, WEST, {"retrospective": {"epoch_interval_days": 7}}], ids=["east", "west", "epochs"]
)
def test_a_changed_configuration_makes_no_period_twice(world: World, changed: dict[str, Any]) -> None:
    before, files = periods(world), world.files()
    world.configuration = changed
    world.knock()
    assert periods(world) == before
    assert world.files() == files
    world.clock.advance(7 * DAY / SECOND)
    world.tell(trade("p20", MONDAY + 20 * DAY, MONDAY + 20 * DAY + HOUR, 2000, 2010))
    world.knock()
    assert max(Counter(review.id for review in world.reviews()).values()) == 1
    days = world.reviews("daily")
    assert len(days) > 15
    assert all(before.period_end == after.period_start for before, after in pairwise(days))
    assert all(review.period_start % DAY == 0 for review in days)


def test_the_log_and_doctor_say_that_configuration_and_grid_differ_and_what_to_do(world: World) -> None:
    assert not world.events("grid_kept")
    world.configuration = EAST
    world.knock()
    sentence = (
        "bot: its reviews keep their grid (UTC, epochs of 30 days); the configuration says Europe/Berlin, epochs of "
        "30 days: `retro agents regrid bot` takes it, with new ids"
    )
    assert world.events("grid_kept") == [{"level": "warning", "agent": "bot", "reason": sentence}]
    house = Installation(world.config, {}, world.clock(), world.store)
    assert [check.detail for check in examine_agents(house) if check.name == "grid"] == [sentence]


def test_regrid_makes_history_anew_under_new_ids_and_leaves_the_old_as_it_was(world: World) -> None:
    old, files, letters = periods(world), world.files(), len(world.mail.got) if world.mail else 0
    texts = {name: world.text(name) for name in old}
    world.configuration = EAST
    assert on_the_new_grid(world) == (
        "bot: from UTC, epochs of 30 days to Europe/Berlin, epochs of 30 days; 17 reviews of the old grid stay as they "
        "are, the next knock makes the new ones (bot.daily.*.g2, bot.weekly.*.g2, bot.epoch.*.g2)"
    )
    world.knock()
    now = periods(world)
    assert old.items() <= now.items()
    assert {name: world.text(name) for name in old} == texts
    assert files.items() <= world.files().items()
    days = [review for review in world.reviews("daily") if review.state == "done"]
    assert [review.id for review in days][:2] == ["bot.daily.2026-03-02.g2", "bot.daily.2026-03-03.g2"]
    assert all(before.period_end == after.period_start for before, after in pairwise(days))
    assert all(review.period_start % DAY == 23 * HOUR for review in days)
    assert "bot/daily/2026-03-02.g2.md" in world.files()
    assert world.document("bot.daily.2026-03-02.g2").time_zone == "Europe/Berlin"
    assert world.mail is not None
    assert len(world.mail.got) == letters, "history that was told is not told again"
    world.clock.advance(7 * DAY / SECOND)
    world.knock()
    assert [message.review_id for message in world.mail.got[letters:]] == ["bot.weekly.2026-W12.g2"]


def test_late_facts_change_the_reviews_of_the_grid_in_force_and_no_old_one(world: World) -> None:
    world.configuration = EAST
    on_the_new_grid(world)
    world.knock()
    world.tell(trade("late", MONDAY + 3 * DAY + HOUR, MONDAY + 3 * DAY + 2 * HOUR, 2000, 2100))
    world.knock()
    assert world.review("bot.daily.2026-03-05").revision == 1
    assert world.review("bot.daily.2026-03-05").state == "superseded"
    assert world.review("bot.daily.2026-03-05.g2").revision == 2


def test_there_and_back_is_a_third_grid(world: World) -> None:
    first = periods(world)
    world.configuration = EAST
    on_the_new_grid(world)
    world.knock()
    world.configuration = {}
    on_the_new_grid(world)
    world.knock()
    assert world.review("bot.daily.2026-03-05.g3").period_start == first["bot.daily.2026-03-05"][0]
    assert max(Counter(review.id for review in world.reviews()).values()) == 1


def test_new_epochs_leave_days_and_weeks_alone(world: World) -> None:
    world.configuration = {"retrospective": {"epoch_interval_days": 7}}
    before = periods(world)
    on_the_new_grid(world)
    world.knock()
    assert sorted(periods(world).keys() - before.keys()) == [
        "bot.epoch.2026-03-02.g2",
        "bot.epoch.2026-03-09.g2",
    ]


def test_there_is_nothing_to_regrid_before_the_first_review_nor_on_the_same_grid(
    world: World, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="bot is on this grid already: UTC, epochs of 30 days"):
        on_the_new_grid(world)
    fresh = World(open_store(str(tmp_path / "fresh.db")), tmp_path)
    fresh.tell(life(2))
    with pytest.raises(UsageError, match="bot has no review yet"):
        on_the_new_grid(fresh)
    fresh.store.close()


def test_an_upgraded_database_takes_the_grid_its_reviews_were_made_on(world: World) -> None:
    """Whoever upgrades and moves in one go: the columns are empty, and the reviews say where they lie."""
    world.clock.advance(17 * DAY / SECOND)
    world.knock()
    with world.store.write() as conn:
        conn.exec_driver_sql("UPDATE agents SET time_zone = NULL, epoch_days = NULL")
    before = periods(world)
    world.configuration = {**EAST, "retrospective": {"epoch_interval_days": 7}}
    world.knock()
    assert periods(world) == before
    with world.store.read() as conn:
        grid = agents.existing_agent(conn, "bot").grid
    assert grid == Grid("UTC", 30)


ZONES = ["UTC", "Europe/London", "America/New_York", "Asia/Kolkata", "Pacific/Chatham"]
steps = st.lists(
    st.tuples(st.sampled_from(ZONES), st.sampled_from([5, 30]), st.booleans(), st.integers(0, 40)),
    min_size=1,
    max_size=4,
)


@given(steps=steps)
@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_configured_and_regridded_no_id_names_two_periods(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, bool, int]]
) -> None:
    folder = tmp_path_factory.mktemp("law")
    world = World(open_store(str(folder / "retro.db")), folder)
    world.tell(life(3))
    world.clock.set(MONDAY + 3 * DAY)
    named: dict[str, tuple[int, int]] = {}
    for time_zone, epoch_days, again, hours in steps:
        world.owe()
        world.configuration = {
            "owner": {"time_zone": time_zone},
            "retrospective": {"epoch_interval_days": epoch_days},
        }
        if again:
            with suppress(UsageError):  # on this grid already
                on_the_new_grid(world)
        world.clock.advance(hours * 3600)
        rows = world.owe()
        assert max(Counter(review.id for review in rows).values()) == 1
        for review in rows:
            span = (review.period_start, review.period_end)
            assert named.setdefault(review.id, span) == span
        for kind in ("daily", "weekly"):
            live = [
                review
                for review in rows
                if review.kind == kind and review.state not in {"skipped", "superseded"}
            ]
            assert all(a.period_end == b.period_start for a, b in pairwise(live))
    world.store.close()
