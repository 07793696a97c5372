"""Intervals, p-values and the special functions under them."""

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
from tests.worlds.places import GOLDEN

HEURISTICS = json.loads((GOLDEN / "heuristics.json").read_text())
SAMPLES = HEURISTICS["samples"]
FAMILIES = json.loads((GOLDEN / "multiplicity.json").read_text())["families"]

outcomes = st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), min_size=2, max_size=40)


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def one_a_day(values: Any) -> Any:
    return by_day(values, np.arange(len(values)))


# special functions


@pytest.mark.parametrize("name", SAMPLES)
def test_beta_quantiles_agree_with_the_published_intervals(name: Any) -> None:
    row = SAMPLES[name]
    wins, n = row["wins"], row["n"]
    for prior, key in ((0.5, "beta_jeffreys_ci95"), (1.0, "beta_uniform_ci95")):
        got = [special.beta_quantile(p, wins + prior, n - wins + prior) for p in (0.025, 0.975)]
        assert got == pytest.approx(row[key], rel=1e-12)
    above_half = special.beta_cdf(0.5, n - wins + 0.5, wins + 0.5)
    assert above_half == pytest.approx(row["p_winrate_gt_half_jeffreys"], rel=1e-12)
    if wins:
        assert special.beta_quantile(0.025, wins, n - wins + 1) == pytest.approx(
            row["clopper_pearson_ci95"][0], rel=1e-12
        )


@pytest.mark.parametrize(("n", "k"), [(20, 3), (100, 50), (1000, 700), (5000, 2600)])
def test_binomial_tail_equals_the_exact_sum_of_integers(n: int, k: int) -> None:
    exact = Fraction(sum(math.comb(n, i) for i in range(k, n + 1)), 2**n)
    assert special.binomial_tail(k, n) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(("k", "n", "expected"), [(0, 4, 1.0), (5, 4, 0.0), (4, 4, 0.0625), (3, 4, 0.3125)])
def test_binomial_tail_of_four_coins(k: int, n: int, expected: float) -> None:
    assert special.binomial_tail(k, n) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("t", [0.1, 1.0, 5.0, 100.0, 1e6])
def test_t_distribution_has_its_closed_forms_at_one_and_two_degrees(t: float) -> None:
    root = math.sqrt(2 + t * t)
    assert special.t_cdf(-t, 1) == pytest.approx(math.atan(1 / t) / math.pi, rel=1e-13)
    assert special.t_cdf(-t, 2) == pytest.approx(1 / (root * (root + t)), rel=1e-13)


def test_t_distribution_tends_to_the_normal() -> None:
    assert special.t_quantile(0.975, 1e9) == pytest.approx(special.normal_quantile(0.975), rel=1e-8)
    assert special.t_cdf(-6.0, 1e9) == pytest.approx(special.normal_cdf(-6.0), rel=1e-5)


@given(st.floats(-2, 5), st.floats(-2, 5), st.floats(-12, -0.01), st.booleans())
@settings(max_examples=150, deadline=None)
def test_beta_quantile_inverts_the_distribution(
    log_a: float, log_b: float, log_p: float, upper: bool
) -> None:
    a, b = 10**log_a, 10**log_b
    p = 1 - 10**log_p if upper else 10**log_p
    x = special.beta_quantile(p, a, b)
    if 1e-200 < x < 0.5:  # near 1 the float nearest to x is itself too coarse
        assert special.beta_cdf(x, a, b) == pytest.approx(p, rel=1e-10)


@given(st.floats(1e-9, 1 - 1e-9), st.floats(0.05, 1e4), st.floats(0.05, 1e4))
@settings(max_examples=150, deadline=None)
def test_beta_is_its_own_mirror_image(x: float, a: float, b: float) -> None:
    mirrored = special.beta_cdf(1 - x, b, a)
    assert special.beta_cdf(x, a, b) + mirrored == pytest.approx(1.0, abs=1e-7 if x < 1e-6 else 1e-10)


@given(st.floats(1e-9, 1 - 1e-9), st.floats(0.5, 1e6))
@settings(max_examples=100, deadline=None)
def test_t_quantile_inverts_the_distribution_and_is_odd(p: float, df: float) -> None:
    t = special.t_quantile(p, df)
    assert special.t_cdf(t, df) == pytest.approx(p, rel=1e-9)
    assert special.t_quantile(1 - p, df) == pytest.approx(-t, rel=1e-6, abs=1e-12)


def test_distribution_functions_end_where_they_should() -> None:
    assert [special.beta_cdf(x, 2, 3) for x in (-1.0, 0.0, 1.0, 2.0)] == [0.0, 0.0, 1.0, 1.0]
    assert [special.beta_quantile(p, 2, 3) for p in (0.0, 1.0)] == [0.0, 1.0]
    assert special.t_two_sided(0.0, 4) == 1.0
    assert special.t_two_sided(math.inf, 4) == 0.0
    assert special.t_quantile(0.5, 4) == 0.0
    assert special.beta_quantile(0.01, 1e-3, 1.0) == pytest.approx(0.0, abs=1e-300)


# the mean of outcomes, clustered by day


@pytest.mark.parametrize("name", SAMPLES)
def test_with_one_outcome_a_day_the_interval_is_the_ordinary_t_interval(name: Any) -> None:
    row = SAMPLES[name]
    got = uncertainty.clustered_t(one_a_day(row["pnl"]))
    if "t_interval95" not in row:  # nothing but zeros: 0/0 is no evidence
        assert (got.interval, got.p, got.reason) == (None, None, "no_spread")
        return
    assert got.interval == pytest.approx(row["t_interval95"], rel=1e-12)
    assert got.p == pytest.approx(row["t_p_two_sided"], rel=1e-11)
    assert (got.mean, got.n, got.days) == (pytest.approx(row["mean"]), row["n"], row["n"])


def test_clustered_variance_follows_the_formula_worked_by_hand() -> None:
    """Days (1, 3), (-2), (4, 0, 2): mean 8/6; residual day sums 4/3, -10/3, 2; G = 3, n = 6."""
    got = uncertainty.clustered_t(by_day([1, 3, -2, 4, 0, 2], [10, 10, 11, 14, 14, 14]))
    variance = 3 / 2 * ((4 / 3) ** 2 + (10 / 3) ** 2 + 2**2) / 36
    t = 0.95 * math.sqrt(2 / (1 - 0.95**2))  # closed form of the 97.5 % point with 2 degrees
    reach = t * math.sqrt(variance)
    assert got.standard_error == pytest.approx(math.sqrt(variance), rel=1e-13)
    assert got.interval == pytest.approx((8 / 6 - reach, 8 / 6 + reach), rel=1e-12)
    assert (got.n, got.days) == (6, 3)


@given(outcomes, st.integers(2, 5))
@settings(max_examples=60, deadline=None)
def test_copies_of_a_trade_on_its_own_day_prove_nothing_more(values: list[Any], copies: int) -> None:
    """Ten coins bought on one signal are one observation: interval and p stay, only n grows."""
    days = np.arange(len(values))
    once = uncertainty.clustered_t(by_day(values, days))
    often = uncertainty.clustered_t(by_day(np.repeat(values, copies), np.repeat(days, copies)))
    assert often.n == copies * once.n
    assert often.days == once.days
    if once.interval is not None and once.standard_error > 1e-6:
        assert often.interval == pytest.approx(once.interval, rel=1e-7, abs=1e-7)
        assert often.p == pytest.approx(once.p, rel=1e-6, abs=1e-12)


@given(outcomes, st.floats(0.1, 10), st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_scaling_outcomes_scales_the_estimate_and_keeps_p(values: list[Any], scale: float, seed: int) -> None:
    base = uncertainty.mean_estimate(one_a_day(values), rng(seed))
    scaled = uncertainty.mean_estimate(one_a_day(np.array(values) * scale), rng(seed))
    assert scaled.mean == pytest.approx(base.mean * scale, rel=1e-9, abs=1e-9)
    assert scaled.method == base.method
    if base.p is not None and base.standard_error > 1e-3:
        assert scaled.p == pytest.approx(base.p, rel=1e-6, abs=1e-12)
        assert scaled.interval == pytest.approx([scale * x for x in base.interval], rel=1e-6, abs=1e-6)


@given(outcomes)
@settings(max_examples=40, deadline=None)
def test_turning_every_outcome_over_mirrors_the_t_interval(values: list[Any]) -> None:
    base = uncertainty.clustered_t(one_a_day(values))
    turned = uncertainty.clustered_t(one_a_day([-x for x in values]))
    assert turned.p == base.p
    if base.interval is not None:
        low, high = base.interval
        assert turned.interval == (-high, -low)


@given(st.lists(st.tuples(st.floats(-100, 100), st.integers(-3, 9)), min_size=1, max_size=50), st.randoms())
@settings(max_examples=60, deadline=None)
def test_adding_up_by_day_forgets_the_order_and_nothing_else(
    rows: list[tuple[float, int]], shuffle: random.Random
) -> None:
    values, days = zip(*rows, strict=True)
    got = by_day(values, days)
    shuffle.shuffle(rows)
    again = by_day(*zip(*rows, strict=True))
    assert got.sums.tobytes() == again.sums.tobytes()
    assert got.counts.tobytes() == again.counts.tobytes()
    expected = [math.fsum(v for v, d in rows if d == day) for day in sorted(set(days))]
    assert got.sums == pytest.approx(np.array(expected), abs=1e-9)
    assert (got.n, got.days) == (len(rows), len(set(days)))


def test_too_few_days_give_a_mean_but_no_interval_and_no_p() -> None:
    assert uncertainty.mean_estimate(by_day([], []), rng()).mean is None
    got = uncertainty.mean_estimate(by_day([1.0, 2.0, 6.0], [5, 5, 5]), rng())
    assert (got.mean, got.n, got.days) == (3.0, 3, 1)
    assert (got.interval, got.p, got.reason) == (None, None, "too_few_days")
    assert uncertainty.bca_interval(by_day([1.0], [5]), rng()) is None


@pytest.mark.parametrize("n", [3, 12])
def test_outcomes_all_alike_leave_no_doubt_about_their_mean(n: int) -> None:
    got = uncertainty.mean_estimate(one_a_day([-2.1] * n), rng())
    assert got.interval == pytest.approx((-2.1, -2.1))
    assert got.p == 0.0


def test_ten_days_are_the_boundary_between_t_and_bootstrap() -> None:
    values = [0.5, -1.0, 2.0, 0.3, 1.1, -0.4, 0.9, 1.4, -0.2, 0.8]
    nine, ten = (uncertainty.mean_estimate(one_a_day(values[:n]), rng()) for n in (9, 10))
    assert (nine.method, ten.method) == ("t", "bca")
    crowded = uncertainty.mean_estimate(by_day(values * 3, list(range(9)) * 3 + [0, 1, 2]), rng())
    assert (crowded.n, crowded.days, crowded.method) == (30, 9, "t")
    assert ten.p == uncertainty.clustered_t(one_a_day(values)).p


def test_bca_agrees_with_two_published_libraries() -> None:
    row = HEURISTICS["bootstrap_H-3_like"]
    got = uncertainty.bca_interval(one_a_day(SAMPLES["H-3_like"]["pnl"]), rng(1234))
    assert got == pytest.approx(row["arch_20000_seed1234"]["bca"], abs=0.05)
    assert got == pytest.approx(row["scipy_bca"], abs=0.05)


def test_bca_follows_the_skew_of_the_outcomes() -> None:
    """A long right tail pulls both ends up, which the symmetrical t interval cannot."""
    values = rng(3).exponential(size=60)
    bca = uncertainty.bca_interval(one_a_day(values), rng())
    t = uncertainty.clustered_t(one_a_day(values)).interval
    assert bca[0] > t[0]
    assert bca[1] > t[1]


def test_bca_of_many_days_is_near_the_t_interval_and_repeats_with_its_seed() -> None:
    sample = by_day(rng(1).normal(size=6000), rng(2).integers(3000, size=6000))
    got = uncertainty.bca_interval(sample, rng(5))
    assert got == uncertainty.bca_interval(sample, rng(5))
    estimate = uncertainty.clustered_t(sample)
    assert got == pytest.approx(estimate.interval, abs=0.4 * estimate.standard_error)


def test_bootstrap_resamples_whole_days() -> None:
    """Two outcomes that cancel inside each day never come apart: no resample differs from 0."""
    days = np.repeat(np.arange(12), 2)
    assert uncertainty.bca_interval(by_day(np.tile([1.0, -1.0], 12), days), rng()) == (0.0, 0.0)


def test_intervals_cover_the_true_mean_about_as_often_as_they_say() -> None:
    """400 samples of 12 days with three outcomes that share their day's luck; 95 % intervals."""
    source, hits = rng(11), 0
    for _ in range(400):
        day_luck = np.repeat(source.normal(size=12), 3)
        sample = by_day(0.5 + day_luck + 0.3 * source.normal(size=36), np.repeat(np.arange(12), 3))
        interval = uncertainty.mean_estimate(sample, source).interval
        hits += interval[0] <= 0.5 <= interval[1]
    assert 0.87 <= hits / 400 <= 0.98


# rates, signs and regroupings


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
    assert uncertainty.clustered_t(stored) == uncertainty.clustered_t(direct)
