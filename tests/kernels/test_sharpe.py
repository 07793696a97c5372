"""PSR, deflated Sharpe ratio and minimum track record: published examples, fifty-digit arithmetic, and their laws."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels import ratio_errors, sharpe
from retro.kernels.effectiveness import return_metrics
from tests.worlds.places import GOLDEN

PSR = json.loads((GOLDEN / "psr_dsr.json").read_text())
WEEK = [0.01, -0.02, 0.03, 0.0, 0.005, -0.001, 0.008]

returns = st.lists(st.floats(-0.2, 0.2), min_size=2, max_size=60).map(np.array)


def variance(ratio: float, skew: float, kurt: float) -> float:
    """Of a Sharpe ratio times the number of independent returns, by their moments (Bailey and Lopez de Prado 2012)."""
    return 1 - skew * ratio + (kurt - 1) / 4 * ratio**2


def error(ratio: float, n: int, skew: float, kurt: float) -> float:
    return math.sqrt(variance(ratio, skew, kurt) / (n - 1))


@pytest.mark.parametrize("row", PSR["grid"], ids=str)
def test_psr_and_track_record_agree_with_fifty_digit_arithmetic(row: Any) -> None:
    ratio, moments = row["sr"], (row["skew"], row["kurt"])
    got = sharpe.psr(ratio, error(ratio, row["n"], *moments), row["benchmark"])
    assert got == pytest.approx(float(row["psr"]), rel=1e-12)
    needed = sharpe.minimum_track_record(ratio, variance(ratio, *moments), row["benchmark"])
    expected = row["mintrl_95"]
    assert needed == (None if expected is None else pytest.approx(float(expected), rel=1e-12))


def test_psr_of_the_paper() -> None:
    row = PSR["psr_paper"]
    ratio, n = row["mean"] / row["std"], row["n"]
    normal = sharpe.psr(ratio, error(ratio, n, 0, 3))
    skewed = sharpe.psr(ratio, error(ratio, n, row["skew"], row["kurt"]))
    assert normal == pytest.approx(float(row["psr0_normal"]), rel=1e-12)
    assert skewed == pytest.approx(float(row["psr0_nonnormal"]), rel=1e-12)
    assert [round(p, 3) for p in (normal, skewed)] == pytest.approx(
        [row["published"]["psr0_normal"], row["published"]["psr0_nonnormal"]], abs=0.0011
    )
    printed = PSR["psr_paper_sr_1.585"]
    monthly = printed["sr_annual"] / math.sqrt(12)
    for skew, kurt, key in ((0, 3, "psr0_normal"), (printed["skew"], printed["kurt"], "psr0_nonnormal")):
        got = sharpe.psr(monthly, error(monthly, printed["n"], skew, kurt))
        assert got == pytest.approx(float(printed[key]), rel=1e-12)


@pytest.mark.parametrize(
    ("periods", "skew", "kurt", "years"),
    [(250, 0, 3, 2.73), (52, 0, 3, 2.83), (12, 0, 3, 3.24), (12, -0.72, 5.78, 4.99)],
    ids=["daily", "weekly", "monthly", "monthly, hedge funds"],
)
def test_track_records_of_the_paper(periods: int, skew: float, kurt: float, years: float) -> None:
    """How long a Sharpe ratio of 2 a year has to be seen to be above 1 with 95 % (Bailey and Lopez de Prado 2012)."""
    ratio, benchmark = 2 / math.sqrt(periods), 1 / math.sqrt(periods)
    needed = sharpe.minimum_track_record(ratio, variance(ratio, skew, kurt), benchmark)
    assert needed is not None
    assert needed / periods == pytest.approx(years, abs=0.005)


@pytest.mark.parametrize("row", PSR["dsr_paper"], ids=lambda row: str(row["trials"]))
def test_deflated_sharpe_of_the_paper(row: Any) -> None:
    scatter = row["var_trials_annual"] / row["periods"]
    ratio = row["sr_annual"] / math.sqrt(row["periods"])
    assert sharpe.expected_max_sharpe(row["trials"], scatter) == pytest.approx(
        float(row["sr0_period"]), rel=1e-12
    )
    own = error(ratio, row["T"], row["skew"], row["kurt"])
    got = sharpe.deflated_sharpe(ratio, own, row["trials"], scatter)
    assert got == pytest.approx(float(row["dsr"]), rel=1e-12)
    assert got == pytest.approx(row["published"], abs=5e-5)


@pytest.mark.parametrize("row", PSR["expected_max_sr"], ids=lambda row: str(row["trials"]))
def test_best_of_many_worthless_strategies(row: Any) -> None:
    got = sharpe.expected_max_sharpe(row["trials"], row["var"])
    assert got == pytest.approx(float(row["value"]), rel=1e-12)
    assert sharpe.expected_max_sharpe(1, row["var"]) == 0.0


def test_a_week_worked_by_hand() -> None:
    """Ratio .305 a day, error .468 by Student: z .653. The best of ten worthless ones is expected at 1.575 errors."""
    daily = np.array(WEEK)
    influence = ratio_errors.sharpe_influence(daily)
    z = float(daily.mean() / daily.std(ddof=1)) / (ratio_errors.standard_error(influence) or 0.0)
    best_of_ten = 1.57459830134575
    got = sharpe.track_record(daily, 10)
    assert got.psr == pytest.approx(0.5 * (1 + math.erf(z / math.sqrt(2))))
    assert got.deflated_sharpe == pytest.approx(0.5 * (1 + math.erf((z - best_of_ten) / math.sqrt(2))))
    # the variance of the ratio over 7 days is error^2 x 7 x 4 / 6 (Student's 6/(7 x 4)): 1 + that x (1.645 / ratio)^2
    spread = (z**-2) * 7 * 4 / 6
    assert got.minimum_days == pytest.approx(1 + 1.6448536269514722**2 * spread)


@given(returns, st.integers(1, 200))
@settings(max_examples=60, deadline=None)
def test_the_more_was_tried_the_less_is_left_of_a_ratio(daily: Any, trials: int) -> None:
    one, some, one_more = (sharpe.track_record(daily, n) for n in (1, trials, trials + 1))
    assert one.deflated_sharpe == one.psr
    if one.psr is None or some.deflated_sharpe is None or one_more.deflated_sharpe is None:
        return
    assert one_more.deflated_sharpe <= some.deflated_sharpe <= one.psr
    assert one.minimum_days == some.minimum_days


@given(returns)
@settings(max_examples=60, deadline=None)
def test_psr_mirrors_with_the_sign_of_returns(daily: Any) -> None:
    up, down = sharpe.track_record(daily), sharpe.track_record(-daily)
    assert (up.psr is None) == (down.psr is None)
    if up.psr is None or down.psr is None:
        return
    assert up.psr + down.psr == pytest.approx(1.0, abs=1e-9)
    assert (up.psr > 0.5) == (daily.mean() > 0) or up.psr == 0.5
    # only one side of a coin ever has a record that is long enough
    assert (up.minimum_days is None) or (down.minimum_days is None)


@given(st.integers(0, 2**32), st.integers(30, 400), st.floats(0.01, 0.4))
@settings(max_examples=40, deadline=None)
def test_a_record_is_long_enough_about_when_the_psr_reaches_its_confidence(
    seed: int, n: int, ratio: float
) -> None:
    daily = np.random.default_rng(seed).normal(ratio, 1.0, n)
    got = sharpe.track_record(daily)
    assert got.psr is not None
    if got.minimum_days is None:
        assert got.psr <= 0.5
    elif abs(n - got.minimum_days) > 4:  # the PSR's error is Student's, a little wider than the record's
        assert (got.psr >= sharpe.CONFIDENCE) == (n > got.minimum_days)


def test_without_days_or_variation_there_is_nothing() -> None:
    for daily in ([], [0.1], [0.1, 0.1], [0.1, 0.2, 0.3], [0.1] * 9):
        assert sharpe.track_record(np.array(daily)) == sharpe.TrackRecord(None, None, None)


def test_a_ratio_that_is_not_above_zero_needs_a_record_without_end() -> None:
    got = return_metrics([-value for value in WEEK], trials=3)
    assert got.sharpe is not None
    assert got.sharpe < 0
    assert got.minimum_track_record is None
    assert got.reasons["minimum_track_record"] == "not_above_zero"
    few = return_metrics(WEEK[:3], trials=3)
    names = ("psr", "deflated_sharpe", "minimum_track_record")
    assert [few.reasons[name] for name in names] == ["too_few_for_error"] * 3


def test_the_best_of_ten_worthless_lives_seldom_looks_skilled_once_it_is_deflated() -> None:
    """PSR calls the best of ten coins skilled four times in ten; deflated it does about as often as it promises."""
    random = np.random.default_rng(3)
    lives = random.normal(size=(400, 10, 90))
    best = [max(life, key=lambda daily: float(daily.mean() / daily.std(ddof=1))) for life in lives]
    records = [sharpe.track_record(daily, 10) for daily in best]
    assert sum((record.psr or 0.0) >= 0.95 for record in records) / 400 > 0.3
    assert sum((record.deflated_sharpe or 0.0) >= 0.95 for record in records) / 400 <= 0.05
