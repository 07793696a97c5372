"""The replay that says whether memory helps: no look-ahead, honest where it does not, repeatable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memory import RefusedError
from memory.advice.backtest import STAKE, metrics, validate
from memory.episodic.episode import Episode, episode_of
from memory.instants import DAY
from tests.worlds.memory_databases import START, raw_episode


def history(edge: float, size: int = 160, seed: int = 1) -> list[Episode]:
    """Two regimes; in one of them trades win with probability .5 + edge, in the other .5 - edge."""
    rng = np.random.default_rng(seed)
    episodes = []
    for i in range(size):
        kind = int(rng.integers(2))
        won = rng.random() < 0.5 + (edge if kind else -edge)
        episodes.append(
            episode_of(
                raw_episode(
                    f"e{i:04}",
                    day=i,
                    pnl_r=1.0 if won else -1.0,
                    held_for_s=36_000,
                    context={"regime": ("a", "b")[kind]},
                )
            )
        )
    return episodes


def figures(report: Any) -> dict[str, Any]:
    return {approach.name: approach for approach in report.approaches}


def test_where_situations_matter_memory_beats_what_does_not_know_them() -> None:
    report = validate(history(0.35, size=400), START + 200 * DAY, resamples=200)
    by = figures(report)
    assert by["memory_kelly"].net_pnl > by["simple_kelly"].net_pnl
    against = {(difference.metric, difference.against): difference for difference in report.differences}
    difference = against["net_pnl", "simple_kelly"]
    assert 0 < difference.interval[0] <= difference.value <= difference.interval[1]
    assert "better in net_pnl" in report.verdict
    assert report.precision_alike > report.precision_recent + 0.05
    (alike,) = [difference for difference in report.differences if difference.metric == "alike_precision"]
    assert alike.interval[0] > 0


def test_where_nothing_can_be_learned_it_says_so() -> None:
    report = validate(history(0.0, size=240), START + 120 * DAY, resamples=200)
    for difference in report.differences:
        if difference.metric in (
            "net_pnl",
            "sharpe",
            "profit_factor",
            "calmar",
            "recall_precision",
            "alike_precision",
        ):
            assert difference.interval[0] <= 0 <= difference.interval[1]
    assert "against fixed: no difference is shown" in report.verdict


def test_no_trade_is_sized_by_what_was_not_known_before_its_entry() -> None:
    """Changing the outcomes from some trade on changes no stake before it; nor does its own outcome its stake."""
    straight = history(0.3)
    for cut in (100, 130):
        turned = [
            episode
            if i < cut
            else episode_of(
                raw_episode(
                    episode.id, day=i, pnl_r=-episode.pnl_r, held_for_s=36_000, context=episode.context
                )
            )
            for i, episode in enumerate(straight)
        ]
        split = START + 80 * DAY
        until = [episode for episode in straight if episode.entry_at <= straight[cut].entry_at]
        before = validate(until, split, resamples=5)
        after = validate(
            [episode for episode in turned if episode.entry_at <= straight[cut].entry_at], split, resamples=5
        )
        assert [approach.mean_stake for approach in before.approaches] == [
            approach.mean_stake for approach in after.approaches
        ]


def test_overlapping_trades_are_unknown_to_each_other() -> None:
    """Trades entered together and held for a year: nothing is known at any entry, so every stake is the fixed one."""
    episodes = [
        episode_of(
            raw_episode(
                f"e{i:02}", day=400 + i, pnl_r=1.0 if i % 3 else -1.0, held_for_s=400 * 86_400, context={}
            )
        )
        for i in range(30)
    ]
    report = validate(episodes, START - DAY, resamples=5)
    assert [approach.mean_stake for approach in report.approaches] == pytest.approx([STAKE] * 4)
    assert [approach.unknown for approach in report.approaches] == [0, 30, 30, 30]
    assert report.precision is None
    assert report.reasons["precision"]


def test_the_same_history_and_seed_say_the_same_in_any_order() -> None:
    episodes = history(0.2)
    first = validate(episodes, START + 80 * DAY, resamples=50, seed=3)
    assert validate(episodes[::-1], START + 80 * DAY, resamples=50, seed=3) == first
    assert first.known_before == 80
    assert first.trades == 79  # the trade of day 80 was entered ten hours before the split


def test_figures_worked_by_hand() -> None:
    computed = metrics(np.array([[0.02, -0.01, -0.01, 0.03]]), years=0.5)
    assert computed["net_pnl"][0] == pytest.approx(0.03)
    assert computed["profit_factor"][0] == pytest.approx(2.5)
    assert computed["max_drawdown"][0] == pytest.approx(0.02 / 1.02)
    assert computed["calmar"][0] == pytest.approx(0.06 / (0.02 / 1.02))
    r = np.array([0.02, -0.01, -0.01, 0.03])
    assert computed["sharpe"][0] == pytest.approx(r.mean() / r.std(ddof=1) * np.sqrt(8))


def test_figures_that_are_not_defined_are_none_and_not_zero() -> None:
    winners = [
        episode_of(raw_episode(f"e{i:02}", day=i, pnl_r=1.0, context={"regime": "a"})) for i in range(40)
    ]
    approaches = figures(validate(winners, START + 10 * DAY, resamples=5))
    assert approaches["fixed"].profit_factor is None
    assert approaches["fixed"].sharpe is None
    assert approaches["fixed"].calmar is None
    assert approaches["fixed"].net_pnl == pytest.approx(0.30)


def test_too_few_trades_are_refused() -> None:
    with pytest.raises(RefusedError, match="19 trades"):
        validate(history(0.1, size=30), START + 10 * DAY)
