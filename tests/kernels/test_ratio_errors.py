"""Standard errors of ratios of daily returns, against slow formulas and simulated lives."""

from __future__ import annotations

import math
from statistics import fmean, pstdev, stdev

import numpy as np
import pytest

from retro.kernels import effectiveness, ratio_errors, sharpe

WEEK = [0.01, -0.02, 0.03, 0.0, 0.005, -0.001, 0.008]


def slow_error(returns: list[float]) -> float:
    """Lo's standard error a day, written out: Newey-West over the influence of each day, Student's spread."""
    n, mean, spread = len(returns), fmean(returns), pstdev(returns)
    ratio = mean / stdev(returns)
    z = [(x - mean) / spread for x in returns]
    psi = [a - ratio / 2 * (a * a - 1) for a in z]
    lags = int(4 * (n / 100) ** (2 / 9))
    gamma = [sum(psi[i] * psi[i - k] for i in range(k, n)) / n for k in range(lags + 1)]
    together = 2 * sum((1 - k / (lags + 1)) * gamma[k] for k in range(1, lags + 1))
    return math.sqrt((gamma[0] + max(0.0, together)) * (n - 1) / (n * (n - 3)))


def test_the_error_of_a_sharpe_ratio_by_the_slow_formula() -> None:
    got = effectiveness.return_metrics(WEEK, 365)
    assert got.sharpe is not None
    assert got.sharpe_interval is not None
    error = slow_error(WEEK) * math.sqrt(365)
    assert got.sharpe_standard_error == pytest.approx(error)
    assert got.sharpe_interval == pytest.approx(
        (got.sharpe - 1.959964 * error, got.sharpe + 1.959964 * error)
    )
    assert got.psr == pytest.approx(0.5 * (1 + math.erf(got.sharpe / error / math.sqrt(2))))


def test_a_week_without_edge_has_a_standard_error_near_nine() -> None:
    random = np.random.default_rng(1)
    ratios = [sharpe.sharpe(random.normal(size=7)) for _ in range(4000)]
    assert np.std([r for r in ratios if r is not None]) == pytest.approx(8.8, abs=0.4)
    balanced = np.array([1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 0.0])  # no mean, and each day undone by the next
    error = ratio_errors.standard_error(ratio_errors.sharpe_influence(balanced))
    assert error is not None
    assert error * math.sqrt(365) == pytest.approx(math.sqrt(365 * 6 / 28))  # 8.84


@pytest.mark.parametrize(("phi", "n", "least"), [(0.0, 30, 0.92), (0.0, 250, 0.93), (0.3, 250, 0.90)])
def test_the_interval_covers_the_true_sharpe_ratio(phi: float, n: int, least: float) -> None:
    random, mean = np.random.default_rng(7), 0.1
    covered = 0
    for _ in range(400):
        noise = random.normal(size=n + 50)
        for i in range(1, n + 50):
            noise[i] = phi * noise[i - 1] + math.sqrt(1 - phi**2) * noise[i]
        got = effectiveness.return_metrics(0.01 * (mean + noise[50:]), 1.0)
        assert got.sharpe_interval is not None
        covered += got.sharpe_interval[0] <= mean <= got.sharpe_interval[1]
    assert covered / 400 >= least


def test_days_that_go_together_widen_the_interval_and_the_psr_knows() -> None:
    steady = np.repeat([0.02, -0.01, 0.03, -0.02, 0.01, 0.005], 6)
    mixed = steady.reshape(6, 6).T.ravel()
    of_steady, of_mixed = effectiveness.return_metrics(steady), effectiveness.return_metrics(mixed)
    assert of_steady.sharpe == pytest.approx(of_mixed.sharpe)
    assert of_steady.sharpe_standard_error is not None
    assert of_mixed.sharpe_standard_error is not None
    assert of_steady.sharpe_standard_error > 1.3 * of_mixed.sharpe_standard_error
    assert of_steady.psr is not None
    assert of_mixed.psr is not None
    assert of_steady.psr < of_mixed.psr


def test_a_calmar_ratio_takes_thirty_days_and_carries_an_interval() -> None:
    random = np.random.default_rng(3)
    days = random.normal(0.001, 0.02, size=60)
    short, whole = effectiveness.return_metrics(days[:29]), effectiveness.return_metrics(days, seed=5)
    assert short.calmar is None
    assert short.reasons["calmar"] == short.reasons["calmar_interval"] == "too_few_for_calmar"
    assert whole.calmar == effectiveness.calmar(days)
    assert whole.calmar is not None
    assert whole.calmar_interval is not None
    low, high = whole.calmar_interval
    assert low < whole.calmar < high
    assert effectiveness.return_metrics(days, seed=5) == whole


def test_three_days_have_ratios_and_no_error() -> None:
    got = effectiveness.return_metrics([0.01, -0.01, 0.02])
    assert got.sharpe is not None
    assert (got.sharpe_standard_error, got.sharpe_interval, got.psr) == (None, None, None)
    assert got.reasons["sharpe_interval"] == got.reasons["psr"] == "too_few_for_error"


def test_an_interval_that_leaves_its_calmar_ratio_out_is_none() -> None:
    """Fifty days of -0.1 %, then ten of +0.05 %: by hand -4.91, and shuffled lives fall less far than this one."""
    returns = [-0.001] * 50 + [0.0005] * 10
    worth = 0.999**50 * 1.0005**10
    got = effectiveness.return_metrics(returns, 365)
    assert got.calmar == pytest.approx((worth ** (365 / 60) - 1) / (1 - 0.999**50))
    assert got.calmar_interval is None
    assert got.reasons["calmar_interval"] == "no_estimate"
