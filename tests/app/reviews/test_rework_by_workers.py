"""A rework that is left to the workers of a fleet: a sweep knocks for its buckets, and the rows say what is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from retro.app.context import Knock, PassSummary
from retro.app.engine import rework as subject
from retro.app.engine.knocks import answer, ripe_knocks
from retro.app.engine.rework import AgentRework
from retro.periods import HOUR
from retro.store.database import Store
from retro.store.estate.rename import rename
from retro.store.locks import bucket_of
from retro.store.rework import MOST_TRIES, failures, hand_over
from tests.fleet.rework_world import (
    AGENTS,
    agents_left,
    document_texts,
    enlist_all,
    fail_for,
    reviewed_world,
    service_texts,
)
from tests.worlds.service_world import MONDAY, World, trade


@pytest.fixture
def world(store: Store, tmp_path: Path, database_url: str) -> World:
    return reviewed_world(store, tmp_path, database_url)


def give_to_workers(world: World) -> None:
    with world.store.write() as conn:
        hand_over(conn, by_workers=True)


def knocks(world: World) -> list[Knock]:
    return [knock for knock in ripe_knocks(world.bench(alone=False)) if knock.queue == "rework"]


def answered(world: World) -> PassSummary:
    """What the knocks of a sweep come to."""
    return sum(
        (answer(world.bench(alone=False, owner="w"), knock) for knock in knocks(world)), start=PassSummary()
    )


def reasons(world: World) -> dict[str, str]:
    with world.store.read() as conn:
        return failures(conn)


def test_f13_workers_write_what_the_service_would_write_where_a_sweep_knocks_for_them(
    world: World, tmp_path: Path
) -> None:
    enlist_all(world)
    assert knocks(world) == [], "whoever called computes"
    give_to_workers(world)
    assert knocks(world) == [Knock("rework", bucket) for bucket in sorted(map(bucket_of, AGENTS))]
    tally = answered(world)
    assert (tally.done, tally.failed, agents_left(world), knocks(world)) == (3, 0, [], [])
    assert document_texts(world) == service_texts(tmp_path / "service")


def test_f13_who_kills_its_workers_is_left_after_five_and_stops_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = subject._computed

    def deadly(*given: Any) -> AgentRework:
        if "bob" in given:
            raise KeyboardInterrupt
        return computed(*given)

    monkeypatch.setattr(subject, "_computed", deadly)
    enlist_all(world)
    give_to_workers(world)
    for _ in range(MOST_TRIES):
        for knock in knocks(world):
            if knock.bucket == bucket_of("bob"):
                with pytest.raises(KeyboardInterrupt):
                    answer(world.bench(alone=False, owner="w"), knock)
            else:
                assert answer(world.bench(alone=False, owner="w"), knock).done == 1
    answered(world)
    assert (agents_left(world), knocks(world)) == (["bob"], [])
    assert "begun 5 times and never ended" in reasons(world)["bob"]
    monkeypatch.undo()
    give_to_workers(world)
    assert answered(world).done == 1
    assert agents_left(world) == []


def test_who_fails_in_a_workers_hands_is_named_with_the_reason_and_not_begun_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_for(monkeypatch, "bob")
    enlist_all(world)
    give_to_workers(world)
    tally = answered(world)
    assert (tally.done, tally.failed, agents_left(world), knocks(world)) == (2, 1, ["bob"], [])
    assert reasons(world) == {"bob": "ValueError: a fault of ours"}
    assert [event["agent"] for event in world.events("rework_failed")] == ["bob"]


def test_facts_that_come_while_a_worker_computes_have_it_begin_the_agent_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = trade("late", MONDAY + 3 * HOUR, MONDAY + 4 * HOUR, 2000, 2500, agent="bob")
    computed, begun = subject._computed, list[int]()

    def told_meanwhile(*given: Any) -> AgentRework:
        work = computed(*given)
        if not begun:
            world.tell(late)
        begun.append(1)
        return work

    monkeypatch.setattr(subject, "_computed", told_meanwhile)
    enlist_all(world, ["bob"])
    give_to_workers(world)
    tally = answered(world)
    assert (len(begun), tally.done, tally.failed, agents_left(world)) == (2, 0, 0, [])
    assert world.review("bob.weekly.2026-W10").revision == 1, "what the facts touched is the service's"


def test_f13_who_comes_after_a_killed_worker_looks_at_an_agent_as_of_the_same_instant(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a position that was left for months its review says more by now, which is the service's to say."""
    computed, deaths = subject._computed, list[int]()

    def dying(*given: Any) -> AgentRework:
        if not deaths:
            deaths.append(1)
            raise KeyboardInterrupt
        return computed(*given)

    monkeypatch.setattr(subject, "_computed", dying)
    enlist_all(world)
    give_to_workers(world)
    with pytest.raises(KeyboardInterrupt):
        answered(world)
    world.clock.advance(200 * 24 * 3600)
    assert answered(world).failed == 0
    assert agents_left(world) == []
    assert document_texts(world) == service_texts(tmp_path / "service")


def test_a_renamed_agent_is_looked_for_in_the_bucket_of_its_name(world: World) -> None:
    enlist_all(world, ["bob"])
    give_to_workers(world)
    with world.store.write() as conn:
        rename(conn, "bob", "harbor", world.clock())
    assert knocks(world) == [Knock("rework", bucket_of("harbor"))]
    assert answered(world).failed == 0
    assert agents_left(world) == []
