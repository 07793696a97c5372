"""Recall finds the truly most relevant memories, shows no future, and explains each hit."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import memory
from memory import DEFAULT, Filters, RefusedError, Settings
from memory.episodic.columns import of_episodes
from memory.episodic.episode import episode_of
from memory.episodic.factors import affect, quality, recency, scale, scale_at, sharpe_weight
from memory.instants import DAY
from memory.retrieval.hit import Hit
from memory.retrieval.recall import best_of, score, top
from retro.store.database import Store
from tests.worlds.memory_databases import (
    START,
    contexts,
    db,
    histories,
    raw_episode,
    slow_scores,
    slow_sigma,
)

__all__ = ["db"]


QUERY = {"regime": "volatile", "atr_d1": 80}


def ids(hits: Iterable[Hit]) -> list[str]:
    return [hit.id for hit in hits]


@given(histories(), contexts)
@settings(deadline=None, max_examples=150)
def test_every_ranking_equals_the_formula_applied_to_every_episode(
    history: list[dict[str, Any]], query: dict[str, Any]
) -> None:
    columns = of_episodes([episode_of(episode) for episode in history], DEFAULT)
    as_of = START + 10 * DAY
    for instant in (as_of, columns.latest or 0):
        expected = slow_scores(history, query, instant)
        scored = score(columns, query, as_of=instant)
        best = best_of(columns, scored, 10)
        ranked_ids = [history[int(number)]["id"] for number in columns.number[scored.places[best]]]
        assert scored.score[best].tolist() == pytest.approx(
            [expected_score for expected_score, _ in expected[:10]], abs=1e-12
        )
        apart = {round(expected_score, 12) for expected_score, _ in expected}
        if len(apart) == len(expected):  # no two so close that rounding could swap them
            assert ranked_ids == [identity for _, identity in expected[:10]]


def test_recall_at_10_against_exhaustive_ranking_is_1(db: Store) -> None:
    """A thousand episodes in five regimes, stored in three batches and recalled for many situations."""
    rng = np.random.default_rng(7)
    history = [
        raw_episode(
            f"e{i:04}",
            day=i / 10,
            pnl_r=round(float(rng.normal(0, 1.5)), 4),
            confidence=round(float(rng.random()), 4),
            context={
                "regime": f"r{i // 200}",
                "atr_d1": float(rng.uniform(10, 100)),
                "price": float(rng.uniform(1000, 2000)),
            },
        )
        for i in range(1000)
    ]
    for start in (0, 300, 900):
        with db.write() as conn:
            memory.remember(conn, history[start : start + {0: 300, 300: 600, 900: 100}[start]])
    with db.read() as conn:
        for episode in history[::97]:
            as_of = START + 100 * DAY
            hits = memory.recall(conn, "ada", episode["context"], as_of=as_of, k=10)
            assert ids(hits) == [
                identity for _, identity in slow_scores(history, episode["context"], as_of)[:10]
            ]


def test_one_perfect_match_60_days_old_comes_before_50_newer_poor_ones(db: Store) -> None:
    perfect = raw_episode(
        "perfect", day=0, pnl_r=3.0, confidence=0.9, context={"regime": "volatile", "atr_d1": 80}
    )
    poor = [
        raw_episode(
            f"poor{i}",
            day=34.5 + i / 2,
            pnl_r=0.2,
            confidence=0.5,
            context={"regime": "ranging", "atr_d1": 20},
        )
        for i in range(50)
    ]
    with db.write() as conn:
        memory.remember(conn, [perfect, *poor])
        hits = memory.recall(conn, "ada", QUERY, as_of=START + 60 * DAY)
    assert hits[0].id == "perfect"
    sigma = slow_sigma([3.0] + [0.2] * 50)
    assert hits[0].components == pytest.approx(
        {
            "Q": 1 / (1 + math.exp(-6 / sigma)),
            "Sim": 1.0,
            "Rec": 3**-0.5,
            "Conf": 0.95,
            "Aff": 1.0,
            "boost": 1.0,
        }
    )
    assert len(hits) == 10
    assert hits[1].score < 1e-5


def test_the_score_is_the_product_of_its_components_and_the_reason_one_line(db: Store) -> None:
    with db.write() as conn:
        memory.remember(
            conn,
            [
                raw_episode(
                    f"e{i}", day=i, pnl_r=(-1) ** i * i / 3, confidence=i / 10, context={"regime": "volatile"}
                )
                for i in range(9)
            ],
        )
        for hit in memory.recall(conn, "ada", QUERY):
            assert hit.score == pytest.approx(math.prod(hit.components.values()), rel=1e-12)
            assert 0 <= hit.score <= 1.15
            assert hit.reason
            assert "\n" not in hit.reason
            assert set(hit.document()) == {
                "id", "type", "score", "components", "reason", "amended", "memory",
            }  # fmt: skip


@given(histories(most=25))
@settings(deadline=None, max_examples=60)
def test_no_future_memory_ever_appears_and_the_past_does_not_feel_it(history: list[dict[str, Any]]) -> None:
    as_of = START + 7 * DAY
    past = [episode for episode in history if episode["at"] * 1000 <= as_of]
    with_future = of_episodes([episode_of(episode) for episode in history], DEFAULT)
    without = of_episodes([episode_of(episode) for episode in past], DEFAULT)
    chosen = Settings(capital=10.0)
    ahead = score(with_future, QUERY, as_of=as_of, settings=chosen)
    behind = score(without, QUERY, as_of=as_of, settings=chosen)
    assert ahead.score.tolist() == behind.score.tolist()
    assert all(int(at) <= as_of for at in with_future.at[ahead.places])


def test_recall_as_of_a_day_says_what_it_said_that_day(db: Store) -> None:
    history = [
        raw_episode(f"e{i:02}", day=i, pnl_r=math.sin(i), context={"regime": "volatile", "atr_d1": 60 + i})
        for i in range(30)
    ]
    recalled = []
    for episode in history:
        with db.write() as conn:
            memory.remember(conn, [episode])
            recalled.append([hit.document() for hit in memory.recall(conn, "ada", QUERY)])
    with db.read() as conn:
        for episode, documents in zip(history, recalled, strict=True):
            hits = memory.recall(conn, "ada", QUERY, as_of=episode["at"] * 1000)
            assert [hit.document() for hit in hits] == documents


def test_filters_narrow_the_candidates_and_leave_the_scale_alone(db: Store) -> None:
    history = [
        raw_episode(
            f"e{i}",
            day=i,
            pnl_r=float(i),
            strategy=["breakout", "carry"][i % 2],
            symbol=["ETH/USDC", "BTC/USDC", None][i % 3],
            direction=["long", "short"][i // 6],
            context={"regime": ["volatile", "ranging"][i % 2]},
        )
        for i in range(12)
    ]
    query = {"atr_d1": 1.0, "regime": "volatile"}
    with db.write() as conn:
        memory.remember(conn, history)
        everything = {hit.id: hit.components["Q"] for hit in memory.recall(conn, "ada", query, k=50)}
        for filters, expected in [
            (Filters(strategy="carry"), {"e1", "e3", "e5", "e7", "e9", "e11"}),
            (Filters(symbol="BTC/USDC"), {"e1", "e4", "e7", "e10"}),
            (Filters(direction="short"), {f"e{i}" for i in range(6, 12)}),
            (Filters(regime="ranging", direction="long"), {"e1", "e3", "e5"}),
            (Filters(strategy="nobody"), set()),
        ]:
            hits = memory.recall(conn, "ada", query, k=50, filters=filters)
            assert set(ids(hits)) == expected
            assert all(hit.components["Q"] == everything[hit.id] for hit in hits)


def test_losses_first_puts_every_loss_before_the_rest_each_by_score(db: Store) -> None:
    history = [
        raw_episode(f"e{i}", day=i, pnl_r=r, context={"regime": "volatile"})
        for i, r in enumerate([2.0, -0.2, 1.0, -3.0, 0.0, 3.0, -1.0])
    ]
    with db.write() as conn:
        memory.remember(conn, history)
        hits = memory.recall(conn, "ada", {"regime": "volatile"}, losses_first=True, k=5)
    assert {hit.id for hit in hits[:3]} == {"e1", "e3", "e6"}
    for part in (hits[:3], hits[3:]):
        assert [hit.score for hit in part] == sorted((hit.score for hit in part), reverse=True)


def test_the_loss_floor_gives_losses_a_fifth_of_the_places(db: Store) -> None:
    winners = [raw_episode(f"w{i:02}", day=i, pnl_r=3.0, context={"regime": "volatile"}) for i in range(20)]
    losers = [raw_episode(f"l{i}", day=i, pnl_r=-2.0, context={"regime": "volatile"}) for i in range(3)]
    with db.write() as conn:
        memory.remember(conn, [*winners, *losers])
        plain = memory.recall(conn, "ada", {"regime": "volatile"})
        floored = memory.recall(conn, "ada", {"regime": "volatile"}, loss_floor=True)
    assert not any(hit.lost for hit in plain)
    assert [hit.lost for hit in floored] == [False] * 8 + [True] * 2
    assert ids(floored)[:8] == ids(plain)[:8]


def test_equal_scores_are_ordered_by_newer_then_by_id(db: Store) -> None:
    fields = {"pnl_r": 1.0, "context": {"regime": "volatile"}}
    history = [
        raw_episode(name, day=0, **fields) for name in ("b", "a", "a-very-long-name-2", "a-very-long-name-10")
    ]
    history += [
        raw_episode("late", day=1, context={"regime": "other"}),
        raw_episode("early", day=-1, context={}),
    ]
    with db.write() as conn:
        for episode in history:  # one by one: ties have to be settled against what is cached
            memory.remember(conn, [episode])
            memory.recall(conn, "ada", QUERY)
        warm = ids(memory.recall(conn, "ada", {"regime": "volatile"}))
        memory.forget(conn)
        cold = ids(memory.recall(conn, "ada", {"regime": "volatile"}))
    assert warm == cold == ["a", "a-very-long-name-10", "a-very-long-name-2", "b", "late", "early"]


@given(histories(most=30))
@settings(deadline=None, max_examples=60)
def test_the_best_k_are_the_head_of_the_full_ranking(history: list[dict[str, Any]]) -> None:
    columns = of_episodes([episode_of(episode) for episode in history], DEFAULT)
    values = score(columns, QUERY, as_of=columns.latest or 0).score.round(1)  # rounding makes ties
    full = top(values, columns.at, len(values)).tolist()
    assert full == sorted(range(len(values)), key=lambda i: (-values[i], -int(columns.at[i]), i))
    for k in (1, 3, 10):
        assert top(values, columns.at, k).tolist() == full[:k]


def test_the_best_k_of_many_with_many_ties_are_the_head_of_the_full_ranking() -> None:
    rng = np.random.default_rng(3)
    at = np.sort(rng.integers(0, 500, 20_000))
    for levels in (1, 2, 30, 10**6):
        values = rng.integers(0, levels, 20_000) / levels
        full = np.lexsort((np.arange(20_000), -at, -values))
        for k in (1, 10, 700):
            assert top(values, at, k).tolist() == full[:k].tolist()


def test_the_scale_of_outcomes_is_of_the_last_100_as_of_then_before_any_filter() -> None:
    history = [raw_episode(f"e{i:03}", day=i, pnl_r=float(i % 7)) for i in range(250)]
    columns = of_episodes([episode_of(episode) for episode in history], DEFAULT)
    for n in (0, 1, 50, 100, 180, 250):
        expected = slow_sigma([episode["pnl_r"] for episode in history[:n]])
        assert scale_at(columns, n) == pytest.approx(expected, rel=1e-14)
    assert scale(np.array([])) == 1.5
    assert scale(np.zeros(100)) == 0.5  # sqrt(22.5 / 110) = .45, held up by the floor
    assert scale(np.full(100, 0.5)) == pytest.approx(math.sqrt((25 + 22.5) / 110))


def test_factors_worked_by_hand() -> None:
    assert quality(np.array([1.0, 0.0, math.nan, -1e9]), 1.0).tolist() == pytest.approx(
        [1 / (1 + math.exp(-2)), 0.5, 0.5, 0.0]
    )
    at = np.array([0, -30 * DAY, -90 * DAY, -DAY // 2])
    assert recency(at, 0).tolist() == pytest.approx([1, 2**-0.5, 0.5, (1 + 0.5 / 30) ** -0.5])
    assert recency(at, 0, 180.0, 0.3)[2] == pytest.approx(1.5**-0.3)
    r = np.array([-2.0, -1.5, 2.0, 2.5, 0.5, math.nan])
    assert affect(r, 0.6, 5).tolist() == pytest.approx([1.15, 1, 1, 1.09, 1, 1])
    assert affect(r, 0.5, 3).tolist() == pytest.approx([1, 1, 1.09, 1.09, 1.09, 1])
    assert affect(r, None, 2).tolist() == [1.0] * 6


def test_the_drawdown_raises_great_losses_only_when_capital_is_known(db: Store) -> None:
    history = [
        raw_episode(f"e{i}", day=i, pnl_r=-2.0, pnl=-6.0, context={"regime": "volatile"}) for i in range(2)
    ]
    with db.write() as conn:
        memory.remember(conn, history)
        with_capital = memory.recall(conn, "ada", QUERY, settings=Settings(capital=100.0))
        without_capital = memory.recall(conn, "ada", QUERY)
    assert [hit.components["Aff"] for hit in with_capital] == [1.15, 1.15]  # 12 % of a limit of 20 % is .6
    assert [hit.components["Aff"] for hit in without_capital] == [1.0, 1.0]


def test_the_sharpe_weight_is_off_unless_asked_for_and_looks_back_only(db: Store) -> None:
    history = [
        raw_episode(f"e{i:02}", day=i, pnl_r=[1.0, 0.5][i % 2], context={"regime": "volatile"})
        for i in range(12)
    ]
    columns = of_episodes([episode_of(episode) for episode in history], DEFAULT)
    weights = sharpe_weight(columns, 12)
    assert weights[:4].tolist() == [0.75] * 4  # fewer than five outcomes
    assert weights[4:].tolist() == [2.0] * 8  # a Sharpe above 3
    assert sharpe_weight(columns, 6).tolist() == weights[:6].tolist()
    with db.write() as conn:
        memory.remember(conn, history)
        plain = memory.recall(conn, "ada", QUERY)
        weighted = memory.recall(conn, "ada", QUERY, settings=Settings(sharpe_weight=True))
    assert "Sharpe" not in plain[0].components
    assert weighted[0].components["Sharpe"] == 2.0
    assert weighted[0].score == pytest.approx(2.0 * plain[0].score)


def test_a_field_the_owner_adds_later_counts_for_episodes_told_before(db: Store) -> None:
    with db.write() as conn:
        memory.remember(
            conn, [raw_episode(f"e{i}", day=i, pnl_r=1.0, context={"funding": i / 100}) for i in range(5)]
        )
        registry = DEFAULT.extended([memory.Field("funding", "absolute", 1.0, 0.001)])
        hits = memory.recall(conn, "ada", {"funding": 0.02}, settings=Settings(registry=registry))
    assert hits[0].id == "e2"
    assert hits[0].components["Sim"] == 1.0


def test_an_agent_without_memories_recalls_nothing(db: Store) -> None:
    with db.read() as conn:
        assert memory.recall(conn, "nobody", QUERY, types=("episode", "belief", "plan")) == []


@pytest.mark.parametrize(
    ("context", "options"),
    [({"atr_d1": math.nan}, {}), ({}, {"k": 0}), ({}, {"types": ("dream",)}), ({}, {"types": ()})],
)
def test_a_question_that_makes_no_sense_is_refused(
    db: Store, context: dict[str, Any], options: dict[str, Any]
) -> None:
    with db.read() as conn, pytest.raises(RefusedError):
        memory.recall(conn, "ada", context, **options)


def test_beliefs_and_plans_are_candidates_where_asked(db: Store) -> None:
    history = [
        raw_episode(f"e{i:02}", day=i, pnl_r=1.0 if i else -1.0, context={"regime": "volatile"})
        for i in range(12)
    ]
    # what it usually does: without them winning would be no pattern of volatile days
    history += [raw_episode(f"u{i:02}", day=(i - 10) / 100, pnl_r=-1.0) for i in range(10)]
    as_of = START + 11 * DAY
    with db.write() as conn:
        memory.remember(conn, history)
        memory.create_plan(
            conn,
            "ada",
            at=START,
            trigger={"all": [{"field": "regime", "op": "==", "value": "volatile"},
                             {"field": "atr_d1", "op": ">", "value": 90}]},
            action={"type": "resize", "factor": 0.5},
            reasoning="volatile days",
            priority=0.8,
            sources=["e01"],
        )  # fmt: skip
        hits = memory.recall(conn, "ada", QUERY, k=50, types=("episode", "belief", "plan"))
        kinds = {kind: [hit for hit in hits if hit.type == kind] for kind in ("episode", "belief", "plan")}
        assert len(kinds["episode"]) == 22
        (belief,) = kinds["belief"]
        assert belief.components == pytest.approx(
            {"Q": 12 / 14, "Sim": 1.0, "Rec": 1.0, "Conf": 1.0, "Aff": 1.0, "boost": 1.0}
        )
        (plan,) = kinds["plan"]
        won = 1 / (1 + math.exp(-2 / slow_sigma([1.0] * 22)))
        assert plan.components["Q"] == pytest.approx(0.8 * won)
        assert plan.components["Sim"] == 0.5
        assert plan.components["Rec"] == pytest.approx((1 + 11 / 30) ** -0.5)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        for regime, factor in (("ranging", 0.3), (None, 0.6)):
            context = {"atr_d1": 80} if regime is None else {"regime": regime}
            (belief_hit,) = memory.recall(conn, "ada", context, types=("belief",), as_of=as_of)
            assert belief_hit.components["Rec"] == pytest.approx(factor)
        other = memory.recall(conn, "ada", QUERY, types=("belief",), filters=Filters(strategy="carry"))
        assert other == []
        before = memory.recall(conn, "ada", QUERY, types=("belief",), as_of=START + 5 * DAY)
        assert before == []
