"""The layers of the library: recorded runs, values worked by hand, and laws that every preset keeps."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import RefusedError
from memory.library.layers.columns import LayerColumns, LayerState
from memory.library.layers.preset import FINMEM, INVESTOR_BENCH, LAYERS, OWN, PRESETS, LayerPreset
from memory.library.layers.replay import replay
from memory.library.layers.step import Feedback, LayerStep, flow, step
from tests.worlds.commands import Retro, retro
from tests.worlds.places import GOLDEN

__all__ = ["retro"]

RUNS = sorted(
    path.name.removesuffix(".events.jsonl") for path in (GOLDEN / "investor_bench").glob("*.events.jsonl")
)
EXACT = ("layer", "delta", "access_counter", "id")


def run_lines(run: str) -> list[bytes]:
    return (GOLDEN / "investor_bench" / f"{run}.events.jsonl").read_bytes().splitlines()


def expectation(run: str) -> Any:
    return json.loads((GOLDEN / "investor_bench" / f"{run}.expected.json").read_text())


def one(state: LayerState, preset: LayerPreset = INVESTOR_BENCH, *feedback: Feedback) -> LayerStep:
    """A step in which this item comes in."""
    return step(LayerColumns.of(()), [state], feedback, preset)


def steps_to_the_end(state: LayerState, preset: LayerPreset, most: int) -> int:
    """How many steps the item lives without feedback; `most` where it is still there."""
    items = LayerColumns.of([state])
    for number in range(1, most + 1):
        items = step(items, [], [], preset).items
        if not items.ids:
            return number
    return most


@pytest.mark.parametrize("run", RUNS)
def test_recorded_runs_replay_to_1e_12_and_synthetic_ones_exactly(run: str) -> None:
    expected, lines = expectation(run), run_lines(run)
    preset = INVESTOR_BENCH.with_clean_up(recency=expected.get("overrides", {}).get("clean_recency"))
    assert len(lines) == expected["steps"]
    for checkpoint in [*expected["checkpoints"], {**expected, "step": expected["steps"]}]:
        states = [asdict(state) for state in replay(lines[: checkpoint["step"]], preset).survivors]
        if run.startswith("edge_"):
            assert states == checkpoint["survivors"]
            continue
        assert [[s[name] for name in EXACT] for s in states] == [
            [s[name] for name in EXACT] for s in checkpoint["survivors"]
        ]
        for state, survivor in zip(states, checkpoint["survivors"], strict=True):
            assert state["importance"] == pytest.approx(survivor["importance"], abs=1e-12, rel=0)
            assert state["recency"] == pytest.approx(survivor["recency"], abs=1e-12, rel=0)


def test_the_counts_of_a_recorded_run_are_those_of_its_log() -> None:
    result = replay(run_lines("250808_235624"), INVESTOR_BENCH)
    assert (result.steps, result.added, result.moved_up, result.moved_down) == (128, 379, 0, 0)
    assert (result.cleaned, result.feedback, result.skipped, len(result.survivors)) == (324, 36, 88, 55)


def test_an_id_that_a_step_names_twice_counts_once_and_contrary_words_cancel() -> None:
    paid, lost = Feedback("a", 1), Feedback("a", -1)
    for feedback, sign in (([paid, paid], 1), ([lost, paid, lost], -1), ([paid, lost], 0)):
        done = one(LayerState("a", "reflection", 50.0), INVESTOR_BENCH, *feedback)
        [state] = done.items.states()
        assert (state.importance, state.access_counter) == ((50.0 + 18.0 * sign) * 0.98, sign)
        assert (done.feedback, done.skipped) == (abs(sign), 0)


def test_from_long_to_short_takes_the_second_round_and_short_to_long_the_first() -> None:
    fallen = one(LayerState("a", "long", 50.0))
    assert [(s.layer, s.delta, s.recency) for s in fallen.items.states()] == [
        ("short", 1, math.exp(-1 / 365))
    ]
    assert (fallen.moved_up, fallen.moved_down) == (0, 2)
    risen = one(LayerState("a", "short", 100.0))
    assert [(s.layer, s.delta, s.recency) for s in risen.items.states()] == [("long", 0, 1.0)]
    assert (risen.moved_up, risen.moved_down) == (2, 0)


def test_in_own_a_fall_begins_a_layer_anew_and_up_and_down_lie_apart() -> None:
    fallen = one(LayerState("a", "long", 60.0, delta=300), OWN)
    assert [(s.layer, s.delta, s.importance) for s in fallen.items.states()] == [("mid", 0, 60.0 * 0.999)]
    for layer, importance in (("mid", 41.0), ("mid", 86.0), ("short", 61.0), ("long", 61.0)):
        assert one(LayerState("a", layer, importance), OWN).items.states()[0].layer == layer


def test_a_long_item_of_own_outlives_a_year_and_one_of_the_published_systems_a_fortnight() -> None:
    assert steps_to_the_end(LayerState("a", "long", 90.0), OWN, 366) == 366
    assert steps_to_the_end(LayerState("a", "long", 85.0), OWN, 366) == 366
    assert steps_to_the_end(LayerState("a", "long", 90.0), INVESTOR_BENCH, 366) == 14
    assert steps_to_the_end(LayerState("a", "long", 80.0), FINMEM, 366) == 11


def test_finmem_draws_by_id_and_seed_with_the_shares_of_its_table() -> None:
    for layer, (values, shares) in enumerate(
        [((50, 70, 90), (0.5, 0.45, 0.05)), ((40, 60, 80), (0.05, 0.8, 0.15)), *[((40, 60, 80), (0.05, 0.15, 0.8))] * 2]
    ):  # fmt: skip
        draws = Counter(FINMEM.start_importance(layer, f"{n}", "s") for n in range(4000))
        for value, share in zip(values, shares, strict=True):
            assert draws[value] / 4000 == pytest.approx(share, abs=0.03)
    assert FINMEM.start_importance(0, "a", "s") == FINMEM.start_importance(0, "a", "s")
    assert [OWN.start_importance(layer, "a") for layer in range(4)] == [50, 60, 90, 80]


items_of_a_library = st.lists(
    st.builds(
        LayerState,
        id=st.uuids().map(str),
        layer=st.sampled_from(LAYERS),
        importance=st.floats(-200, 300),
        delta=st.integers(0, 400),
    ),
    max_size=12,
    unique_by=lambda state: state.id,
)
presets = st.sampled_from(list(PRESETS.values()))


@settings(max_examples=60, deadline=None)
@given(items_of_a_library, presets, st.data())
def test_laws_of_a_step(states: list[LayerState], preset: LayerPreset, data: st.DataObject) -> None:
    """Nothing is lost, what stays is worth staying, flow is at rest, and the order of what is passed in is no matter."""
    ids = [state.id for state in states]
    feedback = [
        Feedback(name, data.draw(st.sampled_from([1, -1]))) for name in ids[::2] for _ in range(2)
    ] + [Feedback("gone", 1)]
    cut = data.draw(st.integers(0, len(states)))
    done = step(LayerColumns.of(states[:cut]), states[cut:], feedback, preset)
    assert sorted(done.items.ids + done.cleaned.ids) == sorted(ids)
    for state in done.items.states():
        assert state.importance >= 5
        assert 0 < state.recency <= 1
    again, up, down = flow(done.items, preset)
    assert (again.states(), up, down) == (done.items.states(), 0, 0)
    other = step(LayerColumns.of(()), states[::-1], feedback[::-1], preset)
    assert sorted(map(repr, other.items.states())) == sorted(map(repr, done.items.states()))


def test_a_step_leaves_what_it_was_given_as_it_was() -> None:
    states = [LayerState("a", "short", 80.0), LayerState("b", "long", 40.0)]
    items = LayerColumns.of(states)
    step(items, [], [Feedback("a", 1)], INVESTOR_BENCH)
    assert items.states() == tuple(states)
    with pytest.raises(RefusedError, match="item a is in a layer already"):
        step(items, [states[0]], [], INVESTOR_BENCH)


def test_a_step_over_ten_thousand_items_takes_less_than_50_ms() -> None:
    rng = np.random.default_rng(7)
    rows = zip(rng.uniform(5, 120, 10_000).tolist(), rng.integers(0, 300, 10_000).tolist(), strict=True)
    items = LayerColumns.of(
        LayerState(f"i{n}", LAYERS[n % 4], importance, delta=delta)
        for n, (importance, delta) in enumerate(rows)
    )
    added = [LayerState(f"n{n}", "short", 50.0) for n in range(100)]
    feedback = [Feedback(f"i{n}", 1) for n in range(1_000)]
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        step(items, added, feedback, OWN)
        seconds.append(time.perf_counter() - begin)
    assert min(seconds) < 0.050


def test_the_command_prints_what_the_design_names(retro: Retro) -> None:
    path = GOLDEN / "investor_bench" / "edge_7_recency_equal.events.jsonl"
    thresholds = expectation("edge_7_recency_equal")["overrides"]["clean_recency"]
    options = [f"--clean-recency={layer}={figure}" for layer, figure in thresholds.items()]
    result = retro("library", "replay", path, "--preset", "investor_bench", *options, "--json")
    assert result.code == 0, result.err
    assert result.data.pop("survivors") == expectation("edge_7_recency_equal")["survivors"]
    assert {name: value for name, value in result.data.items() if name != "survivors"} == {
        "preset": "investor_bench", "steps": 11, "added": 4, "moved_up": 0, "moved_down": 1, "cleaned": 3, "feedback": 0, "skipped": 0,
    }  # fmt: skip
    words = retro("library", "replay", path, "--preset", "investor_bench", *options).out
    assert "11 steps by investor_bench: 4 added, 0 rose, 1 fell, 3 cleaned up" in words
    assert "38.93" in words
    assert not list(path.parent.glob("*.db"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"step": 2, "add": [{"id": "a", "layer": "deep"}]}', "run.jsonl:2: add[0].layer: Invalid enum value 'deep'"),
        ('{"step": 2, "feedback": [{"id": "a", "sign": 0}]}', "run.jsonl:2: feedback[0].sign: Invalid enum value 0"),
        ('{"step": 2, "add": [{"id": "a", "layer": "mid", "importance": NaN}]}', "run.jsonl:2: not JSON"),
        ('{"step": 2, "add": [{"id": "a", "layer": "mid", "importance": 1e999}]}', "run.jsonl:2: "),
        ('{"step": 3}', "run.jsonl:2: step: 3 follows 1"),
        ('{"step": 2, "date": "yesterday"}', "run.jsonl:2: date: 'yesterday' is no day"),
        ('{"step": 2, "add": [{"id": "z", "layer": "mid"}]}', "run.jsonl:2: item z is in a layer already"),
        ("[]", "run.jsonl:2: Expected `object`"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_step_is_named_with_its_field(line: str, words: str, retro: Retro) -> None:
    first = '{"step": 1, "add": [{"id": "z", "layer": "long"}]}'
    Path("run.jsonl").write_text(f"{first}\n{line}\n")
    result = retro("library", "replay", "run.jsonl")
    assert (result.code, result.out, result.err.count("\n")) == (1, "", 1)
    assert words in result.err
