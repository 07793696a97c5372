"""Claims as they were known: nothing looks ahead, any split of the telling, hand-worked rows."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.evaluate.claims.confidence import calibrated_confidence, calibration_rows
from retro.evaluate.claims.fold import folded
from retro.evaluate.claims.forecasts import corrected_forecast, forecast_rows
from retro.evaluate.claims.record import ClaimHistory, ClaimKey
from retro.evaluate.terms import ClaimTerms, FitTerms
from retro.kernels.terms import RingTerms
from retro.model import Prediction, Resolution

SECOND = 1_000_000
TERMS = ClaimTerms(RingTerms(size=6, minimum=3, quantile=0.5), FitTerms(minimum=4, interval=3))
Told = tuple[Prediction, Resolution]


def claim(
    n: int,
    at: int,
    end: int,
    predicted: float | None,
    actual: float | None,
    *,
    regime: str | None = None,
    confidence: float | None = None,
    correct: bool | None = None,
    category: str = "price",
) -> Told:
    prediction = Prediction(
        id=f"q{n}",
        agent="a",
        at=at * SECOND,
        category=category,
        regime=regime,
        predicted=predicted,
        confidence=confidence,
        low=None if predicted is None else predicted - 1,
        high=None if predicted is None else predicted + 1,
    )
    return prediction, Resolution(
        id=f"r{n}", agent="a", at=end * SECOND, prediction=f"q{n}", actual=actual, correct=correct
    )


@st.composite
def lives(draw: st.DrawFn) -> list[Told]:
    claims = []
    for n in range(draw(st.integers(0, 30))):
        at = draw(st.integers(0, 60))
        claims.append(
            claim(
                n,
                at,
                at + draw(st.integers(0, 20)),
                draw(st.sampled_from([1.0, 2.0, -1.5, None])),
                draw(st.sampled_from([0.5, 1.2, -3.0, 4.0, None])),
                regime=draw(st.sampled_from([None, "calm", "wild"])),
                confidence=draw(st.sampled_from([None, 0.5, 0.6, 0.75, 0.9, 1.0])),
                correct=draw(st.sampled_from([None, True, False])),
            )
        )
    return claims


@given(lives())
def test_what_was_in_force_is_what_would_have_been_answered_at_that_instant(claims: list[Told]) -> None:
    whole = folded(ClaimHistory(), claims, TERMS)
    for record, category, regime in zip(
        whole.records, whole.texts("category"), whole.texts("regime"), strict=True
    ):
        past = whole.before(int(record["at"]))
        key = ClaimKey(category, regime)
        answer = corrected_forecast(past, key, 10.0, TERMS)
        if answer.active:
            assert record["bias"] == answer.bias
            assert 10.0 + record["low_offset"] == answer.low or (
                answer.low is None and math.isnan(record["low_offset"])
            )
        else:
            assert math.isnan(record["bias"])
        if not math.isnan(record["confidence"]):
            worth = calibrated_confidence(past, key, float(record["confidence"]), TERMS.fits)
            assert (record["worth"] == worth.confidence) if worth.active else math.isnan(record["worth"])


@given(lives(), st.integers(0, 80))
def test_a_life_cut_at_any_instant_answers_as_if_it_had_ended_there(claims: list[Told], cut: int) -> None:
    whole = folded(ClaimHistory(), claims, TERMS).before(cut * SECOND)
    ended = folded(ClaimHistory(), [pair for pair in claims if pair[1].at < cut * SECOND], TERMS)
    assert forecast_rows(whole, TERMS) == forecast_rows(ended, TERMS)
    assert calibration_rows(whole, TERMS.fits, 0.25, 1) == calibration_rows(ended, TERMS.fits, 0.25, 1)


@given(lives(), st.integers(0, 80), st.randoms())
@settings(max_examples=60)
def test_claims_settled_in_two_parts_are_the_bytes_of_those_settled_at_once(
    claims: list[Told], cut: int, lot: object
) -> None:
    whole = folded(ClaimHistory(), claims, TERMS)
    shuffled = list(claims)
    lot.shuffle(shuffled)  # type: ignore[attr-defined]
    first = folded(ClaimHistory(), [pair for pair in shuffled if pair[1].at < cut * SECOND], TERMS)
    both = folded(first, shuffled, TERMS)
    assert both.names == whole.names
    assert both.records.tobytes() == whole.records.tobytes()


def test_the_first_of_several_resolutions_counts_and_the_rest_change_nothing() -> None:
    pair = claim(1, 0, 10, 1.0, 1.5)
    late = Resolution(id="r0", agent="a", at=20 * SECOND, prediction="q1", actual=9.0)
    assert folded(ClaimHistory(), [(pair[0], late), pair], TERMS).records["actual"].tolist() == [1.5]


def test_what_resolved_before_it_was_predicted_is_no_claim() -> None:
    prediction, late = claim(1, 30, 40, 1.0, 1.5)
    early = Resolution(id="r0", agent="a", at=10 * SECOND, prediction="q1", actual=9.0)
    assert len(folded(ClaimHistory(), [(prediction, early)], TERMS)) == 0
    assert folded(ClaimHistory(), [(prediction, early), (prediction, late)], TERMS).records["actual"] == [1.5]


def test_a_prediction_made_after_its_target_is_counted_and_held_against_nothing() -> None:
    prediction, outcome = claim(1, 30, 40, 1.0, 1.5, confidence=1.0, correct=True)
    claims = [(msgspec.structs.replace(prediction, target_at=29_000), outcome)]
    history = folded(ClaimHistory(), claims, TERMS)
    [row] = forecast_rows(history, TERMS)
    assert (row.n, row.judged, row.mean_abs, row.coverage) == (1, 0, None, None)
    assert row.after_the_fact == 1
    assert row.reasons["mean_abs"] == (
        "no resolved prediction that was made in time has both a figure and an actual"
    )
    assert calibration_rows(history, TERMS.fits, 0.25, 1) == []


def test_a_key_with_too_few_asks_its_category_and_never_another() -> None:
    claims = [claim(n, n, n + 1, 1.0, 1.0 + n, regime="calm") for n in range(4)]
    claims.append(claim(9, 9, 10, 1.0, 3.0, regime="wild"))
    history = folded(ClaimHistory(), claims, TERMS)
    answer = corrected_forecast(history, ClaimKey("price", "wild"), 5.0, TERMS)
    # residuals 0, 1, 2, 3 and 2: ranks 1 and 5 of five at one half
    assert (answer.centre, answer.bias, answer.n) == (pytest.approx(6.6), pytest.approx(1.6), 5)
    assert (answer.low, answer.high, answer.key) == (5.0, 8.0, ("price", "any"))
    assert answer.reasons["key"].startswith("insufficient: 1 of 3 ")
    other = corrected_forecast(history, ClaimKey("volume", "wild"), 5.0, TERMS)
    assert (other.active, other.centre, other.low, other.n) == (False, 5.0, None, 0)


def test_the_worth_of_a_confidence_comes_with_all_samples_of_its_key_not_those_of_the_last_fit() -> None:
    claims = [claim(n, n, n + 1, None, None, confidence=0.9, correct=n < 4 or n > 6) for n in range(9)]
    # fits at 4, 7 and 10 samples: nine are known, the curve is that of the first four, all right
    answer = calibrated_confidence(folded(ClaimHistory(), claims, TERMS), ClaimKey("price"), 0.9, TERMS.fits)
    assert (answer.n, answer.confidence) == (9, pytest.approx(1 - 1 / 6))


def test_thirty_days_of_forecasts_a_third_too_high_are_corrected_out_of_sample() -> None:
    rng = np.random.default_rng(4)
    claims = [claim(n, 10 * n, 10 * n + 5, 3.0, 2.0 + round(float(rng.normal(0, 0.2)), 4)) for n in range(90)]
    history = folded(ClaimHistory(), claims, ClaimTerms())
    [row] = forecast_rows(history, ClaimTerms())
    assert row.bias == pytest.approx(-1, abs=0.06)
    assert row.mean_abs == pytest.approx(1, abs=0.06)
    assert row.mean_abs_corrected == pytest.approx(0.16, abs=0.05)
    assert row.coverage_corrected == pytest.approx(0.9, abs=0.1)
    assert (row.n, row.effective_n, row.active) == (90, 90, True)


def test_an_alarm_rings_for_ninety_per_cent_stated_and_half_right_and_stops_once_the_curve_speaks() -> None:
    claims = [claim(n, 10 * n, 10 * n + 5, None, None, confidence=0.9, correct=n % 2 == 0) for n in range(60)]
    early = folded(ClaimHistory(), claims[:30], ClaimTerms())
    [row] = calibration_rows(early, FitTerms(), 0.25, 1)
    assert (row.n, row.active, row.alarm, row.ece_calibrated) == (30, True, True, None)
    assert row.ece_raw == pytest.approx(0.4)
    [row] = calibration_rows(folded(ClaimHistory(), claims, ClaimTerms()), FitTerms(), 0.25, 1)
    assert row.ece_raw == pytest.approx(0.4)
    assert row.ece_calibrated == pytest.approx(0.0, abs=1e-12)  # 30 later ones, worth one half each
    assert not row.alarm


@pytest.mark.parametrize(
    ("samples", "fitted"), [(29, 0), (30, 30), (79, 30), (80, 30), (129, 30), (130, 80), (180, 130)]
)
def test_from_the_second_fit_on_the_newest_samples_are_left_out(samples: int, fitted: int) -> None:
    assert FitTerms().samples(samples) == fitted
