"""The service steps the layers with each daily review: feedback by what was cited, groups condensed, looking back."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory.library import intake
from memory.library.condensation import ReflectionNote, reflect, reflection_id
from memory.library.embedder import Embedded, embed, embed_texts
from memory.library.item import item_of
from memory.library.models.finance import bundled_model
from memory.store import layers as rows
from retro.app.context import PassSummary
from retro.app.experience.layers import stepping
from retro.app.experience.wordings import GroupWordings
from retro.app.narration.narrators import plain_words
from retro.periods import DAY, HOUR, format_instant
from retro.store import spend
from retro.store.database import Store, open_store
from retro.testing.model import FakeModel, said
from tests.worlds.narrations import KEY
from tests.worlds.service_world import MONDAY, World, life, line


def item(identity: str, days_before: int = 1, **fields: Any) -> dict[str, Any]:
    common = {"id": identity, "agent": "bot", "collection": "news", "symbol": "ETH/USDC", "layer": "short"}
    at = format_instant(MONDAY - days_before * DAY)
    return {**common, "at": at, "text": f"what {identity} says", **fields}


def vectors_of(angles: dict[str, float], model: str = "plane") -> Embedded:
    """Unit vectors in a plane, by the angle of each item."""
    blobs = {
        ("bot", name): np.array([math.cos(angle), math.sin(angle)], dtype="<f4").tobytes()
        for name, angle in angles.items()
    }
    return Embedded(model, 2, blobs)


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    configuration = {"retrospective": {"epoch_review_enabled": False, "position_close_review": False}}
    return World(store, tmp_path, at=MONDAY + 2 * DAY + 2 * HOUR, configuration=configuration)


def knock(world: World) -> PassSummary:
    log: list[Any] = []
    done = world.knock(
        consequences=(stepping(world.config, lambda event, **fields: log.append((event, fields))),)
    )
    assert log == []
    return done


def standings(world: World) -> dict[str, tuple[str, float | None, int, int]]:
    with world.store.read() as conn:
        return {
            row.id: (row.layer, row.importance, row.delta, row.access_counter)
            for row in rows.states_of(conn, "bot", "ETH/USDC")
        }


def test_each_daily_review_takes_a_step_and_what_was_cited_bears_its_money(world: World) -> None:
    """The first day's trade won and its entry cited H-7, its exit H-3; the second day's lost and cited both again."""
    with world.store.write() as conn:
        intake.add(conn, [item("H-7"), item("H-3"), item("idle"), item("H-9", symbol="BTC/USDC")])
    world.clock.set(MONDAY + HOUR)
    world.tell(life(1)[:1])
    world.clock.set(MONDAY + 2 * DAY + 2 * HOUR)
    world.tell(life(2))
    assert knock(world).done > 1
    fed = ((50.0 + 10.0) * 0.97 - 10.0) * 0.97
    assert standings(world) == {
        "H-7": ("short", fed, 2, 0),
        "H-3": ("short", fed, 2, 0),
        "idle": ("short", 50.0 * 0.97 * 0.97, 2, 0),
    }
    with world.store.read() as conn:
        feedback = [
            (event.subject, event.document) for event in rows.events(conn, "bot", "feedback", "ETH/USDC")
        ]
        assert feedback == [(name, f'{{"sign":{sign}}}') for sign in (1, -1) for name in ("H-3", "H-7")]
        assert [row.delta for row in rows.states_of(conn, "bot", "BTC/USDC")] == [2]
    before = standings(world)
    knock(world)
    assert standings(world) == before


def test_four_short_items_about_one_thing_become_one_of_mid_that_names_them(world: World) -> None:
    angles = {"a": 0.0, "b": 0.1, "c": 0.2, "d": 0.3, "far": 1.5}
    with world.store.write() as conn:
        intake.add(conn, [item(name) for name in angles], embedded=vectors_of(angles))
    world.tell(life(2))
    knock(world)
    [condensed] = [name for name in standings(world) if name.startswith("condensed-")]
    assert set(standings(world)) == {"far", condensed}
    assert standings(world)[condensed][0] == "mid"
    with world.store.read() as conn:
        entry = intake.get(conn, "bot", condensed).item
        assert entry.parents == ("a", "b", "c", "d")
        assert entry.text == "what b says"  # of the two in the middle the first
        assert entry.metadata == {"condensed": 4, "worded_by": "code"}
        member = intake.get(conn, "bot", "a")
        assert (member.archive_reason, member.item.text) == (f"condensed into {condensed}", "what a says")


def test_after_thirty_days_the_agent_looks_back_with_figures_and_not_again_the_next_day(world: World) -> None:
    with world.store.write() as conn:
        intake.add(conn, [item("H-7", days_before=29)])
    world.tell(life(2))
    knock(world)
    [name] = [name for name, standing in standings(world).items() if standing[0] == "reflection"]
    with world.store.read() as conn:
        entry = intake.get(conn, "bot", name).item
    assert entry.text == (
        "ETH/USDC on 2026-03-02: 30 days have passed without a reflection. That day 1 position closed for +10.00 USDC."
    )
    assert {"H-7", "p0"} < set(entry.parents)
    assert entry.metadata["asked_by"] == ["days"]


def test_a_reflection_like_one_there_is_adds_its_date_and_is_not_stored_twice(store: Store) -> None:
    notes = [ReflectionNote("ETH", MONDAY + day * DAY, f"words of day {day}") for day in range(4)]
    first, near, far, repeat = (
        notes[0],
        notes[1],
        notes[2],
        ReflectionNote("ETH", MONDAY + DAY * 9, notes[0].text),
    )
    angles = {reflection_id(first): 0.0, reflection_id(near): 0.3, reflection_id(far): 0.33}
    with store.write() as conn:
        intake.add(conn, [item_of(item("x"))], embedded=vectors_of({"x": 2.0}))
        places = [reflect(conn, "bot", note, vectors_of(angles)) for note in (first, near, far)]
        places.append(reflect(conn, "bot", repeat))
        dates = [(event.subject, event.at) for event in rows.events(conn, "bot", "reflection", "ETH")]
    early, late = reflection_id(first), reflection_id(far)
    assert places == [early, early, late, early]  # cos .3 = .955, cos .33 = .946
    assert dates == [
        (early, MONDAY), (early, MONDAY + DAY), (late, MONDAY + 2 * DAY), (early, MONDAY + 9 * DAY),
    ]  # fmt: skip


def test_a_decision_without_a_position_is_judged_by_the_price_some_steps_later(
    store: Store, tmp_path: Path
) -> None:
    """Three steps on ether stands higher: whoever skipped it was wrong, whoever kept holding was right."""
    world = World(store, tmp_path, at=MONDAY + HOUR, configuration={"memory": {"layers": "investor_bench"}})
    with store.write() as conn:
        intake.add(conn, [item("S"), item("H"), item("idle"), item("other", symbol="BTC/USDC")])
    world.tell(life(1)[:1])
    world.clock.set(MONDAY + 4 * DAY + 2 * HOUR)
    cited: dict[str, Any] = {"instrument": "ETH/USDC", "cites": ["other"]}
    world.tell(
        [
            *life(4),
            line("decision", "out", MONDAY + 9 * HOUR, action="skip", context_items=["S"], **cited),
            line("decision", "in", MONDAY + 9 * HOUR, action="hold", instrument="ETH/USDC", cites=["H"]),
            line("decision", "later", MONDAY + DAY + HOUR, action="skip", **cited | {"cites": ["idle"]}),
        ]
    )
    knock(world)
    before = 50.0 * 0.92**3
    figures = {name: (importance, count) for name, (_, importance, _, count) in standings(world).items()}
    assert figures.pop("S") == (pytest.approx((before - 18.0) * 0.92), -1)
    assert figures.pop("H") == (pytest.approx((before + 18.0) * 0.92), 1)
    assert figures.pop("idle") == (pytest.approx(before * 0.92), 0)
    with store.read() as conn:
        assert [row.access_counter for row in rows.states_of(conn, "bot", "BTC/USDC")] == [0]


def test_a_reflection_of_the_service_that_repeats_another_is_known_by_its_meaning(world: World) -> None:
    told = "ETH/USDC on 2026-01-21: 30 days have passed without a reflection. That day 1 position closed for +12.00 USDC."
    note = ReflectionNote("ETH/USDC", MONDAY - 40 * DAY, told)
    with world.store.write() as conn:
        parsed = [item_of(item("H-7"))]
        intake.add(conn, parsed, embedded=embed(bundled_model(), parsed))
        meaning = embed_texts(bundled_model(), {("bot", reflection_id(note)): told})
        reflect(conn, "bot", note, meaning)
    world.tell(life(1))
    knock(world)
    assert set(standings(world)) == {"H-7", reflection_id(note)}
    with world.store.read() as conn:
        dates = [event.at for event in rows.events(conn, "bot", "reflection", "ETH/USDC")]
    assert dates == [note.at, MONDAY + DAY]


@pytest.mark.parametrize(
    ("said_text", "worded_by"),
    [("All of them say  the same.", "model"), ("They won 54% of trades.", "code"), ("\x1b[31mx", "code")],
)
def test_a_model_words_a_group_unless_it_invents_a_figure(
    said_text: str, worded_by: str, tmp_path: Path
) -> None:
    angles = {"a": 0.0, "b": 0.1, "c": 0.2, "d": 0.3}
    with FakeModel([said({"text": said_text})]) as model:
        store = open_store(str(tmp_path / "w.db"))
        configuration = {"llm": {"base_url": model.url}, "retrospective": {"position_close_review": False}}
        world = World(store, tmp_path, at=MONDAY + HOUR, configuration=configuration)
        wordings = GroupWordings(store, world.config, KEY, world.clock)
        with store.write() as conn:
            intake.add(conn, [item(name) for name in angles], embedded=vectors_of(angles))
        world.tell(life(1)[:1])
        world.clock.set(MONDAY + DAY + 2 * HOUR)
        world.tell(life(1))
        layers = stepping(world.config, lambda *_, **__: None, wordings.take)
        world.knock(words=wordings.beside(plain_words), consequences=(layers,))
        [name] = standings(world)
        with store.read() as conn:
            entry = intake.get(conn, "bot", name).item
            calls = spend.calls_of(conn, "bot", MONDAY, MONDAY + 2 * DAY)
        store.close()
    assert entry.metadata["worded_by"] == worded_by
    assert entry.text == ("All of them say the same." if worded_by == "model" else "what b says")
    assert entry.parents == ("a", "b", "c", "d")
    [request] = model.requests
    assert '"what a says"\n"what b says"' in request.body["messages"][0]["content"]
    assert len(calls) == 1, "booked as the agent's, and forgotten with it"
