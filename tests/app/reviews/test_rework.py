"""A rework beside the stream: the documents that the service would write, stored once, and only of facts that still stand."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from retro.app.engine import rework as subject
from retro.app.engine.rework import AgentRework, ReworkSummary, compute, rework
from retro.errors import RetroError
from retro.periods import HOUR
from retro.store.database import Store, open_store
from retro.store.jobs import interventions
from retro.store.rework import enlist, open_units
from retro.version import EDITION
from tests.fleet.rework_world import (
    AGENTS,
    agents_left,
    document_texts,
    enlist_all,
    fail_for,
    reviewed_world,
    service_texts,
)
from tests.worlds.commands import Retro, retro, round_trip
from tests.worlds.places import ROOT
from tests.worlds.service_world import MONDAY, World, trade

__all__ = ["retro"]


class Here(Executor):
    """Computes in this process, when it is asked; `before` sees the unit first."""

    def __init__(self, before: Callable[[Any], None] = lambda _: None) -> None:
        self.before = before

    def submit(self, work: Any, /, *given: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(work(*given, **named))
        self.before(given[1])
        return future


@pytest.fixture
def world(store: Store, tmp_path: Path, database_url: str) -> World:
    return reviewed_world(store, tmp_path, database_url)


def work(world: World, executor: Executor | None = None) -> ReworkSummary:
    return rework(world.bench(), executor or Here(), 2)


def test_f13_it_writes_what_the_service_would_write_and_no_more(
    world: World, store: Store, tmp_path: Path
) -> None:
    before = document_texts(world)
    enlist_all(world)
    summary = work(world)
    assert (summary.agents, summary.revised, summary.again, summary.failures) == (3, 3, 0, {})
    assert agents_left(world) == []
    after = document_texts(world)
    assert {key for key in after if key[1] == 2} == {(f"{agent}.weekly.2026-W10", 2) for agent in AGENTS}
    assert before.items() <= after.items()
    assert all(review.state == "done" and review.late == (False,) * 4 for review in world.reviews())
    assert service_texts(tmp_path / "service") == after
    enlist_all(world)
    assert work(world).revised == 0
    assert document_texts(world) == after


def test_facts_that_come_meanwhile_have_the_agent_done_again(world: World) -> None:
    late = trade("late", MONDAY + 3 * HOUR, MONDAY + 4 * HOUR, 2000, 2500, agent="bob")
    told = list[Any]()

    def tell(unit: Any) -> None:
        if not told:
            told.append(unit)
            world.tell(late)

    enlist_all(world)
    summary = work(world, Here(tell))
    assert (summary.agents, summary.again, agents_left(world)) == (3, 1, [])
    # what the facts touched is the service's to look at, and it was not overtaken
    assert world.review("bob.weekly.2026-W10").revision == 1
    assert world.review("ada.weekly.2026-W10").revision == 2
    world.knock()
    assert world.review("bob.weekly.2026-W10").revision == 2
    assert "late" in world.text("bob.weekly.2026-W10")


def test_a_review_that_the_stream_holds_is_left_to_it(world: World) -> None:
    enlist_all(world, ["ada"])

    def remade(_: Any) -> None:
        if world.review("ada.weekly.2026-W10").revision == 1:
            with world.store.write() as conn:
                interventions.remake(conn, "ada.weekly.2026-W10")
            world.knock()

    summary = work(world, Here(remade))
    assert (summary.agents, summary.again, summary.revised) == (1, 1, 0)
    assert world.review("ada.weekly.2026-W10").revision == 2


def test_f13_killed_anywhere_it_goes_on_and_each_revision_is_made_once(world: World) -> None:
    enlist_all(world)
    stored = subject.commit

    def dying(bench: Any, result: AgentRework) -> bool:
        if result.agent == "bob":
            raise KeyboardInterrupt
        return stored(bench, result)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subject, "commit", dying)
        with pytest.raises(KeyboardInterrupt):
            work(world)
    assert agents_left(world) == ["bob", "eve"]
    assert {key[0] for key in document_texts(world) if key[1] == 2} == {"ada.weekly.2026-W10"}
    assert work(world).agents == 2
    assert sorted(key for key in document_texts(world) if key[1] > 1) == [
        (f"{a}.weekly.2026-W10", 2) for a in AGENTS
    ]


def test_f13_computers_that_die_cost_no_more_than_their_units(world: World) -> None:
    """Processes break with all that was given to them; a cluster whose scheduler is gone cancels it."""

    class Dying(Here):
        def submit(self, work: Any, /, *given: Any, **named: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(BrokenProcessPool("killed"))
            return future

    class Gone(Here):
        def submit(self, work: Any, /, *given: Any, **named: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    class Lost(Here):
        def submit(self, work: Any, /, *given: Any, **named: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(OSError("all workers that it was given to have died"))
            return future

    enlist_all(world)
    before = document_texts(world)
    for computers in (Dying(), Gone(), Lost()):
        with pytest.raises(RetroError, match="goes on with 3 agents"):
            work(world, computers)
        assert (document_texts(world), len(agents_left(world))) == (before, 3)
    assert work(world).revised == 3


def test_f13_a_computer_of_another_version_computes_nothing(world: World) -> None:
    class Older(Here):
        def submit(self, work: Any, /, *given: Any, **named: Any) -> Future[Any]:
            return super().submit(work, *given[:2], "0.0.9, definitions 1")

    enlist_all(world)
    with pytest.raises(RetroError, match=r"not 0\.0\.9, definitions 1"):
        work(world, Older())
    assert len(agents_left(world)) == 3


def test_f13_an_undone_commit_leaves_nothing_in_the_ledger(world: World) -> None:
    before = document_texts(world)
    enlist_all(world, ["ada"])
    with world.store.read() as conn:
        (unit,) = open_units(conn)
    (result,) = compute(world.bench().config, unit, EDITION)
    assert len(result.moved) == 1
    assert document_texts(world) == before

    def broken(*_: Any) -> None:
        raise RuntimeError("no")

    from retro.app.context import Consequence

    with pytest.raises(RuntimeError):
        subject.commit(world.bench(consequences=(Consequence("broken", broken),)), result)
    assert (document_texts(world), agents_left(world)) == (before, ["ada"])
    assert all(review.state == "done" for review in world.reviews())
    assert subject.commit(world.bench(), result)
    assert not subject.commit(world.bench(), result)


def test_an_agent_that_fails_stops_no_other_and_waits(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_for(monkeypatch, "bob")
    enlist_all(world)
    summary = work(world)
    assert (summary.agents, summary.failures) == (2, {"bob": "ValueError: a fault of ours"})
    assert agents_left(world) == ["bob"]


@pytest.fixture
def told(retro: Retro) -> Retro:
    """A database with one reviewed agent, and thresholds that have changed since."""
    Path("a.jsonl").write_text(round_trip("p"))
    assert retro("ingest", "journal", "a.jsonl").code == 0
    assert retro("run", "--once").code == 0
    return retro


def test_the_command_works_in_processes_and_says_what_it_came_to(told: Retro) -> None:
    """With the words of docs/fleet.md."""
    Path("names.txt").write_text("ada\n\n")
    page = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^\$ retro (rework .*)", page, re.MULTILINE)
    answer = told(*command.split(), "--json")
    assert (answer.code, answer.data["agents"], answer.data["failures"]) == (0, 1, {})
    assert answer.data["reviews"] > 0


def test_what_it_cannot_do_is_one_sentence(told: Retro, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("names").write_text("ada\nbobby\n")
    answer = told("rework", "--agents", "names")
    assert (answer.code, "names line 2: there is no agent 'bobby'" in answer.err) == (2, True)
    assert told("rework", "--executor", "ray:1").code == 2
    answer = told("rework", "--executor", "workers")
    assert (answer.code, "a PostgreSQL, once `retro fleet init`" in answer.err) == (2, True)
    monkeypatch.setitem(sys.modules, "distributed", None)
    answer = told("rework", "--executor", "dask:tcp://localhost:1")
    assert (answer.code, "pip install distributed" in answer.err) == (1, True)
    assert told("rework", "--abandon").out == "0 agents are left as they are\n", (
        "what is refused begins nothing"
    )
    with closing(open_store("memory_data/retro.db")) as store, store.write() as conn:
        enlist(conn, ["ada"], 0, 0)
    answer = told("rework", "--since", "2026-01-01")
    assert (answer.code, "a rework of 1 agents is not finished" in answer.err) == (2, True)
    assert told("rework", "--abandon").out == "1 agents are left as they are\n"
