"""Forecasts and stated confidence through the book: any order and split of the telling, nothing looks ahead."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retro.app.questions.evaluators.claims import ClaimQuestion, calibrated, calibration, corrected, forecasts
from retro.store.books.claims import claims_of
from retro.store.database import Store, open_store
from tests.worlds.lives import agent_of, live, settings_for

Event = dict[str, Any]
DAY, START = 86_400_000, 1_711_324_800_000  # ms
CONFIGURATION = {
    "retrospective": {
        "residual_min_samples": 5,
        "residual_buffer_size": 12,
        "calibration_min_samples": 6,
        "calibration_refit_interval": 5,
    }
}


def life(seed: int, claims: int = 60) -> list[Event]:
    """A prediction every eight hours; most are resolved days later, some twice, some before they were made."""
    rng = random.Random(seed)
    events: list[Event] = [{"type": "equity", "id": "e", "agent": "a", "at": START, "value": 1000}]
    for n in range(claims):
        at = START + n * DAY // 3
        claim: Event = {
            "type": "prediction",
            "id": f"q{n}",
            "agent": "a",
            "at": at,
            "predicted": rng.choice([1, 2.5, -1]),
        }
        claim |= {"category": rng.choice(["price", "yield"])} if rng.random() < 0.9 else {}
        claim |= {"regime": rng.choice(["calm", "wild"])} if rng.random() < 0.6 else {}
        claim |= {"confidence": rng.choice([0.55, 0.7, 0.9])} if rng.random() < 0.8 else {}
        claim |= {"low": -0.5, "high": 2.6} if rng.random() < 0.5 else {}
        claim |= {"target_at": at + DAY} if rng.random() < 0.5 else {}
        events.append(claim)
        for k in range(rng.choice([0, 1, 1, 1, 2])):
            word: Event = {"type": "resolution", "id": f"r{n}-{k}", "agent": "a", "prediction": f"q{n}"}
            word |= {"at": at + rng.randint(-DAY // 4, 3 * DAY), "actual": rng.choice([0.5, 2, -2.25])}
            events.append(word)
    return events


def lines_of(events: Sequence[Event]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def question(store: Store, as_of: int | None = None) -> ClaimQuestion:
    return ClaimQuestion(store, "a", settings_for(CONFIGURATION)(agent_of(store, "a")), as_of)


def answers(store: Store, as_of: int | None = None) -> list[Any]:
    asked = question(store, as_of)
    return [
        *forecasts(asked),
        *calibration(asked, 0.25),
        corrected(asked, 2.0, "price", "wild"),
        calibrated(asked, 0.7, "yield", "calm"),
    ]


def book_of(store: Store) -> tuple[Any, bytes]:
    history = question(store).history()
    return history.names, history.records.tobytes()


def tell(store: Store, *parts: Sequence[Event]) -> Store:
    for n, part in enumerate(parts):
        assert live(store, lines_of(part), configuration=CONFIGURATION, name=f"{n}.jsonl").clean
    return store


def test_any_order_and_split_of_the_telling_settles_the_same_bytes_on_both_databases(
    store: Store, tmp_path: Path
) -> None:
    events = life(3)
    expected = book_of(tell(open_store(str(tmp_path / "whole.db")), events))
    rng = random.Random(4)
    shuffled = rng.sample(events, len(events))
    for first in range(0, len(shuffled), 7):
        tell(store, shuffled[first : first + 7])
        if first % 3 == 0:
            book_of(store)  # settled in between, or not
    assert book_of(store) == expected


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10_000), day=st.integers(0, 24))
def test_a_journal_cut_at_any_instant_answers_what_the_whole_answers_as_of_it(
    tmp_path_factory: pytest.TempPathFactory, seed: int, day: int
) -> None:
    cut = START + day * DAY + 1
    path = tmp_path_factory.mktemp("claims")
    whole = tell(open_store(str(path / "whole.db")), life(seed))
    ended = tell(open_store(str(path / "ended.db")), [event for event in life(seed) if event["at"] < cut])
    assert answers(whole, cut * 1000) == answers(ended)


def test_what_was_resolved_only_before_it_was_made_is_counted_after_the_fact_and_held_against_nothing(
    tmp_path: Path,
) -> None:
    claim: Event = {
        "type": "prediction",
        "agent": "a",
        "category": "price",
        "predicted": 1,
        "confidence": 0.9,
    }
    word: Event = {"type": "resolution", "agent": "a", "actual": 1, "correct": True}
    events = [
        claim | {"id": "known", "at": START + DAY, "regime": "calm"},
        word | {"id": "early", "at": START, "prediction": "known"},
        claim | {"id": "honest", "at": START},
        word | {"id": "late", "at": START + DAY, "prediction": "honest"},
    ]
    store = tell(open_store(str(tmp_path / "x.db")), events)
    pooled, calm = forecasts(question(store))
    assert (pooled.regime, pooled.n, pooled.judged, pooled.after_the_fact) == ("any", 1, 1, 1)
    assert (calm.regime, calm.n, calm.judged, calm.after_the_fact, calm.effective_n) == ("calm", 0, 0, 1, 0)
    assert (
        calm.reasons["accuracy"]
        == "no resolved prediction that was made in time can be judged right or wrong"
    )
    assert (pooled.bias, calm.bias) == (0, None)
    # nobody had made it yet
    assert forecasts(question(store, (START + DAY) * 1000)) == []
    assert [row.n for row in calibration(question(store), 0.25)] == [1]
    # its outcome is told once more: it can be judged by that
    tell(store, [word | {"id": "again", "at": START + 2 * DAY, "prediction": "known"}])
    assert [(row.n, row.judged, row.after_the_fact) for row in forecasts(question(store))] == [
        (2, 2, 0),
        (1, 1, 0),
    ]


def test_a_correction_of_an_old_word_reaches_every_later_claim(tmp_path: Path) -> None:
    events = life(5)
    word = next(event for event in events if event["type"] == "resolution" and event["actual"] != 9)
    store = tell(open_store(str(tmp_path / "told.db")), [event for event in events if event is not word])
    before = book_of(store)
    tell(store, [word])
    assert book_of(store) == book_of(tell(open_store(str(tmp_path / "whole.db")), events)) != before


def test_other_terms_settle_every_claim_anew(tmp_path: Path) -> None:
    store = tell(open_store(str(tmp_path / "x.db")), life(6))
    [row] = [row for row in forecasts(question(store)) if (row.category, row.regime) == ("price", "any")]
    assert row.active
    plain = ClaimQuestion(store, "a", settings_for()(agent_of(store, "a")))
    [row] = [row for row in forecasts(plain) if (row.category, row.regime) == ("price", "any")]
    assert (row.active, row.mean_abs_corrected) == (False, None)
    with store.read() as conn:
        assert len(claims_of(conn, "a")) > 0
