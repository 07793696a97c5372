"""The service has its reviews worded: on time, once, under the caps, booked to the agent; whatever the model does."""

from __future__ import annotations

import multiprocessing
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from retro.app.engine.worker import run_once
from retro.app.narration.narrate import model_exchanges
from retro.app.narration.narrators import words_of
from retro.periods import DAY, HOUR, format_instant
from retro.store import spend
from retro.store.database import Store, open_store
from retro.testing.model import Answer, FakeModel, overloaded, said
from tests.worlds.narrations import KEY, house
from tests.worlds.service_world import MONDAY, Recorder, World, life, trade

__all__ = ["house"]  # a fixture

FORK = multiprocessing.get_context("fork")
WEEK = "bot.weekly.2026-W10"
USAGE = {"input_tokens": 5000, "output_tokens": 400}
CENTS = Decimal("0.0007")
"""What such an answer costs at T1."""


def answers(request: dict[str, Any]) -> Answer:
    """A sound answer to either schema."""
    names = request["output_config"]["format"]["schema"]["properties"]
    texts = {name: "It ended at {pnl.total}." for name, kind in names.items() if kind["type"] == "string"}
    return said(texts | {name: [] for name in names if name not in texts}, usage=USAGE)


class Home(World):
    """A world whose service has a key."""

    def lives_on(self) -> None:
        """What happened by now is told."""
        self.tell([event for event in life(9, every=6) if event["at"] < format_instant(self.clock())])

    def service(self, store: Store | None = None) -> dict[str, Any]:
        own = store or self.store
        return {"store": own, "words": words_of(own, self.config, KEY, self.clock, lambda: None)}


def home(store: Store, folder: Path, url: str, **llm: Any) -> Home:
    """A week whose agent was known from its first hour, so that nothing of it is history."""
    configuration = {"llm": {"base_url": url, "timeout_s": 20.0} | llm, "memory": {"records": False}}
    world = Home(store, folder, configuration=configuration, at=MONDAY)
    world.clock.set(MONDAY + HOUR)
    world.lives_on()
    world.clock.set(MONDAY + 7 * DAY + 6 * HOUR)
    world.lives_on()
    return world


def spent(store: Store) -> spend.Spent:
    with store.read() as conn:
        return spend.spent(conn)


def test_the_service_words_every_kind_of_review_and_books_it(store: Store, tmp_path: Path) -> None:
    with FakeModel(answers) as model:
        world = home(store, tmp_path, model.url)
        tally = world.knock(**world.service())
        calls = len(model.calls)
        world.knock(**world.service())
        assert len(model.calls) == calls, "nothing is asked twice"
    assert tally.failed == tally.parked == 0
    kinds = {review.kind for review in world.reviews() if review.state == "done"}
    assert {"daily", "weekly", "position"} <= kinds
    assert calls == len([review for review in world.reviews() if review.state == "done"])
    document = world.document(WEEK)
    assert (document.narrative.source, document.narrative.model) == ("model", "claude-haiku-5-5")
    assert document.what_worked.startswith("It ended at +")
    ledger = spent(store)
    assert (ledger.calls, ledger.tokens_in) == (calls, model.billed["input_tokens"])
    assert ledger.usd == calls * CENTS
    [exchange] = model_exchanges(store, WEEK)
    assert exchange["prompt"] == document.narrative.prompt


def test_what_words_cost_is_in_the_books_of_the_day_they_were_written(store: Store, tmp_path: Path) -> None:
    with FakeModel(answers) as model:
        world = home(store, tmp_path, model.url)
        world.knock(**world.service())
        written = len(model.calls)
        world.clock.set(MONDAY + 8 * DAY + 6 * HOUR)
        world.lives_on()
        world.knock(**world.service())
    day = world.document("bot.daily.2026-03-09")
    assert day.costs.inference == pytest.approx(float(written * CENTS))
    assert day.pnl.inference_costs == day.costs.inference
    assert all(review.revision == 1 for review in world.reviews()), "no review is made again for it"


@pytest.mark.parametrize(
    ("script", "llm", "why"),
    [
        (overloaded(), {}, "529 (overloaded)"),
        (answers, {"max_usd_per_day": 0.0}, "the cap of 0 USD a day"),
        (answers, {"t1_model": "claude-unheard-of"}, "no price is known"),
        (answers, {"base_url": "http://127.0.0.1:9"}, "could not be reached"),
    ],
)
def test_fault_17_without_an_answer_every_review_is_done_on_time_in_plain_words(
    house: Store, tmp_path: Path, script: Any, llm: dict[str, Any], why: str
) -> None:
    with FakeModel(script) as model:
        world = home(house, tmp_path, model.url, **llm)
        for _ in range(3):  # a model that is away is asked at three knocks
            tally = world.knock(**world.service())
            world.clock.advance(60)
    assert tally.failed == tally.parked == tally.unworded == 0
    assert {review.state for review in world.reviews()} <= {"done", "waiting"}
    document = world.document(WEEK)
    assert document.narrative.source == "plain"
    assert why in document.narrative.why


def test_words_are_tried_again_at_the_next_knock_and_the_letter_waits_for_them(
    store: Store, tmp_path: Path
) -> None:
    away = [True]

    def script(request: dict[str, Any]) -> Answer:
        return overloaded() if away else answers(request)

    with FakeModel(script) as model:
        world = home(store, tmp_path, model.url)
        world.mail = Recorder()
        tally = world.knock(**world.service())
        assert tally.unworded > 2
        assert tally.failed == tally.parked == 0
        assert (world.review(WEEK).state, world.review(WEEK).reason) == (
            "due",
            "the model's service answered 529 (overloaded)",
        )
        assert world.mail.got == []
        assert world.knock(**world.service()).unworded == 0, "not before the next knock"
        away.clear()
        world.clock.advance(60)
        assert world.knock(**world.service()).unworded == 0
        assert world.document(WEEK).narrative.source == "model"
        assert world.review(WEEK).revision == 1
        [letter] = [message for message in world.mail.got if message.review_id == WEEK]
        assert letter.document == world.document(WEEK)


def test_after_three_tries_the_plain_words_stand_and_the_letter_goes(store: Store, tmp_path: Path) -> None:
    with FakeModel(overloaded()) as model:
        world = home(store, tmp_path, model.url)
        world.mail = Recorder()
        for knock in range(1, 5):
            world.knock(**world.service())
            assert (world.review(WEEK).state == "done") == (knock >= 3)
            calls = len(model.calls)
            world.clock.advance(60)
    assert world.document(WEEK).narrative.source == "plain"
    assert [message.review_id for message in world.mail.got].count(WEEK) == 1
    assert calls == 3 * len([review for review in world.reviews() if review.state == "done"])


def test_a_service_that_knocks_once_an_hour_does_not_keep_a_letter_for_words(
    store: Store, tmp_path: Path
) -> None:
    with FakeModel(overloaded()) as model:
        world = home(store, tmp_path, model.url)
        world.configuration["service"] = {"knock_seconds": 3600}
        assert world.knock(**world.service()).unworded == 0
    assert world.document(WEEK).narrative.source == "plain"


def test_from_a_timer_the_three_tries_are_made_before_it_ends(store: Store, tmp_path: Path) -> None:
    def sleep(seconds: float) -> None:
        world.clock.advance(seconds)

    with FakeModel(overloaded()) as model:
        world = home(store, tmp_path, model.url)
        run_once(world.bench(**world.service()), sleep)
    assert (world.review(WEEK).state, world.document(WEEK).narrative.source) == ("done", "plain")


def test_what_arrives_while_a_review_waits_for_words_is_not_lost(store: Store, tmp_path: Path) -> None:
    with FakeModel(overloaded()) as model:
        world = home(store, tmp_path, model.url)
        world.knock(**world.service())
        world.tell(trade("late", MONDAY + DAY + HOUR, MONDAY + DAY + 2 * HOUR, 2000, 2050))
        for _ in range(9):
            world.clock.advance(60)
            world.knock(**world.service())
    assert "late" in {position.position_id for position in world.document(WEEK).positions}


def test_a_process_killed_while_the_model_answers_leaves_its_reservation_spent_and_the_review_is_made(
    house: Store, tmp_path: Path
) -> None:
    """Nobody can know whether that answer was billed: the ledger never says less than the model counted."""
    doomed: list[int] = []

    def kills(request: dict[str, Any]) -> Answer:
        if doomed:
            os.kill(doomed.pop(), 9)
        return answers(request)

    def serve() -> None:
        own = open_store(house.url)
        world.knock(**world.service(own))
        os._exit(0)

    with FakeModel(kills) as model:
        world = home(house, tmp_path, model.url)
        process = FORK.Process(target=serve)
        process.start()
        doomed.append(int(process.pid or 0))
        process.join(60)
        assert process.exitcode == -9
        world.clock.advance(3600)
        world.knock(**world.service())
    ledger = spent(house)
    assert ledger.calls == len(model.calls)
    assert ledger.usd > ledger.calls * CENTS
    assert ledger.tokens_in == (ledger.calls - 1) * USAGE["input_tokens"]
    assert {review.state for review in world.reviews()} <= {"done", "waiting"}
    assert world.document(WEEK).narrative.source == "model"
