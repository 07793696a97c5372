"""What a search over many rules proves: p of each, p of the best, intervals of sums over days."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels.evaluators.luck_of_search import search_p, sum_intervals


def test_the_best_of_many_rules_on_chance_is_rarely_called_better() -> None:
    rng = np.random.default_rng(11)
    low, low_alone = 0, 0
    for world in range(200):
        noise = rng.standard_t(3, (24, 40)) + rng.standard_t(3, 40)  # rules that share most of their days
        p, most = search_p(noise, np.random.default_rng(world), draws=499)
        low += most <= 0.05
        low_alone += p.min() <= 0.05
    assert low <= 19  # 10 expected of 200; 19 is three deviations off
    assert low_alone > 60  # what the best looks like when the search is not counted


def test_a_real_improvement_is_seen_through_the_search() -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(24, 60))
    noise[7] += 1
    p, most = search_p(noise, np.random.default_rng(0))
    assert p.argmin() == 7
    assert p[7] <= most <= 0.01


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=6))
@settings(max_examples=30)
def test_p_of_a_few_days_is_the_share_of_all_their_signs(days: list[int]) -> None:
    row = np.array([days], dtype=float)
    p, most = search_p(row, np.random.default_rng(0), draws=4_000)
    signs = np.array(np.meshgrid(*[[1, -1]] * len(days))).reshape(len(days), -1)
    exact = ((signs * row.T).sum(axis=0) >= row.sum()).mean()
    assert p[0] == pytest.approx(exact, abs=0.04)
    assert most == p[0]


def test_draws_are_common_so_that_the_same_rule_twice_is_one_search() -> None:
    row = np.random.default_rng(1).normal(0.2, 1, (1, 30))
    p, most = search_p(np.repeat(row, 5, axis=0), np.random.default_rng(0))
    assert p.tolist() == [p[0]] * 5
    assert most == p[0]


def test_an_interval_of_sums_is_that_of_scipys_bootstrap_to_monte_carlo_error() -> None:
    from scipy.stats import bootstrap

    days = np.random.default_rng(4).normal(1, 3, (2, 40))
    got = sum_intervals(days, np.random.default_rng(0))
    for row, (low, high) in zip(days, got, strict=True):
        ends = bootstrap((row,), np.sum, method="percentile", n_resamples=50_000, rng=1).confidence_interval
        spread = row.std() * len(row) ** 0.5
        assert low == pytest.approx(ends.low, abs=0.15 * spread)
        assert high == pytest.approx(ends.high, abs=0.15 * spread)


def test_the_p_of_a_search_is_that_of_a_reality_check_to_its_own_error() -> None:
    """Against SPA of `arch` (Hansen): same days, its bootstrap in place of our signs."""
    from arch.bootstrap import SPA

    rng = np.random.default_rng(12)
    for shift in (0.0, 0.35):
        moved = rng.normal(size=(12, 120))
        moved[3] += shift
        _, most = search_p(moved, np.random.default_rng(0))
        check = SPA(np.zeros(120), -moved.T, reps=4_000, block_size=1, seed=5)
        check.compute()
        assert most == pytest.approx(check.pvalues["upper"], abs=0.08)
