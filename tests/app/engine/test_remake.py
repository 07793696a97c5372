"""A review that is done is made again where its owner asks for it; letters go as soon as their channel is there again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retro.app.narration.narrators import plain_words
from retro.deliver.channel import Message, Outcome, Retry, Sent
from retro.errors import UsageError
from retro.periods import DAY, HOUR
from retro.store.database import Store
from retro.store.jobs import interventions
from tests.worlds.service_world import MONDAY, Recorder, World, life

WEEK = "bot.weekly.2026-W10"


def first_week(store: Store, folder: Path, *mailboxes: str) -> World:
    """A world in the night after its first week, whose reviews are owed and not made."""
    world = World(
        store, folder, mail=Recorder(to=mailboxes) if mailboxes else Recorder(), files=not mailboxes
    )
    world.clock.set(MONDAY + HOUR)
    world.tell(life(9)[:1])
    world.owe()
    world.clock.set(MONDAY + 8 * DAY + 2 * HOUR)
    world.tell(life(8))
    return world


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    world = first_week(store, tmp_path)
    world.knock()
    return world


def remade(world: World, name: str) -> None:
    with world.store.write() as conn:
        interventions.remake(conn, name)
    world.knock()


def test_a_done_review_is_made_again_as_a_new_revision_after_changed_thresholds(world: World) -> None:
    before = world.text(WEEK)
    world.configuration = {"retrospective": {"heuristic_min_citations": 50}}
    world.knock()
    assert world.review(WEEK).revision == 1
    remade(world, WEEK)
    assert world.review(WEEK).revision == 2
    assert world.text(WEEK, 1) == before
    assert world.text(WEEK, 2) != before
    world.knock()
    assert world.review(WEEK).revision == 2


def test_the_one_that_is_named_gets_new_words_even_where_no_figure_moves(world: World) -> None:
    def other_words(*given: Any) -> Any:
        document, paid = plain_words(*given)
        return document.model_copy(update={"what_worked": "Said anew."}), paid

    with world.store.write() as conn:
        interventions.remake(conn, WEEK)
    world.knock(words=other_words)
    assert (world.review(WEEK).revision, world.document(WEEK).what_worked) == (2, "Said anew.")


def test_of_all_since_an_instant_those_get_a_revision_of_which_a_figure_has_changed(world: World) -> None:
    world.configuration = {"retrospective": {"heuristic_min_citations": 50}}
    with world.store.write() as conn:
        count = interventions.remake_since(conn, MONDAY + 7 * DAY - 1)
    assert count == len(
        [r for r in world.reviews() if r.period_end >= MONDAY + 7 * DAY and r.state == "done"]
    )
    world.knock()
    assert world.review(WEEK).revision == 2
    assert world.review("bot.daily.2026-03-02").revision == 1
    with world.store.write() as conn:
        assert interventions.remake_since(conn, 0, "somebody else") == 0


def test_what_is_not_done_cannot_be_made_again(world: World) -> None:
    with world.store.write() as conn:
        conn.exec_driver_sql(f"UPDATE reviews SET state = 'skipped' WHERE id = '{WEEK}'")
    with pytest.raises(UsageError, match="is skipped; only a review that is done can be made again"):
        remade(world, WEEK)


# the mail server


def answering(world: World, answer: Callable[[Message], Outcome]) -> list[Message]:
    assert world.mail is not None
    world.mail.answer = answer
    return world.mail.got


def test_after_the_mail_server_is_mended_every_letter_goes_at_the_next_knock(
    store: Store, tmp_path: Path
) -> None:
    world = first_week(store, tmp_path, "ada@example.org", "bob@example.org")
    got = answering(world, lambda _: Retry("connection refused"))
    for _ in range(12):
        world.knock()
        world.clock.advance(600)
    waiting = [x for x in world.letters("mail") if x.state == "pending"]
    assert len(waiting) >= 2
    world.knock()
    assert any(x.not_before - world.clock() > 600 * 1_000_000 for x in world.letters("mail"))
    answering(world, lambda _: Sent())
    got.clear()
    world.clock.advance(60)
    world.knock()
    assert {x.state for x in world.letters("mail")} == {"sent"}
    assert len(got) == len(waiting)


def test_while_it_is_away_a_knock_asks_once_and_does_not_try_every_letter(
    store: Store, tmp_path: Path
) -> None:
    world = first_week(store, tmp_path, *(f"p{n}@example.org" for n in range(9)))
    got = answering(world, lambda _: Retry("connection refused"))
    for _ in range(90):
        world.knock()
        world.clock.advance(60)
    got.clear()
    world.knock()
    assert len(got) <= 2


def test_who_named_a_time_is_not_woken_by_the_letters_of_others(store: Store, tmp_path: Path) -> None:
    world = first_week(store, tmp_path, "ada@example.org", "bob@example.org")
    answering(world, lambda m: Retry("421 in an hour", 3600.0) if m.recipient.startswith("ada") else Sent())
    world.knock()
    got = answering(world, lambda _: Sent())
    got.clear()
    world.clock.advance(600)
    world.knock()
    assert got == []
