"""Survival of rules, held to lifelines; a line through returns, held to statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from lifelines import KaplanMeierFitter

from retro.kernels.evaluators.regression import lags_for, regress
from retro.kernels.evaluators.survival import survival

lives = st.lists(st.tuples(st.integers(1, 60).map(lambda k: k / 4), st.booleans()), min_size=1, max_size=60)


@given(lives)
def test_the_curve_is_that_of_lifelines(rows: Any) -> None:
    age, died = np.array([age for age, _ in rows]), np.array([dead for _, dead in rows])
    curve = survival(age, died)
    oracle = KaplanMeierFitter().fit(age, died)
    assert curve.age.tolist() == sorted({a for a, dead in rows if dead})
    if len(curve.age):
        expected = oracle.survival_function_at_times(curve.age).to_numpy()
        np.testing.assert_allclose(curve.share, expected, atol=1e-12)
    if (np.abs(curve.share - 0.5) < 1e-9).any():
        return  # lifelines adds up logarithms and may miss a half by its last digit
    median = oracle.median_survival_time_
    assert curve.half_life == (None if np.isinf(median) else pytest.approx(median))


def test_rules_that_all_live_have_no_half_life() -> None:
    curve = survival(np.array([3.0, 40.0]), np.array([False, False]))
    assert (len(curve.age), curve.half_life) == (0, None)


def test_half_of_four_that_died_at_two_and_five_is_the_fifth_day() -> None:
    # 4 alive; one leaves at 2 (0.75), one is censored at 3, one of the two left dies at 5: 0.375
    curve = survival(np.array([2.0, 3.0, 5.0, 9.0]), np.array([True, False, True, False]))
    assert curve.share.tolist() == pytest.approx([0.75, 0.375])
    assert curve.half_life == 5


@given(st.integers(60, 400), st.integers(0, 10_000), st.floats(-2, 2), st.floats(0, 0.9))
def test_a_line_has_the_errors_of_newey_and_west(n: int, seed: int, slope: float, memory: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(0.001, 0.02, n)
    noise = rng.normal(0, 0.01, n)
    for day in range(1, n):
        noise[day] += memory * noise[day - 1]
    y = 0.0005 + slope * x + noise
    line = regress(x, y)
    oracle = sm.OLS(y, sm.add_constant(x)).fit(cov_type="HAC", cov_kwds={"maxlags": lags_for(n)})
    assert line is not None
    assert [line.alpha, line.beta] == pytest.approx(oracle.params, abs=1e-9)
    assert [line.alpha_error, line.beta_error] == pytest.approx(oracle.bse, rel=1e-8, abs=1e-9)


def test_a_benchmark_that_never_moves_explains_nothing() -> None:
    assert regress(np.full(80, 0.01), np.arange(80.0)) is None
