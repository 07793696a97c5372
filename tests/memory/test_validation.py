"""The replay that says whether memory helps: no look-ahead, honest where it does not, repeatable."""

from __future__ import annotations

import numpy as np
import pytest

from memory import RefusedError
from memory.advice.backtest import STAKE, metrics, validate
from memory.episodic.episode import episode_of
from memory.instants import DAY
from tests.worlds.memory_databases import START, told


def history(edge, size=160, seed=1):
    """Two regimes; in one of them trades win with probability .5 + edge, in the other .5 - edge."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(size):
        kind = int(rng.integers(2))
        won = rng.random() < 0.5 + (edge if kind else -edge)
        made.append(
            episode_of(
                told(
                    f"e{i:04}",
                    day=i,
                    pnl_r=1.0 if won else -1.0,
                    held_for_s=36_000,
                    context={"regime": ("a", "b")[kind]},
                )
            )
        )
    return made


def figures(found):
    return {one.name: one for one in found.approaches}


def test_where_situations_matter_memory_beats_what_does_not_know_them():
    found = validate(history(0.35, size=400), START + 200 * DAY, resamples=200)
    by = figures(found)
    assert by["memory_kelly"].net_pnl > by["simple_kelly"].net_pnl
    against = {(one.metric, one.against): one for one in found.differences}
    low, high = against["net_pnl", "simple_kelly"].interval
    assert low > 0
    assert low <= against["net_pnl", "simple_kelly"].value <= high
    assert "better in net_pnl" in found.verdict
    assert found.precision_alike > found.precision_recent + 0.05
    (alike,) = [one for one in found.differences if one.metric == "alike_precision"]
    assert alike.interval[0] > 0


def test_where_nothing_can_be_learned_it_says_so():
    found = validate(history(0.0, size=240), START + 120 * DAY, resamples=200)
    for one in found.differences:
        if one.metric in (
            "net_pnl",
            "sharpe",
            "profit_factor",
            "calmar",
            "recall_precision",
            "alike_precision",
        ):
            low, high = one.interval
            assert low <= 0 <= high
    assert "against fixed: no difference is shown" in found.verdict


def test_no_trade_is_sized_by_what_was_not_known_before_its_entry():
    """Changing the outcomes from some trade on changes no stake before it; nor does its own outcome its stake."""
    straight = history(0.3)
    for cut in (100, 130):
        turned = [
            one
            if i < cut
            else episode_of(told(one.id, day=i, pnl_r=-one.pnl_r, held_for_s=36_000, context=one.context))
            for i, one in enumerate(straight)
        ]
        split = START + 80 * DAY
        until = [one for one in straight if one.entry_at <= straight[cut].entry_at]
        before = validate(until, split, resamples=5)
        after = validate(
            [one for one in turned if one.entry_at <= straight[cut].entry_at], split, resamples=5
        )
        assert [one.mean_stake for one in before.approaches] == [one.mean_stake for one in after.approaches]


def test_overlapping_trades_are_unknown_to_each_other():
    """Trades entered together and held for a year: nothing is known at any entry, so every stake is the fixed one."""
    held = [
        episode_of(
            told(f"e{i:02}", day=400 + i, pnl_r=1.0 if i % 3 else -1.0, held_for_s=400 * 86_400, context={})
        )
        for i in range(30)
    ]
    found = validate(held, START - DAY, resamples=5)
    assert [one.mean_stake for one in found.approaches] == pytest.approx([STAKE] * 4)
    assert [one.unknown for one in found.approaches] == [0, 30, 30, 30]
    assert found.precision is None
    assert found.reasons["precision"]


def test_the_same_history_and_seed_say_the_same_in_any_order():
    made = history(0.2)
    first = validate(made, START + 80 * DAY, resamples=50, seed=3)
    assert validate(made[::-1], START + 80 * DAY, resamples=50, seed=3) == first
    assert first.known_before == 80
    assert first.trades == 79  # the trade of day 80 was entered ten hours before the split


def test_figures_worked_by_hand():
    found = metrics(np.array([[0.02, -0.01, -0.01, 0.03]]), years=0.5)
    assert found["net_pnl"][0] == pytest.approx(0.03)
    assert found["profit_factor"][0] == pytest.approx(2.5)
    assert found["max_drawdown"][0] == pytest.approx(0.02 / 1.02)
    assert found["calmar"][0] == pytest.approx(0.06 / (0.02 / 1.02))
    r = np.array([0.02, -0.01, -0.01, 0.03])
    assert found["sharpe"][0] == pytest.approx(r.mean() / r.std(ddof=1) * np.sqrt(8))


def test_figures_that_are_not_defined_are_none_and_not_zero():
    winners = [episode_of(told(f"e{i:02}", day=i, pnl_r=1.0, context={"regime": "a"})) for i in range(40)]
    found = figures(validate(winners, START + 10 * DAY, resamples=5))
    assert found["fixed"].profit_factor is None
    assert found["fixed"].sharpe is None
    assert found["fixed"].calmar is None
    assert found["fixed"].net_pnl == pytest.approx(0.30)


def test_too_few_trades_are_refused():
    with pytest.raises(RefusedError, match="19 trades"):
        validate(history(0.1, size=30), START + 10 * DAY)
