"""Summaries of epochs, kept with the book: any telling the same bytes, late facts fold only what follows them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from retro.app.questions.evaluators.evaluations import EvaluationsQuestion, evaluations, of_the_life
from retro.app.settlement.settings import AgentSettings
from retro.report.evaluators.summaries import EvaluationSummary
from retro.store.books.evaluations import EpochSummaries, evaluations_of
from retro.store.books.positions import forget_book
from retro.store.database import Store, open_store
from tests.definitions.evaluators.test_claims import CONFIGURATION, DAY, START, Event, life, lines_of
from tests.worlds.lives import agent_of, live, settings_for

EPOCHS = {"retrospective": {**CONFIGURATION["retrospective"], "epoch_interval_days": 5}}


def tell(store: Store, events: Sequence[Event]) -> Store:
    assert live(store, lines_of(events), configuration=EPOCHS, name=f"{len(events)}.jsonl").clean
    return store


def settings_of(store: Store, days: int = 5) -> AgentSettings:
    return replace(settings_for(EPOCHS)(agent_of(store, "a")), epoch_days=days)


def asked(store: Store, as_of: int | None = None, days: int = 5) -> list[EvaluationSummary]:
    return evaluations(EvaluationsQuestion(store, "a", settings_of(store, days), as_of))


def rows_of(store: Store) -> list[EpochSummaries]:
    asked(store)
    with store.read() as conn:
        return evaluations_of(conn, "a")


def whole_life(tmp_path: Path, events: Sequence[Event]) -> Store:
    return tell(open_store(str(tmp_path / "whole.db")), events)


def test_any_order_and_split_and_a_book_made_anew_have_the_same_bytes(store: Store, tmp_path: Path) -> None:
    events = life(3)
    expected = rows_of(whole_life(tmp_path, events))
    assert len(expected) >= 4
    shuffled = random.Random(4).sample(events, len(events))
    for first in range(0, len(shuffled), 20):
        tell(store, shuffled[first : first + 20])
        rows_of(store)
    assert rows_of(store) == expected
    with store.write() as conn:
        forget_book(conn, "a")
    assert rows_of(store) == expected


def test_a_late_fact_folds_its_epoch_and_those_after_it_and_no_earlier_one(store: Store) -> None:
    events = life(3)
    late = next(event for event in events if event["type"] == "resolution" and event["at"] > START + 12 * DAY)
    tell(store, [event for event in events if event is not late])
    before = rows_of(store)
    with store.write() as conn:
        conn.execute(text("UPDATE book_evaluations SET summaries = '[]'"))
    tell(store, [late])
    after = rows_of(store)
    first = next(number for number, row in enumerate(before) if row.end > late["at"] * 1000)
    assert first >= 2
    assert [row.summaries for row in after[:first]] == ["[]"] * first
    assert all(row.summaries != "[]" for row in after[first:])


def test_an_earlier_first_day_or_another_grid_folds_every_epoch(store: Store, tmp_path: Path) -> None:
    events = life(5)
    tell(store, events)
    rows_of(store)
    early: Event = {
        "type": "mark",
        "id": "m",
        "agent": "a",
        "at": START - 2 * DAY,
        "instrument": "X/USDC",
        "price": 1,
    }
    tell(store, [early])
    assert rows_of(store) == rows_of(whole_life(tmp_path, [*events, early]))
    weekly = asked(store, days=7)
    assert {row.start for row in weekly} != {row.start for row in asked(store)}
    assert asked(store, days=7) == weekly


@pytest.mark.parametrize("day", [1, 5, 9, 10, 17])
def test_a_journal_cut_at_any_instant_lists_what_the_whole_lists_as_of_it(day: int, tmp_path: Path) -> None:
    events, cut = life(6), START + day * DAY + 1
    ended = tell(open_store(str(tmp_path / "ended.db")), [event for event in events if event["at"] < cut])
    assert asked(whole_life(tmp_path, events), cut * 1000) == asked(ended)


def test_the_epochs_add_up_to_the_life(tmp_path: Path) -> None:
    store = whole_life(tmp_path, life(7))
    [single] = {row.start for row in asked(store, days=300)}
    assert single == "2024-03-25T00:00:00Z"
    life_rows = {(row.evaluator, row.key): row for row in asked(store, days=300)}
    question = EvaluationsQuestion(store, "a", settings_of(store))
    added = {(row.evaluator, row.key): row for row in of_the_life(question)}
    assert added.keys() == life_rows.keys()
    for name, row in added.items():
        whole = life_rows[name]
        assert row.n == whole.n
        assert row.statistics.tail == whole.statistics.tail
        assert row.statistics.m2 == pytest.approx(whole.statistics.m2, rel=1e-12)
        assert row.statistics.right == whole.statistics.right
