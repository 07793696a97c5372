"""Bounds of a mean daily difference, several of them together, and how much stood at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels.evaluators.paired_days import (
    block_length,
    chance_of_none,
    holm_levels,
    peak,
    stationary_means,
)


@pytest.mark.parametrize(("days", "block"), [(1, 1), (7, 2), (27, 3), (125, 5), (365, 7)])
def test_blocks_are_as_long_as_the_cube_root_of_the_days(days: int, block: int) -> None:
    assert block_length(days) == block


@pytest.mark.parametrize("days", [20, 90])
def test_bounds_are_those_of_archs_stationary_bootstrap_to_monte_carlo_error(days: int) -> None:
    from arch.bootstrap import StationaryBootstrap

    rng = np.random.default_rng(days)
    series = np.convolve(rng.normal(0.2, 1, days + 3), np.ones(4) / 2, "valid")  # days that hang together
    [drawn] = stationary_means(series[None], np.random.default_rng(0), 20_000)
    oracle = StationaryBootstrap(block_length(days), series, seed=np.random.default_rng(1)).apply(
        np.mean, 20_000
    )
    spread = drawn.std()
    assert drawn.mean() == pytest.approx(series.mean(), abs=0.05 * spread)
    assert spread == pytest.approx(oracle.std(), rel=0.03)
    for percent in (1, 5, 50, 95, 99):
        assert np.percentile(drawn, percent) == pytest.approx(
            np.percentile(oracle, percent), abs=0.08 * spread
        )


def test_a_bound_of_days_without_a_difference_is_that_of_nothing() -> None:
    [drawn] = stationary_means(np.zeros((1, 9)), np.random.default_rng(0), 100)
    assert not drawn.any()
    assert chance_of_none(drawn) == 1


@pytest.mark.parametrize("days", [1, 20, 400])
def test_several_series_are_drawn_on_the_same_days_each_as_if_it_were_alone(days: int) -> None:
    series = np.random.default_rng(days).normal(0, 1, (3, days))
    alone = [stationary_means(row[None], np.random.default_rng(7), 150)[0] for row in series]
    assert (stationary_means(series, np.random.default_rng(7), 150) == np.array(alone)).all()


@pytest.mark.parametrize(
    ("p", "levels"),
    [
        ([0.01], [0.05]),
        ([0.03, 0.01], [0.05, 0.025]),
        ([0.04, 0.03, 0.01], [0.0, 0.025, 0.05 / 3]),  # .03 fails at .025: of .04 nothing is said
        ([0.2, 0.001], [0.05, 0.025]),
        ([], []),
    ],
)
def test_holm_judges_step_by_step_from_the_smallest(p: list[float], levels: list[float]) -> None:
    assert holm_levels(p, 0.05) == pytest.approx(levels)


@settings(max_examples=25)
@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_rejects_what_statsmodels_rejects(p: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    rejected = [chance <= level for chance, level in zip(p, holm_levels(p, 0.05), strict=True)]
    oracle = multipletests(p, 0.05, "holm")[0].tolist() if p else []
    assert [flag and chance <= 0.05 for flag, chance in zip(rejected, p, strict=True)] == oracle


def test_the_most_that_stood_at_once_lets_what_closes_make_room() -> None:
    opened, closed = np.array([0, 1, 5]), np.array([5, 3, 9])
    assert peak(opened, closed, np.array([100.0, 50, 120])) == 150
    assert peak(opened[:0], closed[:0], np.empty(0)) == 0
