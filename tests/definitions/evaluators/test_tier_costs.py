"""Tiers through the book: costs in kind, late words, any order on both databases, and nothing looks ahead."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retro.app.questions.evaluators.tiers import TierQuestion, tiers
from retro.report.evaluators.tiers import TierReport
from retro.store.database import Store, open_store
from tests.worlds.lives import agent_of, live, settings_for

Event = dict[str, Any]
HOUR, START = 3_600_000, 1_711_324_800_000  # ms


def answer(store: Store, as_of: int | None = None) -> TierReport:
    return tiers(TierQuestion(store, "a", settings_for()(agent_of(store, "a")), as_of=as_of))


def tell(store: Store, *parts: Sequence[Event]) -> Store:
    for n, part in enumerate(parts):
        lines = b"".join(json.dumps({"agent": "a", **event}).encode() + b"\n" for event in part)
        assert live(store, lines, name=f"{n}.jsonl").clean
    return store


def life(seed: int, decisions: int = 60) -> list[Event]:
    """A decision an hour with up to two predictions, resolved hours later; some inference is paid in ETH, which has marks."""
    rng = random.Random(seed)
    events: list[Event] = []
    for n in range(decisions):
        at, tier = START + n * HOUR, rng.choice(["T0", "T1", "T1", "T2", None])
        decision = {"tier": tier, "difficulty": rng.choice([None, "easy", "hard"])}
        events.append({"type": "decision", "id": f"d{n}", "at": at, "action": "hold", **decision})
        events.append({"type": "mark", "id": f"m{n}", "at": at, "instrument": "ETH/USDC", "price": 1000 + n})
        if tier in {"T1", "T2"}:
            paid = {"amount": "0.25"} if rng.random() < 0.7 else {"asset": "ETH", "quantity": "0.001"}
            events.append(
                {"type": "cost", "id": f"c{n}", "at": at, "kind": "inference", "tier": tier, **paid}
            )
        for k in range(rng.choice([0, 1, 2])):
            name, resolved = f"p{n}-{k}", at + rng.randint(1, 30) * HOUR
            category = rng.choice(["price", "yield"])
            events.append(
                {"type": "prediction", "id": name, "at": at, "decision": f"d{n}", "category": category}
            )
            events.append(
                {
                    "type": "resolution",
                    "id": name,
                    "at": resolved,
                    "prediction": name,
                    "correct": rng.random() < 0.6,
                }
            )
    return events  # fmt: skip


def test_inference_that_was_paid_in_kind_costs_what_it_was_worth(store: Store) -> None:
    """.002 ETH at 1,500 and 1.00: 4 for two predictions; as of before the second cost 3 for one. Gas is no inference."""
    events: list[Event] = [
        {"type": "mark", "id": "m", "at": START, "instrument": "ETH/USDC", "price": 1500},
        {"type": "cost", "id": "gas", "at": START, "kind": "gas", "amount": 9},
        {"type": "cost", "id": "c1", "at": START, "kind": "inference", "tier": "T1", "asset": "ETH", "quantity": "0.002"},
        {"type": "cost", "id": "c2", "at": START + 9 * HOUR, "kind": "inference", "tier": "T1", "amount": 1},
        *(
            event
            for n, hours in ((1, 5), (2, 10))
            for event in (
                {"type": "decision", "id": f"d{n}", "at": START, "action": "hold", "tier": "T1"},
                {"type": "prediction", "id": f"p{n}", "at": START, "decision": f"d{n}", "category": "price"},
                {"type": "resolution", "id": f"p{n}", "at": START + hours * HOUR, "prediction": f"p{n}", "correct": True},
            )
        ),
    ]  # fmt: skip
    tell(store, random.Random(2).sample(events, len(events)))
    (row,) = answer(store).rows
    assert (row.n, row.cost, row.cost_per_prediction) == (2, 4, 2)
    (row,) = answer(store, (START + 6 * HOUR) * 1000).rows
    assert (row.n, row.cost, row.cost_per_prediction) == (1, 3, 3)


def test_a_decision_that_is_told_late_gives_its_predictions_their_tier(tmp_path: Path) -> None:
    events = life(5)
    whole = answer(tell(open_store(str(tmp_path / "whole.db")), events))
    late = [event for event in events if event["type"] == "decision" and event["id"] in {"d3", "d20", "d41"}]
    store = tell(open_store(str(tmp_path / "late.db")), [event for event in events if event not in late])
    assert answer(store) != whole
    assert answer(tell(store, late)) == whole


def test_any_order_and_split_of_the_telling_gives_the_same_on_both_databases(
    store: Store, tmp_path: Path
) -> None:
    events = life(3)
    expected = answer(tell(open_store(str(tmp_path / "whole.db")), events))
    assert len(expected.rows) == 6
    assert {advice.difficulty for advice in expected.recommendation} == {None, "easy", "hard"}
    shuffled = random.Random(4).sample(events, len(events))
    for first in range(0, len(shuffled), 60):
        tell(store, shuffled[first : first + 60])
        if first % 3 == 0:
            answer(store)  # settled in between, or not

    assert answer(store) == expected


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10_000), hours=st.integers(1, 90))
def test_a_journal_cut_at_any_instant_answers_what_the_whole_answers_as_of_it(
    tmp_path_factory: pytest.TempPathFactory, seed: int, hours: int
) -> None:
    cut = START + hours * HOUR
    path = tmp_path_factory.mktemp("tiers")
    whole = tell(open_store(str(path / "whole.db")), life(seed))
    ended = tell(open_store(str(path / "ended.db")), [event for event in life(seed) if event["at"] < cut])
    assert answer(whole, cut * 1000) == answer(ended)
