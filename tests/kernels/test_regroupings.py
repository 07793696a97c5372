"""Rates, signs, regroupings, and families of p-values."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels import special, uncertainty
from retro.kernels.uncertainty import DaySums, by_day
from tests.kernels.test_uncertainty import SAMPLES, one_a_day, rng
from tests.worlds.places import GOLDEN

FAMILIES = json.loads((GOLDEN / "multiplicity.json").read_text())["families"]


def test_a_rate_of_one_case_a_day_has_the_ordinary_jeffreys_interval() -> None:
    for wins, n in ((1, 3), (4, 9), (0, 5), (7, 7)):
        got = uncertainty.rate_interval(one_a_day([1.0] * wins + [0.0] * (n - wins)))
        assert got == pytest.approx(uncertainty.jeffreys_interval(wins, n), rel=1e-12)


def test_a_rate_counts_days_where_cases_of_a_day_go_the_same_way() -> None:
    """Three days of ten, wholly alike: as if there were little more than two cases; of one day or one sign, one a day."""
    alike = by_day(np.repeat([1.0, 0.0, 1.0], 10), np.repeat([1, 2, 3], 10))
    effect = (3 / 2 * (2 * (10 / 3) ** 2 + (20 / 3) ** 2) / 900) * 29 / (2 / 9)
    assert uncertainty.rate_interval(alike) == pytest.approx(
        uncertainty.jeffreys_interval(20 / effect, 30 / effect), rel=1e-12
    )
    won = by_day([1.0] * 30, np.repeat([1, 2, 3], 10))
    assert uncertainty.rate_interval(won) == pytest.approx(uncertainty.jeffreys_interval(3, 3), rel=1e-12)
    assert uncertainty.rate_interval(by_day([], [])) is None


def test_regrouping_moves_whole_days() -> None:
    """Two days of five and two of one, each day of one colour: of six ways to choose two days two are as extreme."""
    first = by_day([1.0] * 5 + [3.0] * 5, [1] * 5 + [2] * 5)
    second = by_day([-4.0, -2.0], [3, 4])
    assert uncertainty.permutation_of_days(first, second, rng()) == pytest.approx(2 / 6)
    assert uncertainty.permutation_of_days(by_day([], []), second, rng()) is None


@given(st.lists(st.floats(-9, 9), min_size=2, max_size=6), st.lists(st.floats(-9, 9), min_size=2, max_size=6))
@settings(max_examples=30, deadline=None)
def test_with_one_outcome_a_day_regrouping_is_the_ordinary_test(a: list[float], b: list[float]) -> None:
    got = uncertainty.permutation_of_days(one_a_day(a), one_a_day(b), rng())
    assert got == pytest.approx(uncertainty.permutation_p(a, b, rng()), abs=1e-9)


def test_days_that_move_together_are_no_longer_found_different_by_luck() -> None:
    """Days of three outcomes that share their day's luck, no difference: of 300 lives one in twenty has p <= 0.05."""
    source, rejected = rng(5), 0
    for _ in range(300):
        values = np.repeat(source.normal(size=12), 3) + 0.3 * source.normal(size=36)
        days = np.repeat(np.arange(12), 3)
        first, second = (by_day(values[part], days[part]) for part in (slice(0, 15), slice(15, None)))
        p = uncertainty.permutation_of_days(first, second, source)
        rejected += p is not None and p <= 0.05
    assert rejected / 300 <= 0.09


@pytest.mark.parametrize("name", SAMPLES)
def test_rate_intervals_and_sign_flips_agree_with_the_published_ones(name: Any) -> None:
    row = SAMPLES[name]
    assert uncertainty.jeffreys_interval(row["wins"], row["n"]) == pytest.approx(
        row["beta_jeffreys_ci95"], rel=1e-12
    )
    assert uncertainty.wilson_interval(row["wins"], row["n"]) == pytest.approx(row["wilson_ci95"], rel=1e-12)
    assert uncertainty.sign_flip_p(row["pnl"]) == row["signflip_exact_p_two_sided"]
    assert uncertainty.sign_flip_p(row["pnl"], "greater") == row["signflip_exact_p_one_sided_greater"]


def test_without_outcomes_there_is_no_rate_and_no_sign_test() -> None:
    assert uncertainty.jeffreys_interval(0, 0) is None
    assert uncertainty.wilson_interval(0, 0) is None
    assert uncertainty.sign_flip_p([]) is None
    assert uncertainty.sign_flip_p(np.ones(21)) is None
    assert uncertainty.permutation_p([], [1.0], rng()) is None


@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=4),
    st.lists(st.integers(-20, 20), min_size=1, max_size=6),
)
@settings(max_examples=60, deadline=None)
def test_small_samples_are_regrouped_in_every_way(first: list[int], second: list[int]) -> None:
    pool, k = first + second, len(first)
    gap = abs(Fraction(sum(first), k) - Fraction(sum(second), len(second)))
    extreme = [
        abs(Fraction(sum(group), k) - Fraction(sum(pool) - sum(group), len(second))) >= gap
        for group in combinations(pool, k)
    ]
    expected = sum(extreme) / len(extreme)
    assert uncertainty.permutation_p(first, second, rng()) == pytest.approx(expected, rel=1e-12)
    assert uncertainty.permutation_p(second, first, rng()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("cited", "uncited"), [(12, 60), (40, 900), (15, 5000), (400, 4000)])
def test_every_way_of_regrouping_agrees_with_the_normal_limit(cited: int, uncited: int) -> None:
    source = rng(cited)
    first, second = source.normal(0.45, 1, size=cited), source.normal(0, 1, size=uncited)
    pool = np.concatenate((first, second))
    spread = pool.std(ddof=1) * math.sqrt(1 / cited + 1 / uncited)
    expected = 2 * special.normal_cdf(-abs(first.mean() - second.mean()) / spread)
    got = uncertainty.permutation_p(first, second, rng())
    assert got == pytest.approx(expected, abs=0.03)
    assert got == uncertainty.permutation_p(first[::-1], second[::-1], rng())


@given(st.integers(0, 50), st.floats(-5, 5), st.floats(-5, 5))
@settings(max_examples=60, deadline=None)
def test_shrunk_mean_lies_between_average_and_prior(n: int, average: float, prior: float) -> None:
    got = uncertainty.shrunk_mean(n * average, n, prior)
    assert min(average, prior) - 1e-9 <= got <= max(average, prior) + 1e-9 or n == 0
    assert got == pytest.approx((n * average + 5 * prior) / (n + 5))


# families of tests


@pytest.mark.parametrize("family", FAMILIES)
def test_adjusted_p_agree_with_statsmodels(family: Any) -> None:
    row = FAMILIES[family]
    for key, adjust in {
        "fdr_bh": uncertainty.benjamini_hochberg,
        "fdr_by": uncertainty.benjamini_yekutieli,
        "holm": uncertainty.holm,
        "bonferroni": uncertainty.bonferroni,
    }.items():
        got = adjust(row["p"])
        for level in (0.05, 0.1):
            golden = row[f"{key}_{level}"]
            assert got.tolist() == pytest.approx(golden["adjusted"], rel=1e-12)
            assert (got <= level).tolist() == golden["reject"]


@given(st.lists(st.floats(0, 1), max_size=30), st.randoms())
@settings(max_examples=60, deadline=None)
def test_adjusting_never_lowers_p_and_never_reorders(p: list[float], shuffle: random.Random) -> None:
    order = list(range(len(p)))
    shuffle.shuffle(order)
    for adjust in (
        uncertainty.benjamini_hochberg,
        uncertainty.benjamini_yekutieli,
        uncertainty.holm,
        uncertainty.bonferroni,
    ):
        got = adjust(p)
        assert (got >= np.array(p) * (1 - 1e-12)).all()
        assert (got <= 1).all()
        ranked = got[np.argsort(p, kind="stable")]
        assert (np.diff(ranked) >= 0).all()
        assert adjust([p[i] for i in order]).tolist() == [got[i] for i in order]


def test_day_sums_kept_apart_add_up_to_the_whole_sample() -> None:
    """What a store keeps per day is enough: no estimate needs the single outcomes again."""
    stored = DaySums(np.array([4.0, -2.0, 6.0]), np.array([2.0, 1.0, 3.0]))
    direct = by_day([1, 3, -2, 4, 0, 2], [1, 1, 2, 3, 3, 3])
    assert uncertainty.mean_estimate(stored) == uncertainty.mean_estimate(direct)
