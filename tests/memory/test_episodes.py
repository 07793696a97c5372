"""Telling the memory: what enters, what is refused and why, and that telling twice changes nothing."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memory
from memory import Episode, EpisodeFault, RefusedError, read_episodes
from memory.episodic.episode import document, episode_of, from_document, json_values
from memory.instants import instant, written
from retro.store.database import Store
from tests.worlds.memory_databases import START, db, experience, histories, raw_episode

__all__ = ["db"]


def line(**fields: Any) -> str:
    return json.dumps(raw_episode("e1", **fields))


def test_the_contracts_fields_are_read_and_shown_again() -> None:
    raw = raw_episode(
        "e1",
        entry_price=100.5,
        size=2,
        exit_price=101,
        pnl=1.0,
        pnl_r=0.5,
        held_for_s=3600,
        mae=-0.2,
        confidence=0.7,
        tags=["scalp"],
        reflection="too early",
        context={"regime": "volatile", "atr_d1": 80},
        broker="x",
    )
    (episode,) = read_episodes([json.dumps(raw)])
    assert isinstance(episode, Episode)
    assert json_values(episode) == raw | {"at": written(START), "valence": None}
    assert episode.entry_at == START - 3_600_000_000


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (line(pnl_r=math.nan), "NaN is not a number"),
        (line(pnl=math.inf), "Infinity is not a number"),
        (line().replace('"ada"', '"ada", "pnl": 1e999'), "pnl: must be finite"),
        (line(pnl=10**400), "pnl: must be finite"),
        (line(at="yesterday"), "at: must be an RFC 3339 time"),
        (line(at="2026-01-01"), "at: must be an RFC 3339 time"),
        (line(at="2026-01-01T00:00:00"), "at: must be an RFC 3339 time"),
        (line(at="2026-02-30T00:00:00Z"), "at: is no time"),
        (line(at=1.5), "at: must be an RFC 3339 time"),
        (line(at=None), "at: is required"),
        (line(at=10**18), "at: 1000000000000000000 milliseconds lie outside"),
        (line(id=None), "id: is required"),
        (line(id=7), "id: must be text"),
        (line(id="a\u0000b"), "id: must be at most 200 characters"),
        (line(agent="a b"), "agent: must be 1 to 64"),
        (line(confidence=1.2), "confidence: must lie between 0 and 1"),
        (line(entry_price=-1), "entry_price: must lie between 0 and"),
        (line(held_for_s=-1), "held_for_s: must lie between 0 and"),
        (line(valence=2), "valence: must lie between -1 and 1"),
        (line(pnl="1.0"), "pnl: must be a number"),
        (line(pnl=True), "pnl: must be a number"),
        (line(tags="a"), "tags: must be a list of text"),
        (line(context=[1]), "context: must be an object"),
        (line(context={"atr_d1": -3}), "context.atr_d1: must not be negative"),
        (line(context={"atr_d1": "x"}), "context.atr_d1: must be a number"),
        (line(context={"regime": 0.5}), "context.regime: must be text"),
        (line(reflection="\ud800"), "reflection: text: holds a lone surrogate"),
        ('{"id": "a", "id": "b"}', "repeated key: 'id'"),
        ("[1]", "must be a JSON object"),
        ("{", "not JSON"),
        ('{"id": ' + "[" * 5000 + "]" * 5000 + "}", "nested beyond 100 levels"),
        (line(deep=json.loads("[" * 120 + "]" * 120)), "nested beyond 100 levels"),
    ],
)
def test_a_line_that_may_not_enter_is_a_fault_with_its_place_and_reason(text: Any, reason: str) -> None:
    (fault,) = read_episodes(["\n", text], "x.jsonl")
    assert isinstance(fault, EpisodeFault)
    assert (fault.where, fault.line) == ("x.jsonl", 2)
    assert reason in fault.reason


def test_bytes_that_are_no_text_are_a_fault_and_a_byte_order_mark_is_none() -> None:
    entries = list(read_episodes([b"\xef\xbb\xbf" + line().encode(), b"\xff\n"]))
    assert isinstance(entries[0], Episode)
    assert entries[1] == EpisodeFault("-", 2, "not UTF-8")


def test_an_instant_is_one_whatever_its_offset_or_precision() -> None:
    assert instant("2026-01-01T01:00:00+01:00") == START == instant(START // 1000)
    assert instant("2025-12-31t23:59:59.9999999z") == START - 1
    assert written(instant("2026-01-01T00:00:00.25-02:30")) == "2026-01-01T02:30:00.250000Z"


@given(histories(most=5))
@settings(deadline=None, max_examples=50)
def test_what_is_stored_reads_back_the_same(history: list[dict[str, Any]]) -> None:
    for raw in history:
        episode = episode_of(raw)
        assert from_document(document(episode)) == episode


def test_the_same_facts_in_other_spelling_are_the_same_episode(db: Store) -> None:
    with db.write() as conn:
        memory.remember(conn, [raw_episode("e1", pnl=1, context={"atr_d1": 80, "regime": "x"})])
        again = raw_episode("e1", pnl=1.0, context={"regime": "x", "atr_d1": 80.0})
        again["at"] = written(START)
        ingested = memory.remember(conn, [again])
    assert (ingested.stored, ingested.unchanged, ingested.conflicts) == (0, 1, ())


def test_telling_it_differently_is_a_conflict_and_what_was_told_first_stands(db: Store) -> None:
    with db.write() as conn:
        memory.remember(conn, [raw_episode("e1", pnl=1)])
        ingested = memory.remember(
            conn, [raw_episode("e1", pnl=2), raw_episode("e2", pnl=1), raw_episode("e2", pnl=3)]
        )
        assert ingested.stored == 1
        assert [conflict.id for conflict in ingested.conflicts] == ["e1", "e2"]
        assert ingested.events == 3
        assert memory.find_episode(conn, "ada", "e1")["pnl"] == 1.0
        assert memory.find_episode(conn, "ada", "e2")["pnl"] == 1.0


def test_an_id_belongs_to_its_agent(db: Store) -> None:
    with db.write() as conn:
        ingested = memory.remember(conn, [raw_episode("e1", pnl=1), raw_episode("e1", agent="bob", pnl=2)])
        assert ingested.stored == 2
        assert memory.agents(conn) == ["ada", "bob"]
        assert memory.find_episode(conn, "bob", "e1")["pnl"] == 2.0


def test_bad_episodes_do_not_keep_good_ones_out(db: Store) -> None:
    with db.write() as conn:
        lines = [line(), line(pnl=math.nan), json.dumps(raw_episode("e2")), "nonsense"]
        ingested = memory.remember(conn, read_episodes(lines, "x"))
        assert (ingested.stored, [fault.line for fault in ingested.faults]) == (2, [2, 4])
        direct = memory.remember(conn, [raw_episode("e3"), raw_episode("e4", pnl_r=math.inf)], where="api")
        assert [(fault.where, fault.line) for fault in direct.faults] == [("api", 2)]


def test_an_episode_object_is_held_to_the_same_rules(db: Store) -> None:
    episode = episode_of(raw_episode("e1", pnl_r=1.0))
    with db.write() as conn:
        ingested = memory.remember(conn, [episode, replace(episode, id="e2", pnl_r=math.nan)])
    assert (ingested.stored, len(ingested.faults)) == (1, 1)


def test_an_outcome_from_the_future_is_a_fault(db: Store) -> None:
    with db.write() as conn:
        ingested = memory.remember(conn, [raw_episode("e1"), raw_episode("e2", day=3)], not_after=START)
    assert (ingested.stored, [fault.reason for fault in ingested.faults]) == (1, ["at: lies in the future"])


@given(history=histories(most=12), seed=st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=15)
def test_any_order_and_any_repetition_tells_the_same(
    tmp_path_factory: pytest.TempPathFactory, history: list[dict[str, Any]], seed: random.Random
) -> None:
    """Late and repeated events: every view equals that of telling the history once, in order."""
    path = tmp_path_factory.mktemp("memory")
    query = {"regime": "volatile", "atr_d1": 50}
    chosen = memory.Settings(capital=100.0)
    views = []
    for name, episodes in (("straight", history), ("shuffled", [*history, *history[: len(history) // 2]])):
        order = list(episodes)
        if name == "shuffled":
            seed.shuffle(order)
        with experience(str(path / f"{name}.db")) as store:
            for start in range(0, len(order), 3):
                with store.write() as conn:
                    memory.remember(conn, order[start : start + 3])
                    memory.state(
                        conn, "ada", settings=chosen
                    )  # keeps the cache warm, so that it must catch up
            with store.read() as conn:
                views.append(
                    (
                        memory.state(conn, "ada", settings=chosen),
                        memory.habits(conn, "ada", settings=chosen),
                        memory.beliefs(conn, "ada", settings=chosen),
                        [hit.document() for hit in memory.recall(conn, "ada", query, k=50, settings=chosen)],
                        memory.kelly(conn, "ada", query, settings=chosen),
                    )
                )
    assert views[0] == views[1]


def test_an_empty_file_is_no_fault(db: Store) -> None:
    with db.write() as conn:
        assert memory.remember(conn, read_episodes([])).events == 0


def test_asking_for_an_episode_that_is_not_there_says_so(db: Store) -> None:
    with db.read() as conn, pytest.raises(memory.MissingError, match="no episode e9"):
        memory.find_episode(conn, "ada", "e9")


def test_an_instant_beyond_the_calendar_is_refused() -> None:
    with pytest.raises(RefusedError):
        written(2**63)


def test_what_was_told_comes_back_whole_for_a_replay(db: Store) -> None:
    history = [raw_episode(f"e{i}", day=-i, pnl_r=float(i)) for i in range(5)]
    with db.write() as conn:
        memory.remember(conn, history)
        assert memory.told_episodes(conn, "ada") == [episode_of(episode) for episode in history]
        assert len(memory.told_episodes(conn, "ada", as_of=START - 1)) == 4
        assert memory.told_episodes(conn, "nobody") == []
