"""Prediction accuracy: what counts as a hit, residuals, coverage, categories."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels import accuracy
from retro.kernels.accuracy import Resolved

NO = math.nan

value = st.one_of(st.just(NO), st.integers(-100_000, 100_000).map(lambda n: n / 1000))
row = st.tuples(value, value, value, value, st.sampled_from([NO, 0.0, 1.0]))


def resolved(*rows: Any) -> Resolved:
    """Rows of (predicted, low, high, actual, correct)."""
    return Resolved(*(np.array(column, dtype=float) for column in zip(*rows, strict=True)))


@pytest.mark.parametrize(
    ("prediction", "verdict"),
    [
        ((1.0, 0.0, 2.0, 9.0, 1.0), 1.0),  # the agent's verdict wins over a miss of the interval
        ((1.0, 0.0, 2.0, 1.0, 0.0), 0.0),
        ((1.0, NO, NO, NO, 1.0), 1.0),  # a verdict without figures
        ((1.0, 0.0, 2.0, 2.0, NO), 1.0),  # the ends belong to the interval
        ((1.0, 0.0, 2.0, 0.0, NO), 1.0),
        ((1.0, 0.0, 2.0, 2.1, NO), 0.0),  # outside it: the right sign does not help
        ((1.0, NO, NO, 0.2, NO), 1.0),
        ((1.0, 0.0, NO, 0.2, NO), 1.0),  # half an interval is none
        ((-1.0, NO, NO, 0.2, NO), 0.0),
        ((-1.0, NO, NO, 0.0, NO), 0.0),
        ((0.0, NO, NO, 0.0, NO), NO),  # a predicted 0 has no sign
        ((NO, NO, NO, 3.0, NO), NO),
        ((NO, 2.0, 4.0, 3.0, NO), 1.0),
        ((1.0, 0.0, 2.0, NO, NO), NO),
    ],
)
def test_what_counts_as_a_hit(prediction: Any, verdict: Any) -> None:
    (got,) = accuracy.verdicts(resolved(prediction))
    assert got == pytest.approx(verdict, nan_ok=True)


def test_accuracy_worked_by_hand() -> None:
    got = accuracy.accuracy(
        resolved(
            (1.0, 0.0, 2.0, 1.5, NO),
            (1.0, 0.0, 2.0, 3.0, NO),
            (0.0, NO, NO, -4.0, NO),
            (2.0, NO, NO, 1.0, NO),
            (NO, NO, NO, NO, 1.0),
        )
    )
    assert (got.total, got.judged, got.hits, got.hit_rate) == (5, 4, 3, 0.75)
    assert got.mean_residual == pytest.approx((0.5 + 2.0 - 4.0 - 1.0) / 4)
    assert got.mean_absolute_residual == pytest.approx(7.5 / 4)
    assert got.interval_coverage == 0.5
    assert not got.sample_sufficient


def test_nothing_resolved_gives_counts_and_no_rates() -> None:
    empty = np.empty(0)
    got = accuracy.accuracy(Resolved(empty, empty, empty, empty, empty))
    assert (got.total, got.judged, got.hits) == (0, 0, 0)
    assert (got.hit_rate, got.mean_residual, got.interval_coverage) == (None, None, None)


@pytest.mark.parametrize(("n", "sufficient"), [(29, False), (30, True)])
def test_thirty_predictions_are_a_sufficient_sample(n: int, sufficient: bool) -> None:
    assert accuracy.accuracy(resolved(*[(1.0, NO, NO, 1.0, NO)] * n)).sample_sufficient is sufficient


@given(st.lists(st.tuples(row, st.sampled_from(["fees", "price", None])), min_size=1, max_size=40))
@settings(max_examples=100, deadline=None)
def test_categories_partition_the_predictions(
    rows: list[tuple[tuple[Any, Any, Any, Any, Any], str | None]],
) -> None:
    table, categories = resolved(*[r for r, _ in rows]), [c for _, c in rows]
    parts = accuracy.accuracy_by(categories, table)
    categorised = [r for r, c in rows if c is not None]
    assert list(parts) == sorted({c for c in categories if c is not None})
    if categorised:
        whole = accuracy.accuracy(resolved(*categorised))
        for field in ("total", "judged", "hits"):
            assert sum(getattr(part, field) for part in parts.values()) == getattr(whole, field)


@given(st.lists(row, min_size=1, max_size=40))
@settings(max_examples=100, deadline=None)
def test_rates_are_shares_and_residuals_bound_each_other(rows: list[tuple[Any, Any, Any, Any, Any]]) -> None:
    got = accuracy.accuracy(resolved(*rows))
    assert got.hits <= got.judged <= got.total == len(rows)
    for rate in (got.hit_rate, got.interval_coverage):
        assert rate is None or 0 <= rate <= 1
    if got.mean_residual is not None:
        assert abs(got.mean_residual) <= got.mean_absolute_residual + 1e-9


@given(st.lists(row, min_size=1, max_size=30), st.sampled_from([0.125, 2.0, 1024.0]))
@settings(max_examples=60, deadline=None)
def test_the_unit_of_a_prediction_does_not_change_hits(
    rows: list[tuple[Any, Any, Any, Any, Any]], scale: float
) -> None:
    base = accuracy.verdicts(resolved(*rows))
    scaled = accuracy.verdicts(resolved(*[(*(x * scale for x in r[:4]), r[4]) for r in rows]))
    assert scaled == pytest.approx(base, nan_ok=True)
