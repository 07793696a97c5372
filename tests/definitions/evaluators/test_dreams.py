"""Dreams through the book: by hand, in any order, on both databases, nothing looks ahead; replays go where the agent goes."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retro.app.questions.evaluators.dreams import DreamQuestion, dreams, mark_replayed
from retro.errors import UnknownError
from retro.report.evaluators.dreams import Dream
from retro.store.database import Store, open_store
from retro.store.estate.merge import merge
from retro.store.estate.rename import rename
from retro.store.facts.replays import replay_counts
from tests.worlds.lives import agent_of, live, settings_for

Event = dict[str, Any]
MINUTE, HOUR, DAY, START = 60_000, 3_600_000, 86_400_000, 1_711_324_800_000  # ms
CLOCK = (START + 400 * DAY) * 1000


def answers(store: Store, as_of: int | None = None, limit: int = 50, agent: str = "a") -> list[Dream]:
    return dreams(DreamQuestion(store, agent, settings_for()(agent_of(store, agent)), limit, as_of))


def replay(store: Store, position: str, at: int = CLOCK, agent: str = "a") -> int:
    return mark_replayed(store, agent, settings_for()(agent_of(store, agent)), position, at)


def tell(store: Store, *parts: Sequence[Event], agent: str = "a") -> Store:
    for n, part in enumerate(parts):
        lines = b"".join(json.dumps({"agent": agent, **event}).encode() + b"\n" for event in part)
        assert live(store, lines, name=f"{agent}{n}.jsonl").clean
    return store


def trip(
    name: str,
    day: float,
    minutes: int,
    prices: Sequence[int],
    sold: int,
    *,
    strategy: str = "s",
    **decision: Any,
) -> list[Event]:
    """One unit bought at 1,000 and sold after so many minutes; `prices` are the marks after 1 and 4 hours."""
    at = START + round(day * DAY)
    own = {"position": name, "instrument": "ETH/USDC", "quantity": 1}
    marks: list[Event] = [
        {
            "type": "mark",
            "id": f"{name}-{hours}",
            "at": at + hours * HOUR,
            "instrument": "ETH/USDC",
            "price": price,
        }
        for hours, price in zip((1, 4), prices, strict=False)
    ]
    entry: list[Event] = [
        {"type": "position", "id": name, "at": at, "position": name, "kind": "spot", "instrument": "ETH/USDC", "side": "long",
         "strategy": strategy},
        {"type": "fill", "id": f"{name}-i", "at": at, "side": "buy", "price": 1000, **own},
        {"type": "fill", "id": f"{name}-o", "at": at + minutes * MINUTE, "side": "sell", "price": sold, **own},
    ]  # fmt: skip
    entering = {
        "type": "decision",
        "id": f"d-{name}",
        "at": at,
        "action": "enter",
        "position": name,
        **decision,
    }
    return [*entry, *marks, *([entering] if decision else [])]


LIFE = [
    *trip("p1", 0, 1800, [1010, 1020], 950, context={"regime": "calm", "n": 1}, reasoning="it must rise"),
    *trip("p2", 2, 120, [990], 1005, valence=0.9),
    *trip("p3", 4, 30, [], 990, valence=0.6),
    *trip("p4", 6, 1800, [1010, 1020], 1030, valence=-1),  # it turned out as it began
    *trip("p5", 8, 1800, [1010, 1020], 950),  # nobody decided on it
    *trip("p6", 10, 30, [], 990, confidence=0.5),  # nothing is known of how it began
    *(
        {"type": "mark", "id": f"m{n}", "at": START + n * HOUR, "instrument": "ETH/USDC", "price": 1000}
        for n in range(5, 30)
    ),
    {
        "type": "prediction",
        "id": "q",
        "at": START,
        "decision": "d-p1",
        "category": "price",
        "predicted": 1100,
    },
    {"type": "resolution", "id": "r", "at": START + DAY, "prediction": "q", "actual": 950},
    {"type": "equity", "id": "end", "at": START + 20 * DAY, "value": 1000},
]


def test_six_positions_by_hand(store: Store) -> None:
    """p1: +20 after 4 hours, -50 in the end, .07 of 1,000. p2: -10 after one, +5: .015. p3 felt good and lost 10: .01."""
    tell(store, random.Random(1).sample(LIFE, len(LIFE)))
    rows = answers(store)
    assert [(row.position, row.immediate, row.immediate_from, row.retrospective) for row in rows] == [
        ("p1", 20, "4h", -50),
        ("p2", -10, "1h", 5),
        ("p3", 1, "valence", -10),
    ]
    assert [row.reversal for row in rows] == pytest.approx([0.07, 0.015, 0.01])
    first = rows[0]
    assert (first.notional, first.at, first.final_pnl) == (1000, "2024-03-25T00:00:00Z", -50)
    assert (first.context, first.reasoning) == ({"regime": "calm", "n": 1}, "it must rise")
    assert [(p.predicted, p.actual, p.hit) for p in first.predictions] == [(1100, 950, True)]
    assert first.regret == 70  # it could have been sold at 1,020
    assert first.counterfactual is None
    assert first.reasons == {"counterfactual": "insufficient: 1 spot and perp positions like it, of 10"}
    assert [row.position for row in answers(store, limit=1)] == ["p1"]
    # p1 closes after 30 hours: before that it is no dream
    assert answers(store, (START + 30 * HOUR) * 1000) == []
    assert [row.position for row in answers(store, (START + 30 * HOUR) * 1000 + 1)] == ["p1"]


def test_what_was_replayed_counts_less_from_then_on(store: Store) -> None:
    """.07 x .85^12 = .00996 lies below the .01 of p3; as of an instant before the clock of the replays it is .07 again."""
    tell(store, LIFE)
    assert [replay(store, "p1", CLOCK + n) for n in range(12)] == [*range(1, 13)]
    rows = answers(store)
    assert [(row.position, row.replays) for row in rows] == [("p2", 0), ("p3", 0), ("p1", 12)]
    assert rows[-1].score == pytest.approx(0.07 * 0.85**12)
    assert [row.replays for row in answers(store, CLOCK + 3)] == [3, 0, 0]
    with pytest.raises(UnknownError, match="has no position 'p9'"):
        replay(store, "p9")


def test_replays_are_not_derived_and_go_where_the_agent_goes(store: Store) -> None:
    tell(store, LIFE)
    replay(store, "p1")
    tell(store, [{**event, "id": f"x{event['id']}"} | ({"position": f"x{event['position']}"} if "position" in event else {})
                 for event in LIFE if event["type"] in {"position", "fill"}], agent="b")  # fmt: skip
    replay(store, "xp1", agent="b")
    with store.write() as conn:
        rename(conn, "a", "c", CLOCK)
    assert [row.replays for row in answers(store, agent="c")] == [1, 0, 0]
    with store.write() as conn:
        merge(conn, "b", "c", CLOCK)  # which drops both books
    assert [row.replays for row in answers(store, agent="c")] == [1, 0, 0]
    with store.read() as conn:
        assert replay_counts(conn, "c", CLOCK + 1) == {"p1": 1, "xp1": 1}


def test_the_best_way_to_leave_is_said_from_ten_positions_that_are_alike(store: Store) -> None:
    """Twelve stood at +50 after 1 and 4 hours and ended at -50: leaving there makes 100 more of each, and nothing more."""
    events = [e for n in range(12) for e in trip(f"t{n}", n * 2, 1800, [1050, 1050], 950, valence=0.1)]
    events += trip("other", 40, 1800, [1050, 1050], 950, valence=0.1, strategy="another")
    events += trip("calm", 42, 1800, [1050, 1050], 950, context={"regime": "calm"})
    rows = {row.position: row for row in answers(tell(store, events))}
    better = rows["t0"].counterfactual
    assert better is not None
    assert (better.n, better.touched, better.difference) == (12, 12, 1200)
    assert better.p_max == pytest.approx(
        0.001, abs=0.0015
    )  # of the signs of twelve days one in 4,096 does as well
    assert rows["t11"].counterfactual == better
    for name in ("other", "calm"):
        assert rows[name].counterfactual is None
        assert rows[name].reasons["counterfactual"].startswith("insufficient: 1 ")


def life(seed: int) -> list[Event]:
    rng = random.Random(seed)
    return [
        event
        for n in range(40)
        for event in trip(
            f"t{n}", n / 3, rng.choice([30, 120, 400, 4000]), rng.choice([[], [990], [1010, 1020], [995, 970]]),
            rng.choice([960, 1000, 1030]), strategy=rng.choice("xy"),
            **({"valence": rng.choice([-0.5, 0.5])} if rng.random() < 0.8 else {}),
        )
    ]  # fmt: skip


def test_any_order_and_split_of_the_telling_gives_the_same_on_both_databases(
    store: Store, tmp_path: Path
) -> None:
    events = life(3)
    expected = answers(tell(open_store(str(tmp_path / "whole.db")), events))
    assert any(row.counterfactual for row in expected)
    shuffled = random.Random(4).sample(events, len(events))
    for first in range(0, len(shuffled), 60):
        tell(store, shuffled[first : first + 60])
    assert answers(store) == expected


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10_000), hours=st.integers(1, 20 * 24))
def test_a_journal_cut_at_any_instant_answers_what_the_whole_answers_as_of_it(
    tmp_path_factory: pytest.TempPathFactory, seed: int, hours: int
) -> None:
    cut = START + hours * HOUR
    path = tmp_path_factory.mktemp("dreams")
    whole = tell(open_store(str(path / "whole.db")), life(seed))
    ended = tell(open_store(str(path / "ended.db")), [event for event in life(seed) if event["at"] < cut])
    assert answers(whole, cut * 1000) == answers(ended)
