"""Intervals, p-values and the special functions under them."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels import special, uncertainty
from retro.kernels.uncertainty import by_day
from tests.worlds.places import GOLDEN

HEURISTICS = json.loads((GOLDEN / "heuristics.json").read_text())
SAMPLES = HEURISTICS["samples"]

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
    got = uncertainty.mean_estimate(one_a_day(row["pnl"]))
    if "t_interval95" not in row:  # nothing but zeros: 0/0 is no evidence
        assert (got.interval, got.p, got.reason) == (None, None, "no_spread")
        return
    assert got.interval == pytest.approx(row["t_interval95"], rel=1e-12)
    assert got.p == pytest.approx(row["t_p_two_sided"], rel=1e-11)
    assert (got.mean, got.n, got.days) == (pytest.approx(row["mean"]), row["n"], row["n"])


def test_clustered_variance_follows_the_formula_worked_by_hand() -> None:
    """Days (1, 3), (-2), (4, 0, 2): mean 8/6; residual day sums 4/3, -10/3, 2; G = 3, n = 6."""
    got = uncertainty.mean_estimate(by_day([1, 3, -2, 4, 0, 2], [10, 10, 11, 14, 14, 14]))
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
    once = uncertainty.mean_estimate(by_day(values, days))
    often = uncertainty.mean_estimate(by_day(np.repeat(values, copies), np.repeat(days, copies)))
    assert often.n == copies * once.n
    assert often.days == once.days
    if once.interval is not None and once.standard_error > 1e-6:
        assert often.interval == pytest.approx(once.interval, rel=1e-7, abs=1e-7)
        assert often.p == pytest.approx(once.p, rel=1e-6, abs=1e-12)


@given(outcomes, st.floats(0.1, 10))
@settings(max_examples=40, deadline=None)
def test_scaling_outcomes_scales_the_estimate_and_keeps_p(values: list[Any], scale: float) -> None:
    base = uncertainty.mean_estimate(one_a_day(values))
    scaled = uncertainty.mean_estimate(one_a_day(np.array(values) * scale))
    assert scaled.mean == pytest.approx(base.mean * scale, rel=1e-9, abs=1e-9)
    assert scaled.method == base.method
    if base.p is not None and base.standard_error > 1e-3:
        assert scaled.p == pytest.approx(base.p, rel=1e-6, abs=1e-12)
        assert scaled.interval == pytest.approx([scale * x for x in base.interval], rel=1e-6, abs=1e-6)


@given(outcomes)
@settings(max_examples=40, deadline=None)
def test_turning_every_outcome_over_mirrors_the_t_interval(values: list[Any]) -> None:
    base = uncertainty.mean_estimate(one_a_day(values))
    turned = uncertainty.mean_estimate(one_a_day([-x for x in values]))
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
    assert uncertainty.mean_estimate(by_day([], [])).mean is None
    got = uncertainty.mean_estimate(by_day([1.0, 2.0, 6.0], [5, 5, 5]))
    assert (got.mean, got.n, got.days) == (3.0, 3, 1)
    assert (got.interval, got.p, got.reason) == (None, None, "too_few_days")


@pytest.mark.parametrize("n", [3, 12])
def test_outcomes_all_alike_are_no_certainty_of_their_mean(n: int) -> None:
    """Three equal stop-outs: two signs of three days, not p = 0; and no interval of no width."""
    got = uncertainty.mean_estimate(one_a_day([-20.0] * n))
    assert (got.interval, got.reason) == (None, "no_spread")
    assert got.p == 2 / 2**n


def test_below_fifteen_days_the_spread_of_the_role_stands_beside_a_smaller_one() -> None:
    """Three losses near -20 in a role whose outcomes have sd 30: 30 / sqrt(3), t with 2 degrees; own sd at 15 days."""
    pooled = uncertainty.Spread(30.0, 0.0)
    got = uncertainty.mean_estimate(one_a_day([-20.0, -20.5, -19.5]), pooled)
    error = 30 / math.sqrt(3)
    t = 0.95 * math.sqrt(2 / (1 - 0.95**2))
    assert got.standard_error == pytest.approx(error)
    assert got.interval == pytest.approx((-20 - t * error, -20 + t * error))
    wide = uncertainty.mean_estimate(one_a_day([-200.0, 300.0, 50.0]), pooled)
    assert wide == uncertainty.mean_estimate(one_a_day([-200.0, 300.0, 50.0]))
    many = [-20.0 + (i % 3) / 2 for i in range(15)]
    assert uncertainty.mean_estimate(one_a_day(many), pooled) == uncertainty.mean_estimate(one_a_day(many))
    fewer = uncertainty.mean_estimate(one_a_day(many[:14]), pooled)
    assert fewer.standard_error == pytest.approx(30 / math.sqrt(14))


def test_the_spread_of_a_role_knows_how_alike_outcomes_of_a_day_are() -> None:
    """One a day: the ordinary standard deviation. Copies of a day's outcome: wholly alike, so a day is one outcome."""
    values = [3.0, -1.0, 4.0, 1.0, -5.0]
    alone = uncertainty.spread_of(values, range(5))
    assert (alone.deviation, alone.alike) == (pytest.approx(np.std(values, ddof=1)), 0.0)
    copies = uncertainty.spread_of(np.repeat(values, 4), np.repeat(np.arange(5), 4))
    assert copies.alike == 1.0
    assert copies.error(np.array([4.0, 4.0])) == pytest.approx(copies.deviation / math.sqrt(2))
    assert copies.error(np.array([1.0, 1.0])) == pytest.approx(copies.deviation / math.sqrt(2))
    assert uncertainty.spread_of([2.0], [1]) is None
    assert uncertainty.spread_of([2.0, 2.0], [1, 2]) is None


def test_intervals_of_stops_cover_the_true_mean_once_the_role_is_asked() -> None:
    """-1R in two of three, else +2R, three days: alone 65 in 100 (audit S1), beside forty outcomes of the role 97."""
    source, alone, beside = rng(11), 0, 0
    for _ in range(400):
        role = np.where(source.random(40) < 1 / 3, 2.0, -1.0)
        sample = one_a_day(role[:3])
        pooled = uncertainty.spread_of(role, np.arange(40))
        for wide, estimate in (
            (False, uncertainty.mean_estimate(sample)),
            (True, uncertainty.mean_estimate(sample, pooled)),
        ):
            low, high = estimate.interval or (estimate.mean, estimate.mean)
            alone += (not wide) and low <= 0 <= high
            beside += wide and low <= 0 <= high
    assert 0.58 <= alone / 400 <= 0.75
    assert beside / 400 >= 0.96


def test_intervals_cover_the_true_mean_about_as_often_as_they_say() -> None:
    """400 samples of 12 days with three outcomes that share their day's luck; 95 % intervals."""
    source, hits = rng(11), 0
    for _ in range(400):
        day_luck = np.repeat(source.normal(size=12), 3)
        values, days = 0.5 + day_luck + 0.3 * source.normal(size=36), np.repeat(np.arange(12), 3)
        low, high = uncertainty.mean_estimate(
            by_day(values, days), uncertainty.spread_of(values, days)
        ).interval or (0, 0)
        hits += low <= 0.5 <= high
    assert 0.92 <= hits / 400 <= 0.99


def test_one_sign_alone_leaves_three_in_the_number_of_days() -> None:
    assert uncertainty.rule_of_three([-20.0] * 6, [1, 1, 2, 3, 4, 5]) == pytest.approx(3 / 5)
    assert uncertainty.rule_of_three([5.0, 2.0], [1, 2]) == 1.0
    assert uncertainty.rule_of_three([5.0, 0.0, 2.0], [1, 2, 3]) is None
    assert uncertainty.rule_of_three([], []) is None
