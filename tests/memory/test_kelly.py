"""Kelly from memory: worked by hand, blind to the outcome when it weighs, and silent where nothing is known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memory
from memory import DEFAULT, Filters, Settings
from memory.advice.kelly import CAP, kelly_of, weighed
from memory.episodic.columns import of_episodes
from memory.episodic.episode import episode_of
from memory.instants import DAY
from retro.store.database import Store
from tests.worlds.memory_databases import START, db, raw_episode

__all__ = ["db"]


def test_worked_by_hand_with_equal_weights() -> None:
    """p = .6, wins of 1.5 R, losses of .8 R: .6/.8 - .4/1.5 = .48333; a quarter of it .120833."""
    r = np.array([1.5] * 12 + [-0.8] * 8)
    advice = weighed(r, np.ones(20))
    assert (advice.p, advice.win_r, advice.loss_r) == pytest.approx((0.6, 1.5, 0.8))
    assert advice.effective_n == pytest.approx(20.0)
    assert advice.fraction == pytest.approx(0.25 * (0.75 - 0.4 / 1.5))
    assert weighed(r, np.ones(20), risk_appetite=0.5).fraction == pytest.approx(advice.fraction / 2)
    # the scale of weights is nothing
    assert weighed(r, np.full(20, 1e-200)).fraction == pytest.approx(advice.fraction)


def test_scratches_say_nothing_of_the_edge() -> None:
    r = np.array([1.5] * 12 + [-0.8] * 8)
    with_scratches = np.concatenate((r, np.zeros(50), [math.nan]))
    assert weighed(with_scratches, np.ones(71)) == weighed(r, np.ones(20))


def test_a_losing_edge_is_zero_and_an_unknown_one_is_none() -> None:
    losing = weighed(np.array([1.0] * 8 + [-1.0] * 12), np.ones(20))
    assert losing.fraction == 0.0
    assert "lost" in losing.why
    for r, why in [
        (np.array([]), "no outcome"),
        (np.array([1.0, -1.0] * 4), "8.0 effective outcomes, fewer than 10"),
        (np.ones(30), "every outcome like this one won"),
        (-np.ones(30), "every outcome like this one lost"),
    ]:
        unknown = weighed(r, np.ones(len(r)))
        assert unknown.fraction is None
        assert why in unknown.why


def test_many_rows_are_few_when_one_weighs_almost_everything() -> None:
    weights = np.concatenate(([1.0], np.full(99, 1e-4)))
    advice = weighed(np.array([1.0, -1.0] * 50), weights)
    assert advice.fraction is None
    assert advice.effective_n == pytest.approx((1 + 99e-4) ** 2 / (1 + 99e-8))


@given(
    st.lists(st.floats(-4, 4).map(lambda r: round(r, 2)), min_size=10, max_size=60),
    st.lists(st.floats(0.01, 1), min_size=60, max_size=60),
    st.one_of(st.none(), st.floats(0.1, 1)),
)
@settings(deadline=None, max_examples=100)
def test_advice_stays_within_its_bounds(r: list[Any], weights: list[float], appetite: float | None) -> None:
    advice = weighed(np.array(r), np.array(weights[: len(r)]), appetite)
    assert advice.fraction is None or 0.0 <= advice.fraction <= CAP
    assert 0.0 <= advice.effective_n <= len(r) + 1e-9
    assert advice.why


def test_a_fair_coin_has_no_edge_because_the_weights_do_not_see_the_outcome() -> None:
    """Weighing by Q would make p about .88 of this coin and advise a fortune."""
    rng = np.random.default_rng(11)
    history = [
        raw_episode(
            f"e{i:04}",
            day=i / 20,
            pnl_r=float(rng.choice([-1.0, 1.0])),
            confidence=0.5,
            context={"regime": "x"},
        )
        for i in range(4000)
    ]
    columns = of_episodes([episode_of(episode) for episode in history], DEFAULT)
    advice = kelly_of(columns, {"regime": "x"}, as_of=columns.latest or 0)
    assert advice.p == pytest.approx(0.5, abs=0.06)


def test_the_weights_are_similarity_recency_and_confidence(db: Store) -> None:
    rows = [
        (1.0, 1.0, "volatile", 0),
        (-1.0, 0.0, "volatile", 0),
        (5.0, 1.0, "ranging", 0),
        (2.0, None, "volatile", 30),
    ]
    history = [
        raw_episode(f"e{i}", day=60 - age, pnl_r=r, confidence=conf, context={"regime": regime})
        for i, (r, conf, regime, age) in enumerate(rows * 8)
    ]
    for i, episode in enumerate(history):
        episode["id"] = f"e{i}"
    with db.write() as conn:
        memory.remember(conn, history)
        advice = memory.kelly(conn, "ada", {"regime": "volatile"}, as_of=START + 60 * DAY)
        none = memory.kelly(conn, "ada", {"regime": "trending"}, as_of=START + 60 * DAY)
        early = memory.kelly(conn, "ada", {"regime": "volatile"}, as_of=START)
        other = memory.kelly(conn, "ada", {"regime": "volatile"}, filters=Filters(symbol="BTC/USDC"))
    old = 0.75 * 2**-0.5
    assert advice.p == pytest.approx((1 + old) / (1 + old + 0.5))
    assert advice.win_r == pytest.approx((1 + 2 * old) / (1 + old))
    assert advice.loss_r == pytest.approx(1.0)
    for unknown in (none, early, other):
        assert unknown.fraction is None
        assert unknown.why == "no outcome in R from a situation like this one"
    assert set(advice.document()) == {"fraction", "effective_n", "p", "win_r", "loss_r", "why"}


def test_a_drawdown_shrinks_the_advice_when_capital_is_known(db: Store) -> None:
    history = [
        raw_episode(
            f"e{i:02}",
            day=i,
            pnl_r=(1.5, 1.5, -0.8)[i % 3],
            pnl=(1.5, 1.5, -0.8)[i % 3],
            context={"regime": "x"},
        )
        for i in range(60)
    ]
    history.append(raw_episode("crash", day=61, pnl=-30.0, context={"regime": "y"}))
    with db.write() as conn:
        memory.remember(conn, history)
        calm = memory.kelly(conn, "ada", {"regime": "x"})
        scared = memory.kelly(conn, "ada", {"regime": "x"}, settings=Settings(capital=100.0))
        state = memory.state(conn, "ada", settings=Settings(capital=100.0))
    assert scared.fraction == pytest.approx(calm.fraction * state.risk_appetite)
    assert "no capital" in calm.why
