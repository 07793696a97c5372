"""Twins of a position at other moments: hand-worked, the circle of returns, uniform percentiles without drift."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from retro.kernels.evaluators.twins import TWINS, HeldPositions, is_covered, percentiles, twin_results

HOUR = 3_600_000_000


def held(*rows: tuple[int, int, float, float, float]) -> HeldPositions:
    at, duration, side, notional, fee = zip(*rows, strict=True)
    return HeldPositions(np.array(at), np.array(duration), np.array(side), np.array(notional), np.array(fee))


def draws(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((1, TWINS))


def walk(n: int, seed: int, drift: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return 100 * np.exp(np.cumsum(rng.normal(drift, 0.01, n)))


def test_where_the_price_only_rises_every_twin_makes_the_same() -> None:
    at = np.arange(401) * HOUR
    price = np.asarray(100 * 1.001 ** np.arange(401), dtype=np.float64)
    twins = twin_results(at, price, held((40 * HOUR, 10 * HOUR, 1.0, 1000.0, 0.0)), draws(0))
    assert twins.shape == (1, TWINS)
    # ten or eleven hourly steps lie in ten hours that begin between two marks
    growth = np.round(np.log1p(twins / 1000) / np.log(1.001)).astype(int)
    assert set(growth.ravel().tolist()) <= {9, 10, 11}
    assert growth.mean() == pytest.approx(10, abs=0.2)


def test_a_short_gains_what_a_long_loses_and_both_pay_fees_on_both_ways() -> None:
    at, price = np.arange(500) * HOUR, walk(500, 1)
    pair = held((9 * HOUR, 5 * HOUR, 1.0, 200.0, 0.001))
    long = twin_results(at, price, pair, draws(4))
    short = twin_results(at, price, held((9 * HOUR, 5 * HOUR, -1.0, 200.0, 0.001)), draws(4))
    free = twin_results(at, price, held((9 * HOUR, 5 * HOUR, 1.0, 200.0, 0.0)), draws(4))
    assert long - free == pytest.approx(-0.001 * (400 + free))
    assert (long + short) == pytest.approx(2 * (long - free))


def test_the_mean_of_twins_over_a_whole_circle_is_the_drift_alone() -> None:
    at, price = np.arange(2001) * HOUR, walk(2001, 7, drift=0.0005)
    twins = twin_results(at, price, held((0, 24 * HOUR, 1.0, 1.0, 0.0)), draws(8))
    drift = np.log(price[-1] / price[0]) / 2000 * 24
    assert np.log1p(twins).mean() == pytest.approx(drift, abs=4 * 0.01 * np.sqrt(24 / TWINS))


def test_history_of_twenty_holding_times_is_needed() -> None:
    rows = held((0, 10, 1.0, 1.0, 0.0), (0, 11, 1.0, 1.0, 0.0), (0, 0, 1.0, 1.0, 0.0))
    assert is_covered(100, 300, rows).tolist() == [True, False, False]


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_positions_taken_at_random_on_driftless_paths_have_uniform_percentiles(side: float) -> None:
    uniform = []
    for seed in range(300):
        rng = np.random.default_rng(1_000 + seed)
        at, price = np.arange(2_500) * HOUR, walk(2_500, seed)
        entry, hours = int(rng.integers(0, 2_400)), int(rng.integers(2, 48))
        real = side * (price[min(entry + hours, 2_499)] / price[entry] - 1)
        position = held((entry * HOUR, hours * HOUR, side, 1.0, 0.0))
        uniform.append(
            percentiles(np.array([real]), twin_results(at, price, position, rng.random((1, TWINS))))[0]
        )
    assert stats.kstest(uniform, "uniform").pvalue > 0.01
