"""How claims stand adds up: that of two stretches is that of both, to the last bit."""

from __future__ import annotations

import json
from dataclasses import fields
from math import fsum, nan

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from retro.evaluate.claims.fold import correction_at
from retro.evaluate.claims.record import CLAIM, ClaimHistory, ClaimKey
from retro.evaluate.claims.totals import ClaimTotals, KeyTotals, totals_of
from retro.evaluate.records import KEY_TOTALS
from retro.kernels.evaluators import calibration
from retro.kernels.terms import RingTerms

NAMES = ["a category", "any", "b category", "calm", "hard"]
Row = tuple[float, float, float, float, float, int, int, int]

rows = st.lists(
    st.tuples(
        st.floats(-1e9, 1e9) | st.just(nan),  # actual less predicted
        st.floats(-1e3, 1e3) | st.just(nan),  # correction in force
        st.sampled_from([0.0, 0.05, 0.3, 0.8, 0.81, 1.0, nan]),
        st.floats(0, 1) | st.just(nan),  # worth
        st.sampled_from([0.0, 1.0, nan]),
        st.sampled_from([0, 2]),
        st.sampled_from([1, 3]),
        st.integers(-1, 2),
    ),
    max_size=25,
)


def history(claims: list[Row]) -> ClaimHistory:
    records = np.zeros(len(claims), CLAIM)
    for number, (residual, bias, confidence, worth, verdict, category, regime, tier) in enumerate(claims):
        claim = records[number]
        claim["actual"], claim["bias"], claim["confidence"] = residual, bias, confidence
        claim["worth"], claim["verdict"], claim["resolved_at"] = worth, verdict, number
        claim["category"], claim["regime"], claim["tier"], claim["difficulty"] = category, regime, tier, 4
    return ClaimHistory(NAMES, records)


@given(rows, rows, rows, st.integers(1, 12))
def test_stretches_together_are_the_whole_to_the_last_bit_however_they_are_taken_together(
    first: list[Row], second: list[Row], third: list[Row], ring: int
) -> None:
    a, b, c = (totals_of(history(part), ring) for part in (first, second, third))
    whole = totals_of(history(first + second + third), ring)
    assert a.plus(b, ring).plus(c, ring) == a.plus(b.plus(c, ring), ring) == whole
    text = json.dumps(whole.to_json())
    assert json.dumps(a.plus(b.plus(c, ring), ring).to_json()) == text
    assert ClaimTotals.from_json(json.loads(text)) == whole


@given(rows, rows)
def test_figures_of_a_standing_are_those_of_the_claims_themselves(
    first: list[Row], second: list[Row]
) -> None:
    claims, terms = history(first + second), RingTerms(size=7, minimum=3, quantile=0.5)
    totals = totals_of(history(first), 7).plus(totals_of(history(second), 7), 7)
    assert [key for key, _ in totals.ordered()] == [key for key, _ in claims.by_key()]
    for key, records in claims.by_key():
        row = totals.of(key)
        sizes = np.abs(records["actual"] - records["predicted"])
        sizes = sizes[~np.isnan(sizes)]
        assert row.errors.mean == (fsum(sizes.tolist()) / len(sizes) if len(sizes) else None)
        said, expected = row.correction(terms), correction_at(records, np.array([10**6]), terms)
        for name in ("resolved", "bias", "low", "high"):
            value = getattr(said, name)
            assert np.array_equal([nan if value is None else value], getattr(expected, name), equal_nan=True)
        samples = records[~np.isnan(records["verdict"]) & ~np.isnan(records["confidence"])]
        if len(samples):
            drawn, bins = (
                row.stated.reliability(),
                calibration.reliability(samples["confidence"], samples["verdict"]),
            )
            assert (drawn.ece, drawn.stated.tolist()) == (bins.ece, bins.stated.tolist())
            assert (drawn.n.tolist(), drawn.right.tolist()) == (bins.n.tolist(), bins.right.tolist())


def test_a_book_is_settled_anew_where_a_standing_is_of_other_fields() -> None:
    """What the fingerprint of an agent's settings holds instead of the fields themselves."""
    assert tuple(field.name for field in fields(KeyTotals)) == KEY_TOTALS


def test_a_standing_by_hand() -> None:
    """Residuals 1, -3 and 2 of which the newest two are kept; .8 right and .8 wrong, one of them corrected to .5."""
    claims: list[Row] = [
        (1, nan, 0.8, nan, 1, 0, 3, 1),
        (-3, 1, 0.8, 0.5, 0, 0, 3, 1),
        (2, 1, nan, nan, nan, 0, 1, 2),
    ]
    totals = totals_of(history(claims), 2)
    pooled, calm = totals.of(ClaimKey("a category")), totals.of(ClaimKey("a category", "calm"))
    assert (pooled.n, pooled.judged, pooled.right, pooled.ring) == (3, 2, 1, (-3.0, 2.0))
    assert (pooled.errors.total, pooled.corrected.total, pooled.corrected.n) == (6, 5, 2)
    assert (calm.n, calm.ring, calm.stated.n, calm.stated.right, calm.worth.n) == (2, (1.0, -3.0), 2, 1, 1)
    assert totals.tiers == {("a category", "hard", 1): (1, 2)}
    assert totals.of(ClaimKey("b category")).accuracy is None
