"""Context attribution through the book: by hand, in any order, on both databases, and nothing looks ahead."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retro.app.questions.evaluators.context import AttributionQuestion, attribution, multipliers
from retro.report.evaluators.context import ContextItem
from retro.store.database import Store, open_store
from tests.worlds.lives import agent_of, live, settings_for

Event = dict[str, Any]
HOUR, DAY, START = 3_600_000, 86_400_000, 1_711_324_800_000  # ms


def answers(store: Store, as_of: int | None = None, decay: float = 0.9) -> list[ContextItem]:
    return attribution(AttributionQuestion(store, "a", settings_for()(agent_of(store, "a")), decay, as_of))


def tell(store: Store, *parts: Sequence[Event]) -> Store:
    for n, part in enumerate(parts):
        lines = b"".join(json.dumps({"agent": "a", **event}).encode() + b"\n" for event in part)
        assert live(store, lines, name=f"{n}.jsonl").clean
    return store


def trip(name: str, at: int, hours: int, result: int, **decision: Any) -> list[Event]:
    """A position entered by a decision and closed so many hours later, `result` the better or worse."""
    position = {"position": name, "instrument": "ETH/USDC", "quantity": 1}
    out = at + hours * HOUR
    return [
        {"type": "position", "id": name, "at": at, "position": name, "kind": "spot", "instrument": "ETH/USDC", "side": "long"},
        {"type": "decision", "id": f"d-{name}", "at": at, "action": "enter", "position": name, **decision},
        {"type": "fill", "id": f"{name}-i", "at": at, "side": "buy", "price": 1000, **position},
        {"type": "fill", "id": f"{name}-o", "at": out, "side": "sell", "price": 1000 + result, **position},
    ]  # fmt: skip


def prediction(name: str, decision: str, at: int, resolved: int, right: bool) -> list[Event]:
    return [
        {"type": "prediction", "id": name, "at": at, "decision": decision, "category": "price"},
        {"type": "resolution", "id": f"r-{name}", "at": resolved, "prediction": name, "correct": right},
    ]


def test_four_decisions_by_hand(store: Store) -> None:
    """In order of resolution: b (-1, its position lost), c (+1, all right), a (1/3: two of three), d (0: nothing gained).

    Decay .9, four steps: worth .729, .81, .9, 1. Two items of a decision that has not turned out are nowhere.
    """
    events = [
        *trip("a", START, 30, +5, context_items=["tool:x", "H-1", "tool:x"]),
        *prediction("p1", "d-a", START, START + 10 * HOUR, True),
        *prediction("p2", "d-a", START, START + 11 * HOUR, False),
        *prediction("p3", "d-a", START, START + 12 * HOUR, True),
        *trip("b", START + HOUR, 2, -5, context_items=["tool:x"]),
        *trip("c", START + 2 * HOUR, 40, -5, context_items=["H-1"]),
        *prediction("p4", "d-c", START, START + 5 * HOUR, True),
        *trip("d", START + 3 * HOUR, 50, 0, context_items=["memory:m"]),
        {"type": "decision", "id": "e", "at": START + DAY, "action": "skip", "context_items": ["H-9", "H-1"]},
        {"type": "equity", "id": "end", "at": START + 9 * DAY, "value": 1},
    ]
    tell(store, random.Random(1).sample(events, len(events)))
    rows = {row.item: row for row in answers(store)}
    assert list(rows) == ["H-1", "memory:m", "tool:x"]
    assert [rows[item].appearances for item in rows] == [2, 1, 2]
    assert rows["H-1"].weight == pytest.approx(0.81 + 0.9)
    assert rows["H-1"].value == pytest.approx((0.81 + 0.9 / 3) / (1.71 + 2))
    assert rows["tool:x"].value == pytest.approx((0.9 / 3 - 0.729) / (0.729 + 0.9 + 2))
    assert rows["tool:x"].multiplier == 1 + rows["tool:x"].value
    assert (rows["memory:m"].value, rows["memory:m"].multiplier) == (0, 1)
    assert rows["tool:x"].last_at == "2024-03-25T00:00:00Z"
    assert rows["H-1"].lift is None
    assert rows["H-1"].reasons["q"] == "insufficient: 2 decisions with it and 2 without, of 20 and 5"
    # before its predictions were judged, and before its position closed: b alone
    assert [(row.item, row.appearances) for row in answers(store, (START + 4 * HOUR) * 1000)] == [
        ("tool:x", 1)
    ]


def test_a_decision_after_the_fact_and_one_whose_predictions_came_first_prove_nothing(store: Store) -> None:
    """A decision dated after its position closed, and a prediction that names a decision made after it resolved."""
    events = [
        *trip("a", START, 2, +5),
        {"type": "decision", "id": "late", "at": START + 3 * HOUR, "action": "enter", "position": "a", "context_items": ["x"]},
        *prediction("p", "later", START, START + HOUR, True),
        {"type": "decision", "id": "later", "at": START + 4 * HOUR, "action": "hold", "context_items": ["y"]},
    ]  # fmt: skip
    assert answers(tell(store, events)) == []


def life(seed: int, days: int = 30) -> list[Event]:
    """Positions of hours to days, decisions with items of five, some with predictions."""
    rng = random.Random(seed)
    events: list[Event] = []
    for n in range(days * 2):
        at = START + n * DAY // 2
        items = rng.sample(["H-1", "H-2", "tool:x", "memory:1", "币安"], rng.randint(0, 3))
        stated = {"context_items": items} if rng.random() < 0.8 else {}
        events += trip(f"t{n}", at, rng.choice([2, 20, 90]), rng.choice([-7, 0, 9]), **stated)
        for k in range(rng.choice([0, 0, 1, 2])):
            events += prediction(
                f"p{n}-{k}", f"d-t{n}", at, at + rng.randint(1, 80) * HOUR, rng.random() < 0.6
            )
    return events


def test_any_order_and_split_of_the_telling_gives_the_same_on_both_databases(
    store: Store, tmp_path: Path
) -> None:
    events = life(3)
    expected = answers(tell(open_store(str(tmp_path / "whole.db")), events))
    assert any(row.p is not None for row in expected)
    shuffled = random.Random(4).sample(events, len(events))
    for first in range(0, len(shuffled), 40):
        tell(store, shuffled[first : first + 40])
        if first % 3 == 0:
            answers(store)  # settled in between, or not
    assert answers(store) == expected
    asked = AttributionQuestion(store, "a", settings_for()(agent_of(store, "a")), 0.9)
    assert multipliers(asked) == {row.item: row.multiplier for row in expected}


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10_000), hours=st.integers(1, 40 * 24))
def test_a_journal_cut_at_any_instant_answers_what_the_whole_answers_as_of_it(
    tmp_path_factory: pytest.TempPathFactory, seed: int, hours: int
) -> None:
    cut = START + hours * HOUR
    path = tmp_path_factory.mktemp("context")
    whole = tell(open_store(str(path / "whole.db")), life(seed))
    ended = tell(open_store(str(path / "ended.db")), [event for event in life(seed) if event["at"] < cut])
    assert answers(whole, cut * 1000) == answers(ended)
