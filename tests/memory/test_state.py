"""The state follows from the ledger: worked by hand, against a slow replay, and as of any instant."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memory
from memory import DEFAULT, RefusedError, Settings
from memory.episodic.columns import of_episodes
from memory.episodic.episode import episode_of
from memory.episodic.results import appetite, streaks
from memory.insight.state import state_of
from memory.instants import DAY
from retro.store.database import Store
from tests.worlds.memory_databases import START, db, histories, raw_episode, slow_sigma

__all__ = ["db"]


CAPITAL = Settings(capital=100.0)


def test_the_drawdown_is_of_the_peak_and_appetite_falls_with_its_square(db: Store) -> None:
    history = [
        raw_episode(f"e{i}", day=i, pnl=pnl, pnl_r=pnl / 10) for i, pnl in enumerate([20.0, -6.0, -6.0, 3.0])
    ]
    with db.write() as conn:
        memory.remember(conn, history)
        states = [memory.state(conn, "ada", as_of=START + i * DAY, settings=CAPITAL) for i in range(4)]
    assert [state.equity for state in states] == [120.0, 114.0, 108.0, 111.0]
    assert [state.peak_equity for state in states] == [120.0] * 4
    assert [state.drawdown for state in states] == pytest.approx([0, 0.05, 0.10, 0.075])
    assert [state.drawdown_state for state in states] == pytest.approx([0, 0.25, 0.5, 0.375])
    assert [state.risk_appetite for state in states] == pytest.approx([1, 0.9375, 0.75, 1 - 0.375**2])
    assert [(state.consecutive_wins, state.consecutive_losses) for state in states] == [
        (1, 0),
        (0, 1),
        (0, 2),
        (1, 0),
    ]


def test_appetite_at_the_seeds_points_and_never_below_a_tenth() -> None:
    assert [appetite(d, 0.2) for d in (0.0, 0.1, 0.15, 0.2, 0.5)] == pytest.approx(
        [1, 0.75, 0.4375, 0.1, 0.1]
    )


def test_without_capital_the_drawdown_is_absent_with_the_reason(db: Store) -> None:
    with db.write() as conn:
        memory.remember(conn, [raw_episode("e1", pnl=-5.0)])
        state = memory.state(conn, "ada")
    for name in ("drawdown", "drawdown_state", "risk_appetite", "equity", "peak_equity"):
        assert getattr(state, name) is None
        assert state.reasons[name] == "no capital is known"


def test_an_agent_nobody_told_of_is_neutral(db: Store) -> None:
    with db.read() as conn:
        state = memory.state(conn, "nobody", settings=CAPITAL)
    assert (state.confidence, state.trades, state.risk_appetite, state.as_of) == (0.5, 0, 1.0, None)
    assert not state.halted


def slow_confidence(outcomes: list[float]) -> float:
    confidence = 0.5
    for i, r in enumerate(outcomes):
        confidence = 0.9 * confidence + 0.1 / (1 + math.exp(-r / slow_sigma(outcomes[: i + 1])))
    return confidence


@pytest.mark.parametrize("size", [0, 1, 5, 99, 100, 101, 499, 600, 1300])
def test_confidence_is_the_moving_average_of_every_outcome(size: int) -> None:
    """Old trades weigh less than a float can hold, so leaving them out changes nothing."""
    rng = np.random.default_rng(size)
    r = [round(float(value), 3) for value in rng.normal(0.2, 1.5, size)]
    columns = of_episodes(
        [episode_of(raw_episode(f"e{i:04}", day=i, pnl_r=outcome)) for i, outcome in enumerate(r)], DEFAULT
    )
    state = state_of(columns, size, agent="ada", as_of=None)
    assert state.confidence == pytest.approx(slow_confidence(r), abs=1e-14)


@given(histories())
@settings(deadline=None, max_examples=80)
def test_the_state_equals_a_slow_replay_of_the_ledger(history: list[dict[str, Any]]) -> None:
    columns = of_episodes([episode_of(episode) for episode in history], DEFAULT)
    for day in (5, 12, 20):
        as_of = START + day * DAY
        past = sorted(
            (episode for episode in history if episode["at"] * 1000 <= as_of),
            key=lambda episode: (episode["at"], episode["id"]),
        )
        state = state_of(columns, columns.until(as_of), agent="ada", as_of=as_of, settings=CAPITAL)
        equity = peak = 100.0
        wins = losses = 0
        for episode in past:
            equity += episode["pnl"] or 0.0
            peak = max(peak, equity)
            result = episode["pnl_r"] if episode["pnl_r"] is not None else episode["pnl"]
            if result is not None:
                wins, losses = (wins + 1 if result > 0 else 0), (losses + 1 if result < 0 else 0)
        assert (state.equity, state.peak_equity) == pytest.approx((equity, peak))
        assert (state.consecutive_wins, state.consecutive_losses) == (wins, losses)
        assert state.confidence == pytest.approx(
            slow_confidence([episode["pnl_r"] for episode in past if episode["pnl_r"] is not None]), abs=1e-14
        )


@given(st.lists(st.sampled_from([1.0, -1.0, 0.0, math.nan]), max_size=200))
@settings(deadline=None, max_examples=100)
def test_streaks_count_back_to_the_last_other_result(results: list[Any]) -> None:
    outcomes = [outcome for outcome in results if not math.isnan(outcome)]
    expected = [0, 0]
    for place, sign in ((0, 1.0), (1, -1.0)):
        for outcome in reversed(outcomes):
            if outcome != sign:
                break
            expected[place] += 1
    assert streaks(np.array(results, dtype=float)) == tuple(expected)


def test_a_streak_longer_than_one_look_back_is_counted_whole() -> None:
    assert streaks(np.concatenate(([1.0], -np.ones(3000)))) == (0, 3000)
    assert streaks(np.full(3000, math.nan)) == (0, 0)


@pytest.mark.parametrize(
    ("trades", "bias"),
    [
        # after a long won (up was right) a long follows; after a long lost (down was right) a short follows
        ([("long", 1), ("long", -1), ("short", 1), ("short", 1)], 1.0),
        ([("long", 1), ("short", 1), ("long", 1)], -1.0),
        ([("long", 1), ("long", 1), ("short", 1)], 0.0),
        ([("long", 1)], None),
        ([("skip", None), ("hold", None), ("skip", None)], None),
    ],
)
def test_momentum_bias_worked_by_hand(trades: Any, bias: float | None) -> None:
    history = [raw_episode(f"e{i}", day=i, direction=side, pnl_r=r) for i, (side, r) in enumerate(trades)]
    columns = of_episodes([episode_of(episode) for episode in history], DEFAULT)
    assert state_of(columns, len(columns), agent="ada", as_of=None).momentum_bias == bias


def test_history_shows_confidence_and_equity_after_each_trade(db: Store) -> None:
    with db.write() as conn:
        memory.remember(conn, [raw_episode(f"e{i}", day=i, pnl=1.0, pnl_r=0.5) for i in range(3)])
        points = memory.state(conn, "ada", settings=CAPITAL).history
    assert [point.equity for point in points] == [101.0, 102.0, 103.0]
    assert [point.at for point in points] == [START, START + DAY, START + 2 * DAY]
    assert points[-1].confidence == pytest.approx(slow_confidence([0.5] * 3))


def test_the_halt_flag_is_set_and_lifted_and_known_as_of_any_instant(db: Store) -> None:
    with db.write() as conn:
        memory.remember(conn, [raw_episode("e1", pnl=1.0)])
        memory.halt(conn, "ada", at=START + DAY, reason="the exchange is down")
        memory.resume(conn, "ada", at=START + 3 * DAY, reason="it is back")
        flags = [memory.state(conn, "ada", as_of=START + day * DAY) for day in range(5)]
        with pytest.raises(RefusedError):
            memory.halt(conn, "ada", at=START, reason=" ")
    assert [state.halted for state in flags] == [False, True, True, False, False]
    assert flags[1].halt_reason == "the exchange is down"
    assert flags[3].halt_reason is None


def test_a_setting_that_makes_no_sense_is_refused() -> None:
    refused: list[dict[str, Any]] = [
        {"capital": 0.0},
        {"capital": math.nan},
        {"drawdown_limit": 0.0},
        {"drawdown_limit": 1.5},
    ]
    for bad in refused:
        with pytest.raises(RefusedError):
            Settings(**bad)
