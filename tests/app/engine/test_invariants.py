"""What must hold in the ledger whatever comes: each law broken on purpose, and what is withheld then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from retro.app.context import policy_of
from retro.app.engine.calendar import tiling
from retro.app.engine.obligations import enqueue_due
from retro.app.engine.worker import run_pass
from retro.deliver.channel import Message, Outcome, Sent
from retro.errors import InvariantError
from retro.periods import DAY, HOUR, SECOND, Period
from retro.store.database import Store
from retro.store.jobs import claims, reviews
from retro.store.jobs.tables import outbox
from tests.worlds.service_world import MONDAY, Recorder, World, life, line


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    world = World(store, tmp_path, at=MONDAY + HOUR)
    world.tell([line("equity", "e", MONDAY, value=100)])
    world.clock.set(MONDAY + 3 * DAY + 2 * HOUR)
    return world


def claim(world: World) -> reviews.Review:
    with world.store.write() as conn:
        (review,) = claims.claim(conn, "a", world.clock(), 90 * SECOND)
    return review


def keep(world: World, review: reviews.Review, revision: int) -> None:
    with world.store.write() as conn:
        claims.keep_numbers(conn, review, revision=revision, facts="", digest="", text="new")


# a broken law parks the review


def test_a_review_that_breaks_a_law_is_parked_at_once_under_its_name(world: World) -> None:
    def words(review: Any, *_: Any) -> Any:
        raise InvariantError("parts add up", review.id)

    tally = world.knock(words=words)
    parked = world.review("bot.daily.2026-03-02")
    assert (parked.state, parked.attempts) == ("parked", 1)
    assert "parts add up" in (parked.reason or "")
    assert (tally.done, tally.failed, tally.parked, tally.clean) == (0, 3, 3, False)
    assert world.letters() == []


# revisions


@pytest.mark.parametrize("revision", [0, 3])
def test_a_revision_only_grows_and_by_one(world: World, revision: int) -> None:
    world.owe()
    review = claim(world)
    with pytest.raises(InvariantError, match="a revision only grows"):
        keep(world, review, revision)
    keep(world, review, 1)
    keep(world, review, 2)


def test_a_finished_revision_is_never_overwritten(world: World) -> None:
    world.knock()
    text = world.text("bot.daily.2026-03-02")
    world.tell([line("cost", "c", MONDAY + HOUR, kind="gas", amount=3)])
    review = claim(world)
    assert (review.id, review.revision) == ("bot.daily.2026-03-02", 1)
    with pytest.raises(InvariantError, match="a finished revision is never overwritten"):
        keep(world, review, 1)
    assert world.text("bot.daily.2026-03-02") == text
    keep(world, review, 2)


# periods


def test_periods_that_tile_the_line_pass() -> None:
    periods = [Period("daily", day * DAY, (day + 1) * DAY, str(day)) for day in range(3)]
    assert list(tiling(periods, HOUR)) == periods
    assert list(tiling([], HOUR)) == []


@pytest.mark.parametrize(
    "bounds",
    [[(0, 2), (3, 4)], [(0, 2), (1, 4)], [(0, 2), (2, 2)], [(0, 2), (2, 1)], [(1, 2)]],
    ids=["gap", "overlap", "empty", "backwards", "begins after the birth"],
)
def test_a_gap_an_overlap_and_an_empty_period_are_refused(bounds: list[tuple[int, int]]) -> None:
    periods = [Period("daily", start * DAY, end * DAY, "") for start, end in bounds]
    with pytest.raises(InvariantError, match="contiguous and half-open"):
        list(tiling(periods, 0))


def test_one_agent_whose_periods_are_broken_does_not_hold_up_the_others(world: World) -> None:
    world.tell([line("equity", "e2", MONDAY, "another", value=100)])

    def settings_for(agent: Any) -> Any:
        if agent.name == "another":
            raise InvariantError("the periods of an agent are contiguous and half-open")
        return world.settings_for(agent)

    with pytest.raises(InvariantError):
        enqueue_due(world.store, settings_for, policy_of(world.config), world.clock(), all_agents=True)
    assert {review.agent for review in world.reviews()} == {"bot"}
    tally = run_pass(world.bench(settings_for=settings_for), all_agents=True)
    assert (tally.done, tally.failed, tally.clean) == (3, 1, False)
    (event,) = world.events("obligations_withheld")
    assert "contiguous" in event["reason"]


# deliveries


def test_a_delivery_is_sent_once_under_a_lease(store: Store, tmp_path: Path) -> None:
    """A row that comes back in the same attempt, which no step of ours writes, is not sent again: it fails, named."""

    def answer(_: Message) -> Outcome:
        with store.write() as conn:
            stuck = update(outbox).where(outbox.c.channel == "mail", outbox.c.state == "sending")
            conn.execute(stuck.values(state="pending", owner=None, attempts=0))
        return Sent()

    mail = Recorder(answer=answer)
    world = World(store, tmp_path, at=MONDAY + HOUR, mail=mail, configuration={"mail": {"kinds": ["weekly"]}})
    world.tell(life(1)[:1])
    world.clock.set(MONDAY + 7 * DAY + 2 * HOUR)
    world.tell(life(7))
    tally = world.knock()
    assert len(mail.got) == 1
    (letter,) = world.letters("mail")
    assert letter.state == "failed"
    assert "a delivery is sent once under a lease" in (letter.reason or "")
    assert tally.refused == 1


def test_what_a_person_resends_in_the_same_pass_is_another_lease(store: Store, tmp_path: Path) -> None:
    from retro.store.jobs.outbox import resend

    world = World(
        store,
        tmp_path,
        at=MONDAY + HOUR,
        mail=(mail := Recorder()),
        configuration={"mail": {"kinds": ["weekly"]}},
    )
    world.tell(life(1)[:1])
    world.clock.set(MONDAY + 7 * DAY + 2 * HOUR)
    world.tell(life(7))
    world.knock()
    with store.write() as conn:
        assert resend(conn, "bot.weekly.2026-W10", world.clock()) >= 1
    world.knock()
    assert len(mail.got) == 2
