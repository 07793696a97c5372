"""Statistics of stretches that add up to those of the whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro.evaluate.claims.record import CLAIM, ClaimHistory
from retro.evaluate.claims.summaries import CALIBRATION, PREDICTIONS, KeySummary, merged, summaries_of

amounts = st.floats(-1e6, 1e6).map(lambda x: round(x, 4))
verdicts = st.sampled_from([0.0, 1.0, float("nan")])
confidences = st.sampled_from([0.0, 0.05, 0.3, 0.8, 0.81, 1.0, float("nan")])
claims = st.tuples(amounts | st.just(float("nan")), confidences, verdicts, st.integers(0, 1))


def history(rows: list[tuple[float, float, float, int]]) -> ClaimHistory:
    """Claims by (residual, confidence, verdict, which regime)."""
    records = np.zeros(len(rows), CLAIM)
    for number, (residual, confidence, verdict, regime) in enumerate(rows):
        records[number]["actual"] = residual
        records[number]["confidence"], records[number]["verdict"] = confidence, verdict
        records[number]["regime"] = 1 + regime
        records[number]["resolved_at"] = number
    return ClaimHistory(["a category", "any", "calm"], records)


def of(
    rows: list[tuple[float, float, float, int]], ring: int
) -> dict[tuple[str, tuple[str, str]], KeySummary]:
    return {(row.evaluator, row.key): row for row in summaries_of(history(rows), ring)}


@given(st.lists(claims, max_size=25), st.lists(claims, max_size=25), st.integers(1, 12))
def test_two_stretches_together_are_the_whole(
    first: list[tuple[float, float, float, int]], later: list[tuple[float, float, float, int]], ring: int
) -> None:
    both, a, b = of(first + later, ring), of(first, ring), of(later, ring)
    assert both.keys() == a.keys() | b.keys()
    for name, whole in both.items():
        parts = [part[name] for part in (a, b) if name in part]
        together = parts[0] if len(parts) == 1 else merged(parts[0], parts[1], ring)
        assert (together.n, together.evaluator, together.key) == (whole.n, whole.evaluator, whole.key)
        added, expected = together.statistics, whole.statistics
        assert (added.count, added.min, added.max) == (expected.count, expected.min, expected.max)
        assert (added.judged, added.right, added.tail) == (expected.judged, expected.right, expected.tail)
        size = max([1.0, *(abs(x) for x in (expected.min, expected.max) if x)])
        assert added.mean == (
            None if expected.mean is None else pytest.approx(expected.mean, rel=1e-12, abs=1e-12 * size)
        )
        assert added.m2 == (
            None if expected.m2 is None else pytest.approx(expected.m2, rel=1e-12, abs=1e-12 * size * size)
        )
        assert [(c.bin, c.n, c.right) for c in added.bins] == [(c.bin, c.n, c.right) for c in expected.bins]
        assert [c.stated for c in added.bins] == pytest.approx([c.stated for c in expected.bins], rel=1e-12)


def test_a_stretch_by_hand() -> None:
    # residuals 1, 2, 6: mean 3, squares 4 + 1 + 9; 0.8 right and 0.8 wrong: .04 and .64
    nan = float("nan")
    rows = of([(1, 0.8, 1, 1), (2, 0.8, 0, 1), (6, nan, 1, 1), (nan, 0.3, nan, 1)], 2)
    assert list(rows) == [
        (PREDICTIONS, ("a category", "any")),
        (PREDICTIONS, ("a category", "calm")),
        (CALIBRATION, ("a category", "any")),
        (CALIBRATION, ("a category", "calm")),
    ]
    forecasts = rows[PREDICTIONS, ("a category", "calm")]
    assert forecasts.n == 4
    residuals = forecasts.statistics
    assert (residuals.count, residuals.mean, residuals.m2, residuals.min, residuals.max) == (3, 3, 14, 1, 6)
    assert (residuals.judged, residuals.right, residuals.tail, residuals.bins) == (3, 2, [2, 6], [])
    sure = rows[CALIBRATION, ("a category", "any")].statistics
    assert (sure.count, sure.judged, sure.right) == (2, 2, 1)
    assert sure.mean == pytest.approx(0.34)
    assert [(c.bin, c.n, c.stated, c.right) for c in sure.bins] == [(16, 2, 0.8, 1)]
