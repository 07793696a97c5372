"""The service has its reviews worded: on time, once, under the caps, booked to the agent; whatever the model does."""

from __future__ import annotations

import multiprocessing
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from retro.app.narration.narrate import model_exchanges
from retro.app.narration.narrators import words_of
from retro.periods import DAY, HOUR, format_instant
from retro.store import spend
from retro.store.database import Store, open_store
from retro.testing.model import Answer, FakeModel, overloaded, said
from tests.worlds.narrations import KEY, house
from tests.worlds.service_world import MONDAY, World, life

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
        tally = world.knock(**world.service())
    assert tally.failed == tally.parked == 0
    assert {review.state for review in world.reviews()} <= {"done", "waiting"}
    document = world.document(WEEK)
    assert document.narrative.source == "plain"
    assert why in document.narrative.why


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
