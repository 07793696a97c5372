"""What a confidence is worth: scikit-learn's curve, golden vectors, hand-worked ECE, laws of the band."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from retro.kernels.evaluators import calibration as kernel
from tests.worlds.places import GOLDEN

CASES = json.loads((GOLDEN / "calibration.json").read_text())
samples = st.lists(
    st.tuples(
        st.integers(0, 20).map(lambda k: k / 20) | st.floats(0, 1).map(lambda p: round(p, 6)),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=120,
)


def columns(pairs: list[tuple[float, int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([p for p, _ in pairs]), np.array([float(right) for _, right in pairs])


@pytest.mark.parametrize("case", CASES["isotonic"], ids=lambda case: case["name"])
def test_the_fit_is_that_of_the_golden_vectors(case: dict[str, Any]) -> None:
    x, y = np.array(case["x"], dtype=float), np.array(case["y"], dtype=float)
    weight = None if case["weight"] is None else np.array(case["weight"], dtype=float)
    points, fitted = kernel.isotonic(x, y, weight)
    np.testing.assert_allclose(points, case["x_thresholds"], atol=1e-12)
    np.testing.assert_allclose(fitted, case["y_thresholds"], atol=1e-12)
    np.testing.assert_allclose(np.interp(case["grid"], points, fitted), case["predicted"], atol=1e-9)


@given(samples)
def test_the_fit_is_scikit_learns(pairs: list[tuple[float, int]]) -> None:
    stated, right = columns(pairs)
    oracle = IsotonicRegression(out_of_bounds="clip").fit(stated, right)
    points, fitted = kernel.isotonic(stated, right)
    grid = np.linspace(0, 1, 41)
    np.testing.assert_allclose(np.interp(grid, points, fitted), oracle.predict(grid), atol=1e-9)


@given(samples)
def test_a_confidence_is_worth_what_scikit_learn_predicts_and_never_a_certainty(
    pairs: list[tuple[float, int]],
) -> None:
    stated, right = columns(pairs)
    edge, grid = 1 / (len(pairs) + 2), np.linspace(0, 1, 41)
    oracle = IsotonicRegression(out_of_bounds="clip").fit(stated, right).predict(grid)
    np.testing.assert_allclose(kernel.fit(stated, right).at(grid), np.clip(oracle, edge, 1 - edge), atol=1e-9)


@given(samples)
def test_a_curve_never_falls_and_is_never_certain(pairs: list[tuple[float, int]]) -> None:
    curve = kernel.fit(*columns(pairs))
    worth = curve.at(np.linspace(0, 1, 101))
    assert (np.diff(worth) >= 0).all()
    assert worth.min() >= 1 / (len(pairs) + 2) - 1e-15
    assert worth.max() <= 1 - 1 / (len(pairs) + 2) + 1e-15


def test_ninety_per_cent_stated_and_half_right_is_off_by_the_whole_gap() -> None:
    # all of a bin counts at its mean stated confidence (0.90), not at the bin's middle
    bins = kernel.reliability(np.full(20, 0.9), np.repeat([1.0, 0.0], [11, 9]))
    assert (bins.index.tolist(), bins.n.tolist(), bins.right.tolist()) == ([18], [20], [11])
    assert bins.ece == pytest.approx(0.35, abs=1e-12)


@pytest.mark.parametrize("case", CASES["ece"], ids=lambda case: case["name"])
def test_the_error_is_that_of_the_golden_vectors_in_as_many_bins(case: dict[str, Any]) -> None:
    stated, right = np.array(case["p"], float), np.array(case["y"], float)
    assert kernel.reliability(stated, right, case["bins"]).ece == pytest.approx(
        case["ece_left_closed_bins"], abs=1e-9
    )
    assert kernel.brier(stated, right) == pytest.approx(case["brier"], abs=1e-9)


def test_a_confidence_on_an_edge_lies_in_the_bin_above_and_one_in_the_last() -> None:
    assert kernel.bin_of(np.array([0.0, 0.05, 0.15, 0.3, 0.7, 0.95, 1.0])).tolist() == [
        0,
        1,
        3,
        6,
        14,
        19,
        19,
    ]


@given(samples, st.integers(0, 5))
def test_the_band_holds_for_any_order_of_the_samples(pairs: list[tuple[float, int]], seed: int) -> None:
    stated, right = columns(pairs)
    shuffled = np.random.default_rng(seed).permutation(len(pairs))
    band = kernel.ece_band(stated, right, np.random.default_rng(1))
    assert band == kernel.ece_band(stated[shuffled], right[shuffled], np.random.default_rng(1))
    assert 0 <= band[0] <= band[1] <= 1


def test_the_band_is_that_of_samples_drawn_one_by_one() -> None:
    rng = np.random.default_rng(3)
    stated = rng.choice([0.55, 0.6, 0.7, 0.9], 60)
    right = (rng.random(60) < stated - 0.1).astype(float)
    low, high = kernel.ece_band(stated, right, np.random.default_rng(1))
    drawn = [rng.integers(0, 60, 60) for _ in range(4_000)]
    gaps = [kernel.reliability(stated[rows], right[rows]).ece for rows in drawn]
    assert (low, high) == pytest.approx(np.percentile(gaps, [2.5, 97.5]), abs=0.012)
