"""Habits: each figure worked by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memory
from memory import Settings
from memory.episodic.episode import episode_of
from memory.insight.practice import (
    disposition,
    entry_advantage,
    exit_advantage,
    full_kelly,
    recency_bias,
    stability,
    timing,
)
from memory.instants import DAY, instant
from retro.store.database import Store
from tests.worlds.memory_databases import START, db, raw_episode

__all__ = ["db"]


def test_a_window_of_trades_worked_by_hand(db: Store) -> None:
    rows = [  # R, money, hours held
        (2.0, 20.0, 1), (-1.0, -10.0, 4), (1.0, 10.0, 2), (-1.0, -20.0, 8), (0.0, 0.0, 5), (3.0, 30.0, 3),
    ]  # fmt: skip
    history = [
        raw_episode(f"e{i}", day=i, pnl_r=r, pnl=pnl, held_for_s=hours * 3600, size=1.0, entry_price=100.0)
        for i, (r, pnl, hours) in enumerate(rows)
    ]
    history.append(raw_episode("skipped", day=9, direction="skip"))
    with db.write() as conn:
        memory.remember(conn, history)
        (habit,) = memory.habits(conn, "ada", settings=Settings(capital=100.0))
    assert (habit.strategy, habit.symbol, habit.trades, habit.window) == ("breakout", "ETH/USDC", 6, 6)
    assert habit.win_rate == pytest.approx(3 / 5)  # a scratch is neither
    assert habit.mean_r == pytest.approx(4 / 6)
    assert (habit.median_hold_s_winners, habit.median_hold_s_losers) == (7200.0, 21600.0)
    assert habit.disposition == 3.0  # losers are held three times as long
    assert habit.disposition_interval is None
    assert habit.loss_aversion == pytest.approx(1.0 / 2.0)
    assert habit.kelly == pytest.approx(0.6 / 1.0 - 0.4 / 2.0)
    # 10 at risk each but 20 on the fourth, of an equity of 100, 120, 110, 120, -, 100
    shares = [10 / 100, 10 / 120, 10 / 110, 20 / 120, 10 / 100]
    assert habit.size_vs_kelly == pytest.approx(sum(shares) / 5 / 0.4)
    amounts = np.array([10, 10, 10, 20, 10])
    assert habit.size_variation == pytest.approx(amounts.std(ddof=1) / amounts.mean())
    for name in ("recency_bias", "stability", "entry_timing", "exit_timing", "disposition_interval"):
        assert getattr(habit, name) is None
        assert habit.reasons[name]


def test_without_capital_size_against_kelly_is_absent_and_says_so(db: Store) -> None:
    with db.write() as conn:
        memory.remember(
            conn, [raw_episode(f"e{i}", day=i, pnl_r=(-1.0, 1.5)[i % 2], pnl=1.0) for i in range(4)]
        )
        (habit,) = memory.habits(conn, "ada")
    assert habit.size_vs_kelly is None
    assert habit.reasons["size_vs_kelly"] == "no capital is known"


def test_habits_are_per_strategy_and_symbol_and_as_of(db: Store) -> None:
    history = [
        raw_episode(f"e{i}", day=i, pnl_r=1.0, strategy=["a", "b"][i % 2], symbol=["X", "Y"][i // 4])
        for i in range(8)
    ]
    with db.write() as conn:
        memory.remember(conn, history)
        names = [(habit.strategy, habit.symbol, habit.trades) for habit in memory.habits(conn, "ada")]
        early = memory.habits(conn, "ada", as_of=START + DAY)
        only = memory.habits(conn, "ada", strategy="b", symbol="Y")
        assert memory.habits(conn, "nobody") == ()
    assert names == [("a", "X", 2), ("a", "Y", 2), ("b", "X", 2), ("b", "Y", 2)]
    assert [(habit.strategy, habit.trades) for habit in early] == [("a", 1), ("b", 1)]
    assert [(habit.strategy, habit.symbol) for habit in only] == [("b", "Y")]


def test_the_window_follows_stability(db: Store) -> None:
    """Means of windows of 20 that never differ: stability 1, a window of 100; before it is known, 60."""
    history = [raw_episode(f"e{i:03}", day=i, pnl_r=(-1.0, 1.0)[i % 2]) for i in range(150)]
    with db.write() as conn:
        memory.remember(conn, history[:30])
        assert memory.habits(conn, "ada")[0].window == 30
        memory.remember(conn, history[30:])
        (habit,) = memory.habits(conn, "ada")
    assert (habit.stability, habit.window) == (1.0, 100)


def test_stability_worked_by_hand() -> None:
    calm = np.tile([-1.0, 1.0], 20)
    assert stability(calm) == 1.0
    moved = np.concatenate((np.tile([-1.0, 1.0], 10), np.tile([1.0, 3.0], 10)))
    assert stability(moved) == 0.0  # means 0 and 2, IQR 1; all: quartiles .5 and 1.5, IQR 1
    assert stability(calm[:39]) is None
    assert stability(np.ones(40)) == 1.0
    assert (
        stability(np.concatenate((np.full(20, -5.0), np.full(20, 5.0)))) == 0.5
    )  # IQR 5 of means, 10 of all


def test_disposition_has_an_interval_that_a_seed_repeats() -> None:
    winners, losers = np.arange(1.0, 21), np.arange(1.0, 21) * 3
    ratio, interval = disposition(winners, losers, seed=1)
    assert ratio == 3.0
    assert interval is not None
    assert interval[0] < 3.0 < interval[1]
    assert disposition(winners, losers, seed=1) == (ratio, interval)
    assert disposition(winners * 60, losers * 60, seed=1)[0] == ratio  # seconds or minutes: a ratio
    assert disposition(winners[:4], losers) == (np.median(losers) / 2.5, None)
    assert disposition(winners, losers[:0]) == (None, None)


@pytest.mark.parametrize(("follows", "bias"), [(True, 1.0), (False, -1.0)])
def test_sizes_that_follow_the_last_result_show_recency_bias(follows: bool, bias: float) -> None:
    results = [math.sin(i * 1.7) * 3 for i in range(15)]
    sizes = [1.0] + [10 + (r if follows else -r) for r in results[:-1]]
    episodes = [
        episode_of(raw_episode(f"e{i}", pnl_r=r, size=s))
        for i, (r, s) in enumerate(zip(results, sizes, strict=True))
    ]
    assert recency_bias(episodes) == pytest.approx(bias)
    assert recency_bias(episodes[:10]) is None
    assert (
        recency_bias([episode_of(raw_episode(f"e{i}", pnl_r=r, size=2)) for i, r in enumerate(results)])
        is None
    )


def test_timing_is_told_against_stated_targets() -> None:
    episodes = [
        episode_of(
            raw_episode("e1", entry_price=98.0, exit_price=109.0, entry_target=100.0, exit_target=110.0)
        ),
        episode_of(
            raw_episode("e2", direction="short", entry_price=98.0, exit_price=90.0, entry_target=100.0)
        ),
        episode_of(raw_episode("e3", entry_price=98.0)),
    ]
    assert timing(episodes, "entry_target", entry_advantage) == pytest.approx(np.median([0.02, -0.02]))
    assert timing(episodes, "exit_target", exit_advantage) == pytest.approx(-1 / 110)
    assert timing(episodes[2:], "exit_target", exit_advantage) is None


@given(st.lists(st.floats(-5, 5).map(lambda r: round(r, 2)), min_size=1, max_size=60))
@settings(deadline=None, max_examples=100)
def test_full_kelly_has_the_sign_of_the_mean_of_decided_outcomes(r: list[Any]) -> None:
    outcomes = np.array(r)
    fraction = full_kelly(outcomes)
    decided = outcomes[outcomes != 0]
    if not (decided > 0).any() or not (decided < 0).any():
        assert fraction is None
    else:
        assert fraction is not None
        assert abs(decided.mean()) < 1e-9 or (fraction > 0) == (decided.mean() > 0)


def test_drift_appears_in_habits_with_instants_and_words(db: Store) -> None:
    """13 weeks of rms 1, then 8 of 9 R lost. 2026 begins on a Thursday: the first week has one trade, on its Saturday."""
    sums = [*[1.0, -1.0] * 6, 1.0, *[-9.0] * 8]
    history = [raw_episode(f"e{i:03}", day=2 + 7 * i, pnl_r=x) for i, x in enumerate(sums)]
    with db.write() as conn:
        memory.remember(conn, history)
        (unfinished,) = memory.habits(conn, "ada")
        week_end = instant("2026-05-25T00:00:00Z")
        (early,) = memory.habits(conn, "ada", as_of=START + 40 * DAY)
        (habit,) = memory.habits(conn, "ada", as_of=week_end)
    # nothing later was told, so the week of the last trade may go on: only an instant says that it is over
    assert unfinished.drift["detected"] is False
    assert habit.drift["detected"] is True
    assert habit.drift["start_at"] == instant("2026-03-30T00:00:00Z")
    assert habit.drift["alarm_at"] == week_end
    assert memory.as_document(habit)["drift"]["alarm_at"] == "2026-05-25T00:00:00Z"
    assert habit.drift["words"].startswith("it has been losing since the week of 2026-03-30")
    assert early.drift["detected"] is None
    assert early.reasons["drift"] == "its scale is not known yet: 6 of 13 weeks, 7 missing"
