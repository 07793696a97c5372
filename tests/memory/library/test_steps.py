"""Layers in the store: what a replay gives, also there; what is cleaned up is archived; a kill leaves no half step."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import pytest
from sqlalchemy import Connection, event

from memory.errors import ConflictError, MissingError, RefusedError
from memory.instants import DAY
from memory.library import intake
from memory.library.layers.preset import INVESTOR_BENCH, OWN
from memory.library.layers.replay import read_step, replay
from memory.library.layers.step import Feedback
from memory.library.steps import Addition, layers, step_layers
from memory.store import layers as rows
from retro.store.database import Store
from tests.worlds.databases import FORK
from tests.worlds.memory_databases import START, db, experience
from tests.worlds.places import GOLDEN

__all__ = ["db"]


def item(identity: str, day: float = 0.0, **fields: Any) -> dict[str, Any]:
    at = (START + round(day * DAY)) // 1000
    common = {"id": identity, "agent": "ada", "at": at, "collection": "research_findings", "symbol": "JNJ"}
    return {**common, "text": f"what {identity} says", **fields}


def standings(conn: Connection) -> dict[str, tuple[Any, ...]]:
    """id -> layer, importance, recency, delta, access counter."""
    return {
        row.id: (row.layer, row.importance, row.recency, row.delta, row.access_counter)
        for row in rows.states_of(conn, "ada", "JNJ")
    }


def run(conn: Connection, day: int, *feedback: Feedback, preset: Any = OWN) -> Any:
    return step_layers(conn, "ada", "JNJ", at=START + day * DAY, preset=preset, feedback=feedback)


@pytest.mark.parametrize("name", ["250808_220820", "edge_3_feedback_deleted"])
def test_steps_in_the_store_are_those_of_a_replay_bit_for_bit(name: str, db: Store) -> None:
    lines = (GOLDEN / "investor_bench" / f"{name}.events.jsonl").read_bytes().splitlines()
    totals = dict.fromkeys(("added", "moved_up", "moved_down", "cleaned", "feedback", "skipped"), 0)
    for text in lines:
        line = read_step(text)
        with db.write() as conn:
            intake.add(conn, [item(addition.id, line.step) for addition in line.add])
            done = step_layers(
                conn, "ada", "JNJ", at=START + line.step * DAY, preset=INVESTOR_BENCH, feedback=line.mentions(),
                additions=[Addition(addition.id, addition.layer, addition.importance) for addition in line.add],
            )  # fmt: skip
        totals = {key: total + getattr(done, key) for key, total in totals.items()}
    result = replay(lines, INVESTOR_BENCH)
    assert totals == {key: getattr(result, key) for key in totals}
    with db.read() as conn:
        assert standings(conn) == {
            state.id: tuple(value for key, value in asdict(state).items() if key != "id")
            for state in result.survivors
        }
        flow = layers(conn, "ada", "JNJ").flow
        assert (flow.steps, flow.cleaned, flow.skipped) == (len(lines), result.cleaned, result.skipped)


def test_an_item_begins_with_what_it_states_what_its_content_is_worth_or_the_start_of_its_layer(
    db: Store,
) -> None:
    parts = {"market_impact": 30, "novelty": 20}
    with db.write() as conn:
        intake.add(
            conn,
            [
                item("a", layer="short", importance=70.0),
                item("b", layer="short", metadata={"importance_parts": parts}),
                item("c", layer="short"),
                item("d", layer="short", metadata={"importance_parts": {"urgency": 11}}),
                item("later", day=2, layer="short"),
                item("apart", layer="short", symbol="MSFT"),
                item("routed", symbol="KO", metadata={"importance_parts": parts | {"source": 5}}),
                item("outside", symbol="KO"),
            ],
        )
        assert [(row.id, row.layer) for row in rows.states_of(conn, "ada", "KO")] == [("routed", "mid")]
        assert run(conn, 1).added == 4
        begun = standings(conn)
        assert begun["a"][:2] == ("mid", 70.0 * 0.97)
        assert (begun["b"][1], begun["c"][1], begun["d"][1]) == (50.0 * 0.97, 50.0 * 0.97, 50.0 * 0.97)
        assert begun["later"] == ("short", None, 1.0, 0, 0)
        assert run(conn, 2).added == 1
        assert [row.delta for row in rows.states_of(conn, "ada", "MSFT")] == [0]


def test_what_is_cleaned_up_lies_in_the_archive_with_its_reason_and_its_text(db: Store) -> None:
    with db.write() as conn:
        intake.add(conn, [item("weak", layer="short", importance=5.0), item("worn", layer="short")])
        assert run(conn, 1).cleaned == 1
        for day in range(2, 45):
            run(conn, day)
        archived = {name: intake.get(conn, "ada", name) for name in ("weak", "worn")}
        assert archived["weak"].archive_reason == "importance 4.85 below 5 in short"
        assert archived["worn"].archive_reason == "recency 0.0498 below 0.05 in short"
        assert archived["worn"].archived_at == START + 42 * DAY
        assert archived["worn"].item.text == "what worn says"
        assert standings(conn) == {}
        again = run(conn, 45, Feedback("worn", 1))
        assert (again.feedback, again.skipped) == (0, 1)


def test_a_step_goes_forward_once(db: Store) -> None:
    with db.write() as conn:
        intake.add(conn, [item("a", layer="short")])
        done = run(conn, 3, Feedback("a", 1))
        before = standings(conn)
        again = run(conn, 3, Feedback("a", 1))
        assert asdict(again) == asdict(done) | {"unchanged": True}
        assert standings(conn) == before
        with pytest.raises(ConflictError, match="goes forward only"):
            run(conn, 2)
        for addition, error in ((Addition("b", "short"), MissingError), (Addition("a", "mid"), RefusedError)):
            with pytest.raises(error):
                step_layers(conn, "ada", "JNJ", at=START + 4 * DAY, preset=OWN, additions=[addition])
        report = layers(conn, "ada").document()
        assert report["short"] == {
            "items": 1, "mean_importance": (50.0 + 10.0) * 0.97, "mean_recency": math.exp(-1 / 14), "oldest_delta": 1,
        }  # fmt: skip
        assert report["long"] == dict.fromkeys(("mean_importance", "mean_recency", "oldest_delta")) | {
            "items": 0
        }
        assert (report["flow"]["steps"], report["flow"]["up_per_step"], report["flow"]["feedback"]) == (
            1,
            0.0,
            1,
        )


@contextmanager
def killed_at(store: Store, number: int) -> Iterator[list[int]]:
    """Ends this process at the n-th statement that is sent, before it is."""
    counted = [0]

    def count(*_: object) -> None:
        counted[0] += 1
        if counted[0] == number:
            os._exit(9)

    event.listen(store.engine, "before_cursor_execute", count)
    yield counted
    event.remove(store.engine, "before_cursor_execute", count)


def a_step(url: str, number: int) -> None:
    with experience(url) as store, killed_at(store, number), store.write() as conn:
        run(conn, 44, Feedback("b", -1))


def everything(store: Store) -> str:
    """All that is stored of the library, as text."""
    with store.read() as conn:
        tables = ("library", "item", "item_archive", "layer_state", "layer_event")
        return json.dumps(
            [
                sorted(repr(tuple(row)) for row in conn.exec_driver_sql(f"SELECT * FROM memory_{table}"))
                for table in tables
            ]
        )


def test_a_kill_at_any_statement_of_a_step_leaves_all_or_nothing_of_it(new_database_url: str) -> None:
    with experience(new_database_url) as store:
        with store.write() as conn:
            intake.add(conn, [item(name, layer="short", importance=90.0) for name in "abc"])
            intake.add(conn, [item("weak", layer="short", importance=5.0)])
        before = everything(store)
        with killed_at(store, 0) as counted, pytest.raises(ZeroDivisionError), store.write() as conn:
            run(conn, 44, Feedback("b", -1))
            _ = 1 / 0
        assert counted[0] >= 12
        for number in range(1, counted[0] + 1):
            process = FORK.Process(target=a_step, args=(new_database_url, number))
            process.start()
            process.join(60)
            assert process.exitcode == 9, number
            assert everything(store) == before, number
        a_step(new_database_url, 0)
        after = everything(store)
        assert after != before
        a_step(new_database_url, 0)
        assert everything(store) == after
