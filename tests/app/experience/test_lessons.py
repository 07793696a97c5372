"""From facts and reviews to memory: what is told, what hindsight amends, and that nothing is ever half done."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event as hooks

import memory
from retro.app.engine.wiring import bench_of
from retro.app.engine.worker import run_once
from retro.app.experience.settings import registry_of
from retro.config import Config
from retro.periods import DAY, parse_instant
from retro.store.database import Store, open_store
from tests.worlds.commands import event, round_trip
from tests.worlds.reviews import CONTEXT, FELT_GOOD, WEEK, House, both, house, one_store, two_trades

__all__ = ["both", "house", "one_store"]

FORK = multiprocessing.get_context("fork")


# episodes


def test_a_closed_position_becomes_an_episode_as_it_was_decided(house: House) -> None:
    assert house.learn(house.position("lost")).episodes == 2  # and the hold inside it
    lost = house.episodes()["lost"]
    expected = {
        "agent": "ada", "at": "2026-03-02T18:00:00Z", "symbol": "ETH/USDC", "direction": "long", "strategy": "trend",
        "entry_price": 100.0, "exit_price": 95.0, "size": 1.0, "pnl": -5.0, "held_for_s": 32400.0, "confidence": 0.7,
        "context": CONTEXT, "reasoning": "momentum", "kind": "spot",
    }  # fmt: skip
    assert {name: lost[name] for name in expected} == expected
    assert lost["tags"][0] == "H-7"


def test_doing_nothing_is_remembered_and_counted_in_no_outcome(house: House) -> None:
    house.learn(house.week())
    episodes = house.episodes()
    assert set(episodes) == {"lost", "won", "skip:s1", "hold:h1", "hold:h2"}
    skip, inside, hold = episodes["skip:s1"], episodes["hold:h1"], episodes["hold:h2"]
    assert (skip["direction"], skip["pnl"], skip["at"]) == ("skip", None, "2026-03-04T10:00:00Z")
    assert (inside["at"], inside["held_for_s"], inside["position"]) == (
        "2026-03-02T18:00:00Z",
        19800.0,
        "lost",
    )
    assert (hold["direction"], hold["at"]) == ("hold", "2026-03-05T12:30:00Z")
    with house.store.read() as conn:
        state = memory.state(conn, "ada", settings=memory.Settings(capital=100.0))
    assert (state.trades, state.equity) == (2, 103.0)


def test_what_was_decided_after_the_week_is_not_in_it(house: House) -> None:
    house.tell(event("decision", "s9", "2026-03-09T00:00:00Z", action="skip"))
    house.learn(house.week())
    assert "skip:s9" not in house.episodes()


def test_a_review_amends_what_it_judged_and_keeps_the_original(both: House) -> None:
    """numbers.md section 5: worse than doing nothing and felt good, better and felt bad."""
    house = both
    house.learn(house.week())
    episodes = house.episodes()
    lost, won = episodes["lost"], episodes["won"]
    assert (lost["valence"], lost["provenance"], lost["retrieval_boost"]) == (-0.3, "retrospective", 1.5)
    assert "retrospective_reversal" in lost["tags"]
    assert lost["retrospective_vs_inaction"] == pytest.approx(-5.0)
    assert (won["valence"], "retrospective_vindicated" in won["tags"]) == (-0.4, True)
    with house.store.read() as conn:
        episode = memory.find_episode(conn, "ada", "lost")
        marked = memory.markers(conn, "ada")
    assert episode["original_valence"] == 0.6
    assert {amendment.review for amendment in episode["amendments"]} == {"ada.weekly.2026-W10"}
    assert [
        (marker.episode, marker.outcome, marker.confidence) for marker in marked if marker.outcome == "Regret"
    ] == [("lost", "Regret", pytest.approx(0.5))]


def test_a_missed_exit_is_marked_at_the_context_of_its_peak(one_store: Store) -> None:
    story = (
        round_trip("late", profit=1.0, context={"regime": "trending", "price": 100.0})
        + event(
            "decision",
            "adj",
            "2026-03-02T12:00:00Z",
            action="adjust",
            position="late",
            context={"regime": "calm"},
        )
        + event("mark", "peak", "2026-03-02T13:00:00Z", instrument="ETH/USDC", price="110")
        + event("mark", "m2", "2026-03-02T15:00:00Z", instrument="ETH/USDC", price="104")
    )
    house = House(one_store, story)
    house.learn(house.position("late"))
    with one_store.read() as conn:
        [marker] = memory.markers(conn, "ada")
    assert (marker.outcome, marker.bias) == ("MissedExit", "TightenExits")
    assert marker.context == {"regime": "calm", "price": 100.0}


@pytest.mark.parametrize(
    ("unit", "reversed_"),
    [("usd", True), ("r", False), ("bps", True)],  # -5 is -0.5 R of 10, and -500 bps of 100
)
def test_the_thresholds_are_in_the_configured_unit(one_store: Store, unit: str, reversed_: bool) -> None:
    story = round_trip("lost", profit=-5.0, **FELT_GOOD).replace(
        '"kind": "spot"', '"kind": "spot", "risk": "10"'
    )
    house = House(one_store, story, retrospective={"heuristic_threshold_unit": unit})
    house.learn(house.position("lost"))
    lost = house.episodes()["lost"]
    assert lost["retrospective_vs_inaction"] == pytest.approx({"usd": -5.0, "r": -0.5, "bps": -500.0}[unit])
    assert ("retrospective_reversal" in lost["tags"]) is reversed_


def test_a_figure_that_cannot_be_told_in_the_unit_is_absent(one_store: Store) -> None:
    house = House(
        one_store,
        round_trip("lost", profit=-5.0, **FELT_GOOD),
        retrospective={"heuristic_threshold_unit": "r"},
    )
    house.learn(house.position("lost"))
    assert house.episodes()["lost"]["retrospective_vs_inaction"] is None


def test_reviewing_again_or_another_way_changes_nothing(house: House) -> None:
    house.learn(house.position("lost"))
    house.learn(house.week())
    before = house.everything()
    for document in (house.week(), house.position("lost"), house.position("won")):
        learned = house.learn(document)
        assert (learned.episodes, learned.amended) == (0, 0)
    assert house.everything() == before


def test_late_data_amend_once_more_and_the_history_keeps_both(house: House) -> None:
    house.learn(house.week())
    house.tell(event("cost", "gas", "2026-03-02T09:00:00Z", kind="gas", amount="2", position="lost"))
    assert house.learn(house.week()).amended == 1
    with house.store.read() as conn:
        episode = memory.find_episode(conn, "ada", "lost")
    assert (episode["pnl"], episode["retrospective_pnl"]) == (-5.0, pytest.approx(-7.0))
    assert [
        amendment.new for amendment in episode["amendments"] if amendment.field == "retrospective_pnl"
    ] == pytest.approx([-5.0, -7.0])


def test_what_the_agent_told_itself_stands_and_is_amended(house: House) -> None:
    own = {"id": "lost", "agent": "ada", "at": "2026-03-02T18:00:01Z", "pnl": -4.9, "valence": 0.9}
    with house.store.write() as conn:
        memory.remember(conn, [own])
    house.learn(house.week())
    lost = house.episodes()["lost"]
    assert (lost["pnl"], lost["valence"], lost["retrospective_pnl"]) == (-4.9, -0.3, -5.0)


def test_what_is_not_believed_is_not_remembered(one_store: Store) -> None:
    story = round_trip("odd", profit=900.0) + round_trip("fine", "2026-03-03")
    house = House(one_store, story)
    house.learn(house.week())
    assert set(house.episodes()) == {"fine"}


def test_a_context_value_of_the_wrong_kind_costs_that_field_and_is_told_of(one_store: Store) -> None:
    house = House(one_store, round_trip("p", context={"regime": ["x"], "atr_d1": 3.0}))
    learned = house.learn(house.position("p"))
    assert learned.faults == ("left out: context.regime: must be text",)
    assert house.episodes()["p"]["context"] == {"atr_d1": 3.0}


def test_the_registry_is_the_built_in_one_with_the_owners_fields() -> None:
    config = Config.model_validate(
        {
            "memory": {
                "fields": {
                    "mood": {"kind": "category", "weight": 0.2},
                    "regime": {"kind": "category", "weight": 0.5},
                }
            }
        }
    )
    weights = {field.name: field.weight for field in registry_of(config).fields}
    assert (weights["mood"], weights["regime"], weights["session"]) == (0.2, 0.5, 0.1)


# plans


def test_plans_see_each_situation_once_and_re_arm_only_through_reviews(house: House) -> None:
    trigger = {
        "all": [
            {"field": "regime", "op": "==", "value": "trending"},
            {"field": "symbol", "op": "==", "value": "ETH/USDC"},
        ]
    }
    with house.store.write() as conn:
        memory.create_plan(
            conn,
            "ada",
            at=WEEK,
            trigger=trigger,
            action={"type": "skip_trade"},
            reasoning="r",
            identity="P-1",
        )
    assert house.learn(house.week()).plans_fired == 2  # at the entry, and again after a calm in between
    assert house.learn(house.week()).plans_fired == 0
    with house.store.read() as conn:
        [stored_plan] = memory.plans(conn, "ada")
    assert (stored_plan.triggered, stored_plan.armed) == (2, False)


def test_a_deep_drawdown_makes_a_review_plan_for_smaller_sizes(one_store: Store) -> None:
    story = round_trip("a", profit=-10.0) + round_trip("b", "2026-03-03", profit=-10.0)
    house = House(one_store, story, agent={"ada": {"capital": 100}})
    assert house.learn(house.week()).plans_made == 1
    with one_store.read() as conn:
        [stored_plan] = memory.plans(conn, "ada")
    assert (stored_plan.plan.source, stored_plan.plan.action) == ("review", {"type": "resize", "factor": 0.5})
    assert house.learn(house.week()).plans_made == 0
    assert (
        house.learn(house.week(WEEK + 70 * DAY)).plans_made == 0
    )  # it has fallen silent, and needs no defence


# never half


def _failing_at(store: Store, number: int) -> Callable[[], None]:
    """Let the n-th statement on the memory's tables fail; gives what takes the hook away again."""
    count = 0

    def fail(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        nonlocal count
        if "memory_" in statement:
            count += 1
            if count == number:
                raise RuntimeError("killed here")

    hooks.listen(store.engine, "before_cursor_execute", fail)
    return lambda: hooks.remove(store.engine, "before_cursor_execute", fail)


def test_failing_anywhere_leaves_the_memory_as_it_was_and_the_review_done(both: House) -> None:
    house = both
    document = house.week()
    house.learn(house.position("won"))
    before = house.everything()
    for number in range(1, 400):
        unhook = _failing_at(house.store, number)
        try:
            learned = house.learn(document)
        finally:
            unhook()
        if not isinstance(learned, str):
            break
        assert "killed here" in learned
        assert house.everything() == before
    assert number > 15
    assert set(house.episodes()) == {"lost", "won", "skip:s1", "hold:h1", "hold:h2"}
    with house.store.read() as conn:
        assert [agent_health.problems for agent_health in memory.health(conn, thorough=True)] == [()]


def _killed_at(path: str, number: int) -> None:
    store = open_store(path)
    house = House(store, "")
    document = house.week()
    count = 0

    def kill(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        nonlocal count
        count += "memory_" in statement
        if count == number:
            os._exit(9)

    hooks.listen(store.engine, "before_cursor_execute", kill)
    house.learn(document)
    os._exit(0)


def test_a_process_killed_anywhere_leaves_all_or_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "r.db")
    house = House(open_store(path), two_trades())
    house.week()
    before, codes = house.everything(), []
    for number in (1, 4, 9, 14, 19, 400):
        process = FORK.Process(target=_killed_at, args=(path, number))
        process.start()
        process.join()
        codes.append(process.exitcode)
        assert (house.everything() == before) is (process.exitcode == 9)
    assert codes == [9, 9, 9, 9, 9, 0]
    house.store.close()


def test_a_damaged_memory_stops_no_review_and_says_so(house: House) -> None:
    house.learn(house.position("lost"))
    with house.store.write() as conn:
        conn.exec_driver_sql("UPDATE memory_episode SET document = '{'")
    learned = house.learn(house.week())
    assert isinstance(learned, str)
    assert learned.startswith("DamagedError: ")


# through the service


def test_the_service_learns_in_the_transaction_that_finishes_a_review(store: Store, tmp_path: Path) -> None:
    house = House(store, two_trades(), memory={"directory": tmp_path / "memory"})
    log_entries: list[Any] = []
    log = lambda name, **fields: log_entries.append((name, fields))  # noqa: E731
    now = parse_instant("2026-03-10T00:00:00Z")
    bench = bench_of(store, house.config, {}, clock=lambda: now, owner="t", host="h", log=log)
    bench.channels = {"records": bench.channels["records"]}
    assert run_once(bench, lambda _: None).clean
    assert set(house.episodes()) == {"lost", "won", "skip:s1", "hold:h1", "hold:h2"}
    assert house.episodes()["lost"]["valence"] == -0.3
    assert (
        memory.load_experiments(directory=tmp_path / "memory")[0]["context"]["review"]
        == "ada.weekly.2026-W10"
    )
    assert [name for name, _ in log_entries if name in ("not_remembered", "partly_remembered")] == []
    with store.read() as conn:
        reviews = {amendment.review for amendment in memory.find_episode(conn, "ada", "lost")["amendments"]}
    assert reviews <= {"ada.position.lost", "ada.daily.2026-03-02", "ada.weekly.2026-W10"}
