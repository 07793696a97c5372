"""Corrections from past residuals: exact ranks, golden vectors, rings, what was known when, coverage."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro.kernels.evaluators.residuals import corrections, effective_size, ranks
from retro.kernels.terms import RingTerms
from tests.worlds.places import GOLDEN

CASES = json.loads((GOLDEN / "conformal.json").read_text())["cases"]
values = st.lists(st.floats(-100, 100).map(lambda x: round(x, 3)), max_size=60)


@pytest.mark.parametrize(
    ("n", "expected"),
    [(30, (1, 30)), (200, (10, 191)), (39, (2, 38)), (19, (1, 19)), (18, (0, 19)), (9, (0, 10))],
)
def test_ranks_are_counted_in_exact_decimals(n: int, expected: Any) -> None:
    assert ranks(n, 0.9) == expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_an_end_is_the_one_sided_quantile_of_the_golden_vectors(case: dict[str, Any]) -> None:
    n = len(case["scores"])
    quantile = round(1 - 2 * case["alpha"], 10)
    assert ranks(n, quantile)[1] == case["rank_k"]
    high = corrections(np.array(case["scores"]), np.array([n]), RingTerms(n, 1, quantile)).high
    assert high[0] == case["quantile"]


@given(values, st.integers(1, 12), st.integers(0, 12), st.sampled_from([0.5, 0.8, 0.9]))
def test_each_instant_sees_the_newest_residuals_known_then(
    residuals: list[float], size: int, minimum: int, quantile: float
) -> None:
    known = np.arange(len(residuals) + 1)
    got = corrections(np.array(residuals), known, RingTerms(size, minimum, quantile))
    for count in known.tolist():
        ring = sorted(residuals[max(0, count - size) : count])
        assert got.resolved[count] == len(ring)
        assert got.bias[count] == (math.fsum(ring) / len(ring)) if ring else math.isnan(got.bias[count])
        low, high = ranks(len(ring), quantile)
        enough = len(ring) >= max(1, minimum)
        assert got.low[count] == ring[low - 1] if enough and low >= 1 else math.isnan(got.low[count])
        assert (
            got.high[count] == ring[high - 1] if enough and high <= len(ring) else math.isnan(got.high[count])
        )


def test_the_interval_of_exchangeable_residuals_covers_what_it_says() -> None:
    rng = np.random.default_rng(5)
    drawn = rng.exponential(size=(4_000, 31)) + 3  # far from 0 and lopsided: ranks of |r| would be too wide
    covered = [
        float(got.low[0]) <= row[30] <= float(got.high[0])
        for row in drawn
        for got in [corrections(row[:30], np.array([30]), RingTerms())]
    ]
    # ranks 1 and 30 of 30: 29/31 of the next ones lie between
    assert np.mean(covered) == pytest.approx(29 / 31, abs=0.013)


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], 0),
        ([(0, 10), (10, 20), (20, 30)], 3),  # spans that touch do not overlap
        ([(0, 10), (1, 3), (4, 6), (7, 12)], 3),
        ([(0, 7)] * 20, 1),
        ([(5, 5), (5, 5)], 2),  # an instant each
        ([(10, 2), (3, 9)], 2),  # made at 10, after its end: it takes up nothing of what came before
    ],
)
def test_claims_that_overlap_in_time_count_once(spans: list[tuple[int, int]], expected: Any) -> None:
    start, end = (np.array([span[k] for span in spans], dtype=np.int64) for k in (0, 1))
    assert effective_size(start, end) == expected
