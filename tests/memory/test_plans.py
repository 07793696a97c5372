"""Plans: typed triggers, expiry, firing once per situation, and outcomes that say whether following them paid."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

import memory
from memory import ConflictError, MissingError, RefusedError, Retrospective, Seed, Settings
from memory.instants import DAY
from memory.situation.predicate import conditions_of, evaluate, predicate, predicate_document
from retro.store.database import Store
from tests.worlds.memory_databases import START, db, experience, raw_episode

__all__ = ["db"]


VOLATILE = {"all": [{"field": "regime", "op": "==", "value": "volatile"}]}


def plan(conn: Connection, identity: str | None = "P1", **fields: Any) -> Any:
    common: dict[str, Any] = {
        "at": START,
        "trigger": VOLATILE,
        "action": {"type": "skip_trade"},
        "reasoning": "it hurts",
    }
    return memory.create_plan(conn, "ada", identity=identity, **common | fields)


def test_a_plan_fires_when_its_situation_comes_and_again_only_after_it_passed(db: Store) -> None:
    days = ["ranging", "volatile", "volatile", None, "volatile", "ranging", "volatile", "volatile"]
    fired = []
    with db.write() as conn:
        plan(conn)
        for day, regime in enumerate(days):
            context = {} if regime is None else {"regime": regime}
            fired.append(len(memory.observe_plans(conn, "ada", context, at=START + day * DAY)))
        (standing,) = memory.plans(conn, "ada")
    # an unknown regime neither fires nor re-arms; only the ranging day does
    assert fired == [0, 1, 0, 0, 0, 0, 1, 0]
    assert (standing.triggered, standing.triggered_at, standing.armed) == (2, START + 6 * DAY, False)
    assert standing.status == "triggered"


def test_seeing_the_same_situation_twice_changes_nothing(db: Store) -> None:
    with db.write() as conn:
        plan(conn)
        for _ in range(3):
            memory.observe_plans(conn, "ada", {"regime": "volatile"}, at=START + DAY)
            memory.observe_plans(conn, "ada", {"regime": "ranging"}, at=START)
        (standing,) = memory.plans(conn, "ada")
    assert (standing.triggered, standing.armed) == (1, False)
    document = standing.document()
    assert (document["id"], document["status"], document["at"]) == ("P1", "triggered", "2026-01-01T00:00:00Z")


def test_checking_is_a_read_and_says_what_it_could_not_tell(db: Store) -> None:
    trigger = {"all": [*VOLATILE["all"], {"field": "atr_d1", "op": ">", "value": 50}]}
    with db.write() as conn:
        plan(conn, trigger=trigger)
    with db.read() as conn:
        for _ in range(2):
            (check,) = memory.check_plans(conn, "ada", {"regime": "volatile", "atr_d1": 60}, as_of=START)
            assert (check.met, check.fires, check.unevaluable) == (True, True, 0)
        (check,) = memory.check_plans(conn, "ada", {"regime": "volatile"}, as_of=START)
        assert (check.met, check.fires, check.unevaluable) == (False, False, 1)
        (standing,) = memory.plans(conn, "ada")
    assert (standing.triggered, standing.armed, standing.status) == (0, True, "active")


def test_a_plan_expires_after_thirty_days_unless_told_otherwise(db: Store) -> None:
    with db.write() as conn:
        plan(conn)
        plan(conn, "P2", expires_at=START + DAY)
        alive = [
            [standing.plan.id for standing in memory.plans(conn, "ada", as_of=START + day * DAY, alive=True)]
            for day in (0, 1, 29, 30)
        ]
        assert memory.check_plans(conn, "ada", {"regime": "volatile"}, as_of=START + 30 * DAY) == ()
        statuses = {
            standing.plan.id: standing.status for standing in memory.plans(conn, "ada", as_of=START + 2 * DAY)
        }
        assert memory.plans(conn, "ada", as_of=START - 1) == ()
    assert alive == [["P1", "P2"], ["P1"], ["P1"], []]
    assert statuses == {"P1": "active", "P2": "expired"}


def test_a_cancelled_plan_never_fires(db: Store) -> None:
    with db.write() as conn:
        plan(conn)
        memory.cancel_plan(conn, "ada", "P1", at=START + DAY, reason="the regime is over")
        assert memory.observe_plans(conn, "ada", {"regime": "volatile"}, at=START + 2 * DAY) == ()
        assert memory.plans(conn, "ada")[0].status == "cancelled"
        assert memory.plans(conn, "ada", as_of=START)[0].status == "active"
        with pytest.raises(MissingError):
            memory.cancel_plan(conn, "ada", "P9", at=START, reason="x")


def test_episodes_that_followed_a_plan_score_it_and_reviews_say_what_skipping_was_worth(db: Store) -> None:
    with db.write() as conn:
        plan(conn)
        assert memory.plans(conn, "ada")[0].mean_r is None
        followed = [
            raw_episode("e1", day=1, pnl_r=1.0, tags=["plan:P1"]),
            raw_episode("e2", day=2, pnl_r=-0.5, tags=["plan:P1", "plan:P1", "plan:unknown"]),
            raw_episode("s1", day=3, direction="skip", tags=["plan:P1"]),
            raw_episode("e3", day=4, pnl_r=9.0),
        ]
        memory.remember(conn, followed)
        memory.remember(conn, followed)  # told again: scored once
        review = Retrospective("r1", START + 9 * DAY, vs_inaction=3.5)
        memory.amend(conn, "ada", "s1", review)
        memory.amend(conn, "ada", "s1", review)
        (standing,) = memory.plans(conn, "ada")
        (earlier,) = memory.plans(conn, "ada", as_of=START + 5 * DAY)
    assert (standing.outcomes, standing.mean_r, standing.vs_inaction) == (3, 0.25, 3.5)
    assert (earlier.outcomes, earlier.mean_r, earlier.vs_inaction) == (2, 0.25, None)
    assert earlier.reasons["vs_inaction"]


def test_a_skipped_trade_is_scored_by_what_it_would_have_made(db: Store) -> None:
    with db.write() as conn:
        plan(conn)
        memory.score_plan(conn, "ada", "P1", at=START + DAY, would_have_made=-40.0)
        memory.score_plan(conn, "ada", "P1", at=START + 2 * DAY, would_have_made=15.0)
        (standing,) = memory.plans(conn, "ada")
        with pytest.raises(RefusedError):
            memory.score_plan(conn, "ada", "P1", at=START, pnl_r=math.nan)
    assert (standing.outcomes, standing.vs_inaction) == (2, 25.0)


def test_the_same_plan_again_is_no_change_and_another_under_its_name_a_conflict(db: Store) -> None:
    with db.write() as conn:
        first = plan(conn)
        assert plan(conn) == first
        with pytest.raises(ConflictError):
            plan(conn, reasoning="something else")
        named = [plan(conn, None).id for _ in range(2)]
        assert named[0] == named[1]
        assert len(memory.plans(conn, "ada")) == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"trigger": {}},
        {"trigger": {"all": []}},
        {"trigger": {"none": [VOLATILE]}},
        {"trigger": {"all": [{"field": "regime", "op": "=="}]}},
        {"trigger": {"all": [{"field": "atr_d1", "op": ">", "value": "50"}]}},
        {"trigger": {"all": [{"field": "atr_d1", "op": ">", "value": math.inf}]}},
        {"trigger": {"all": [{"field": "regime", "op": "in", "value": "volatile"}]}},
        {"trigger": "regime == volatile"},
        {"action": {}},
        {"action": {"type": "alert", "size": math.nan}},
        {"priority": 1.5},
        {"priority": math.nan},
        {"expires_at": START},
        {"source": "dream"},
        {"reasoning": " "},
    ],
)
def test_a_plan_without_meaning_is_refused(db: Store, fields: dict[str, Any]) -> None:
    with db.write() as conn, pytest.raises(RefusedError):
        plan(conn, **fields)


NESTED = {
    "any": [
        {"all": [{"field": "a", "op": ">", "value": 1}, {"field": "b", "op": "in", "value": ["x", "y"]}]},
        {"field": "c", "op": "!=", "value": True},
    ]
}


@pytest.mark.parametrize(
    ("context", "met", "share", "unevaluable"),
    [
        ({"a": 2, "b": "x", "c": True}, True, 1.0, 0),
        ({"a": 2, "b": "z", "c": True}, False, 0.5, 0),
        ({"a": 1, "b": "z", "c": False}, True, 1.0, 0),
        ({}, False, 0.0, 3),
        ({"a": "2", "b": "x"}, False, 0.5, 2),  # text is no number
        ({"c": 1}, True, 1.0, 2),  # 1 is not true
    ],
)
def test_a_predicate_worked_by_hand(
    context: dict[str, Any], met: bool, share: float, unevaluable: int
) -> None:
    evaluation = evaluate(predicate(NESTED), context)
    assert (evaluation.met, evaluation.share, evaluation.unevaluable) == (met, share, unevaluable)


def test_a_predicate_reads_back_what_it_writes() -> None:
    parsed = predicate(NESTED)
    assert predicate_document(parsed) == NESTED
    assert [condition.field for condition in conditions_of(parsed)] == ["a", "b", "c"]
    deep: dict[str, Any] = VOLATILE
    for _ in range(8):
        deep = {"all": [deep]}
    with pytest.raises(RefusedError, match="nested"):
        predicate(deep)


@given(st.lists(st.sampled_from(["volatile", "ranging", None]), max_size=30))
@settings(deadline=None, max_examples=20)
def test_firings_are_the_rising_edges_of_what_is_known(
    tmp_path_factory: pytest.TempPathFactory, regimes: list[str | None]
) -> None:
    with experience(str(tmp_path_factory.mktemp("memory") / "m.db")) as store, store.write() as conn:
        plan(conn)
        armed, expected, fired = True, [], []
        for i, regime in enumerate(regimes):
            expected.append(regime == "volatile" and armed)
            if regime is not None:
                armed = regime != "volatile"
            context = {} if regime is None else {"regime": regime}
            fired.append(bool(memory.observe_plans(conn, "ada", context, at=START + i * 1000)))
    assert fired == expected


def test_a_review_plans_defence_beyond_fifteen_percent_and_only_once(db: Store) -> None:
    chosen = Settings(capital=100.0)
    with db.write() as conn:
        memory.remember(conn, [raw_episode("e1", day=0, pnl=-15.0)])
        assert memory.suggest_plans(conn, "ada", as_of=START + DAY, review="w1", settings=chosen) == ()
        memory.remember(conn, [raw_episode("e2", day=2, pnl=-1.0)])
        (suggestion,) = memory.suggest_plans(conn, "ada", as_of=START + 3 * DAY, review="w2", settings=chosen)
        assert memory.suggest_plans(conn, "ada", as_of=START + 3 * DAY, review="w2", settings=chosen) == ()
        assert memory.suggest_plans(conn, "ada", as_of=START + 9 * DAY, review="w3", settings=chosen) == ()
        again = memory.suggest_plans(conn, "ada", as_of=START + 40 * DAY, review="w6", settings=chosen)
    assert (suggestion.action, suggestion.source) == ({"type": "resize", "factor": 0.5}, "review")
    assert evaluate(predicate(suggestion.trigger), {"drawdown_pct": 0.16}).met
    assert len(again) == 1


def test_a_well_founded_losing_belief_becomes_a_plan_to_skip(db: Store) -> None:
    conditions = {"all": [{"field": "strategy", "op": "==", "value": "breakout"}, *VOLATILE["all"]]}
    with db.write() as conn:
        memory.seed_belief(conn, Seed("S1", "ada", START, "breakouts fail in storms", conditions, "loses"))
        history = [raw_episode(f"e{i}", day=i, pnl_r=-1.0, context={"regime": "volatile"}) for i in range(20)]
        usual = [raw_episode(f"u{i}", day=(i - 10) / 100, pnl_r=1.0) for i in range(10)]
        memory.remember(conn, usual + history[:9])
        assert memory.suggest_plans(conn, "ada", as_of=START + 8 * DAY, review="w1") == ()
        memory.remember(conn, history[9:])
        suggestions = memory.suggest_plans(conn, "ada", as_of=START + 20 * DAY, review="w3")
    assert {suggestion.action["type"] for suggestion in suggestions} == {"skip_trade"}
    assert {suggestion.sources for suggestion in suggestions} == {("e19",)}
    assert all(suggestion.source == "belief" for suggestion in suggestions)
    assert len(suggestions) == 2  # the seeded one and the one the episodes themselves induced
