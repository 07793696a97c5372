"""What a loss and a death are told by: the day up to the action, and the whole life."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from retro.periods import DAY, HOUR, SECOND, format_instant
from retro.report import RetrospectiveReport
from retro.store.database import Store
from tests.worlds.service_world import MONDAY, Recorder, World, life, line, trade


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    world = World(store, tmp_path, at=MONDAY + HOUR, mail=Recorder())
    world.configuration = {"mail": {"host": "h", "recipients": ["ada@example.org"]}}
    world.tell(life(1)[:1])
    return world


def test_a_loss_is_told_by_its_day_up_to_and_with_the_action(world: World) -> None:
    """What came before it that day stands in it, what came after it does not; it waits for no later mark."""
    events = [
        *trade("a", MONDAY + HOUR, MONDAY + 2 * HOUR, 2000, 2010),
        *trade("b", MONDAY + 3 * HOUR, MONDAY + 5 * HOUR, 2000, 1400),
        *trade("c", MONDAY + 6 * HOUR, MONDAY + 7 * HOUR, 2000, 2050),
    ]
    world.clock.set(MONDAY + 5 * HOUR + 10 * SECOND)
    world.tell([event for event in events if event["at"] < format_instant(MONDAY + 6 * HOUR)])
    world.knock()
    report = world.document("bot.loss.b-out")
    assert isinstance(report, RetrospectiveReport)
    assert (report.id, report.horizon, report.revision) == ("bot.loss.b-out", "loss", 1)
    assert (report.period_start, report.period_end) == (
        format_instant(MONDAY),
        format_instant(MONDAY + 5 * HOUR + SECOND),
    )
    assert report.generated_at == report.period_end
    assert report.pnl.total == pytest.approx(-590)
    assert [position.position_id for position in report.positions] == ["a", "b"]
    assert world.mail is not None
    assert [message.review_id for message in world.mail.got] == ["bot.loss.b-out"]
    before = world.text("bot.loss.b-out")
    world.clock.set(MONDAY + DAY + 2 * HOUR)
    world.tell(events)
    world.knock()
    assert world.text("bot.loss.b-out") == before
    assert world.review("bot.loss.b-out").revision == 1


def heuristic(row: Any) -> tuple[str, str]:
    return row.heuristic_id, row.recommendation.kind


def test_a_death_report_gathers_the_life(world: World) -> None:
    """Totals, what was kept and demoted with counts, the largest regrets, and what it would change."""
    events = life(6)
    for number in range(4):
        at = MONDAY + number * DAY + 16 * HOUR
        bad = trade(f"q{number}", at, at + HOUR, 2000, 1990)
        bad[1]["cites"] = ["H-9"]
        events += bad
    peak = line("mark", "peak", MONDAY + 10 * HOUR, asset="ETH", price=2030)
    world.clock.set(MONDAY + 6 * DAY + HOUR)
    world.tell([*events, peak, line("death", "d", MONDAY + 6 * DAY, cause="out of gas")])
    world.clock.advance(3600)
    world.knock()
    report = world.document("bot.death")
    assert (report.id, report.horizon, report.agent) == ("bot.death", "death", "bot")
    assert (report.period_start, report.period_end) == (
        format_instant(MONDAY),
        format_instant(MONDAY + 6 * DAY + SECOND),
    )
    assert report.pnl.total == pytest.approx(3 * 10 - 3 * 4 - 4 * 10)
    assert len(report.positions) == 10
    assert all(position.path == [] for position in report.positions)
    kinds = dict(heuristic(row) for row in report.heuristic_performance if row.role == "entry")
    assert (kinds["H-7"], kinds["H-9"]) == ("keep", "demote")
    assert (
        "In its whole life it made -22.00 USDC over 10 closed positions, 30 % of them with a gain."
        in report.what_worked
    )
    assert (
        "Kept, by the thresholds: H-7 (entry, cited 6 times, 6 outcomes, average +3.00 USDC"
        in report.what_worked
    )
    assert "H-9 (entry, cited 4 times, 4 outcomes, average -10.00 USDC)" in report.what_failed
    assert "Largest regrets: p0 (ETH/USDC) 20.00 USDC" in report.what_failed
    assert "Demoted, by the thresholds: " in report.what_failed
    would = report.hindsight.partition("By its own figures it would no longer act on ")[2]
    assert "H-9" in would.partition(" and look again")[0]
    assert world.mail is not None
    assert "bot.death" in {message.review_id for message in world.mail.got}


def test_a_life_without_lessons_says_so(world: World) -> None:
    world.clock.set(MONDAY + DAY + 3 * HOUR)
    world.tell([line("death", "d", MONDAY + DAY)])
    world.knock()
    report = world.document("bot.death")
    assert report.hindsight.endswith("By its own figures it would change no rule.")
    assert "over 0 closed positions." in report.what_worked


def test_a_death_report_counts_no_gain_that_is_not_believed(world: World) -> None:
    world.clock.set(MONDAY + 2 * DAY + 2 * HOUR)
    absurd = trade("x", MONDAY + 3 * HOUR, MONDAY + 5 * HOUR, 2000, 25_000)
    world.tell([*life(1), *absurd, line("death", "d", MONDAY + 2 * DAY)])
    world.knock()
    report = world.document("bot.death")
    assert report.pnl.implausible_pnl == report.pnl.unbelieved_pnl == pytest.approx(23_000)
    assert "In its whole life it made +10.00 USDC over 1 closed position, " in report.what_worked


def test_a_late_fact_of_a_life_makes_its_death_report_anew(world: World) -> None:
    world.clock.set(MONDAY + 2 * DAY + 3 * HOUR)
    world.tell([*life(2), line("death", "d", MONDAY + 2 * DAY)])
    world.knock()
    assert world.review("bot.death").revision == 1
    world.tell([line("cost", "c", MONDAY + HOUR, kind="inference", amount=7)])
    world.knock()
    assert world.review("bot.death").revision == 2
    assert world.document("bot.death").costs.inference == 7


def test_a_position_settled_after_the_death_moves_the_end_of_the_life(world: World) -> None:
    world.clock.set(MONDAY + DAY + 3 * HOUR)
    p = trade("p", MONDAY + HOUR, MONDAY + 3 * DAY, 2000, 2010)
    world.tell([*p[:3], line("death", "d", MONDAY + DAY)])
    world.knock()
    assert world.review("bot.death").state == "waiting"
    world.clock.set(MONDAY + 3 * DAY + 2 * HOUR)
    world.tell(p[3:])
    world.knock()
    assert world.review("bot.death").state == "done"
    assert world.document("bot.death").period_end == format_instant(MONDAY + 3 * DAY + SECOND)
    epoch = world.review("bot.epoch.2026-03-02")
    assert (epoch.state, epoch.period_end) == ("done", MONDAY + 3 * DAY + SECOND)
