"""Return and risk metrics, the effectiveness score and its alarm."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels import effectiveness, sharpe
from retro.kernels.effectiveness import InactionWeek
from tests.worlds.places import GOLDEN

SERIES = json.loads((GOLDEN / "return_metrics.json").read_text())["series"]

returns = st.lists(st.floats(-0.2, 0.2), min_size=2, max_size=60).map(np.array)
amounts = st.lists(st.floats(-100, 100), max_size=20)


MEASURES = (
    "volatility",
    "sharpe",
    "sortino",
    "max_drawdown",
    "calmar",
    "psr",
    "deflated_sharpe",
    "minimum_track_record",
)
ERRORS = ("sharpe_standard_error", "sharpe_interval", "sortino_interval", "calmar_interval")


def near(value: Any) -> Any:
    return value if value is None else pytest.approx(value, rel=1e-9, abs=1e-12)


# metrics


@pytest.mark.parametrize("annualisation", [252, 365])
@pytest.mark.parametrize("name", SERIES)
def test_free_functions_agree_with_empyrical(name: Any, annualisation: int) -> None:
    row = SERIES[name]
    expected, daily = row[f"ann{annualisation}"], np.array(row["returns"])
    assert sharpe.sharpe(daily, annualisation) == near(expected["sharpe"])
    assert effectiveness.sortino(daily, annualisation) == near(expected["sortino"])
    assert effectiveness.calmar(daily, annualisation) == near(expected["calmar"])
    assert effectiveness.annual_return(daily, annualisation) == near(expected["annual_return"])
    assert effectiveness.max_drawdown(daily) == near(row["max_drawdown"])


@pytest.mark.parametrize("name", [name for name in SERIES if name != "flat"])
def test_metrics_hold_what_the_free_functions_say(name: Any) -> None:
    """`flat` is left out: numbers.md makes everything absent when the returns do not vary."""
    row = SERIES[name]
    got = effectiveness.return_metrics(row["returns"], 365)
    assert got.volatility == near(row["ann365"]["annual_volatility"])
    assert got.max_drawdown == near(row["max_drawdown"])
    assert (got.sharpe, got.sortino) == (near(row["ann365"]["sharpe"]), near(row["ann365"]["sortino"]))
    assert got.calmar == (near(row["ann365"]["calmar"]) if len(row["returns"]) >= 30 else None)
    absent = {name for name in (*MEASURES, *ERRORS) if getattr(got, name) is None}
    assert set(got.reasons) == absent


def test_drawdown_counts_the_first_day() -> None:
    """The curve starts at 1: a series that begins with its worst day has that drawdown."""
    assert effectiveness.max_drawdown(np.array([-0.3, 0.1])) == pytest.approx(-0.3)


@pytest.mark.parametrize(
    ("daily", "reason"),
    [
        ([], "too_few_days"),
        ([0.01], "too_few_days"),
        ([0.01, math.nan], "too_few_days"),
        ([0.001] * 9, "zero_volatility"),
        ([0.0] * 9, "zero_volatility"),
        ([0.1] * 3, "zero_volatility"),
        ([1e200, -0.5, 0.1], "not_finite"),
    ],
)
def test_without_days_or_variation_everything_is_absent_with_its_reason(
    daily: list[float], reason: str
) -> None:
    got = effectiveness.return_metrics(daily)
    absent = (*MEASURES, *ERRORS)
    assert [getattr(got, name) for name in absent] == [None] * 12
    assert got.reasons == dict.fromkeys(absent, reason)


def test_only_gains_have_neither_downside_nor_drawdown() -> None:
    reasons = effectiveness.return_metrics([0.01, 0.02] * 15).reasons
    absent = ("sortino", "sortino_interval", "calmar", "calmar_interval")
    assert reasons == dict(zip(absent, ["no_downside"] * 2 + ["no_drawdown"] * 2, strict=True))


@pytest.mark.parametrize(
    ("days", "reportable", "noisy"), [(4, False, True), (5, True, True), (29, True, True), (30, True, False)]
)
def test_few_days_are_not_shown_or_marked_noisy(days: int, reportable: bool, noisy: bool) -> None:
    got = effectiveness.return_metrics(np.sin(np.arange(days)) / 100)
    assert (got.days, got.reportable, got.noisy) == (days, reportable, noisy)


@given(returns, st.floats(0.01, 10))
@settings(max_examples=60, deadline=None)
def test_ratios_ignore_leverage_and_volatility_scales_with_it(daily: Any, leverage: float) -> None:
    base, scaled = effectiveness.return_metrics(daily), effectiveness.return_metrics(daily * leverage)
    if base.sharpe is None or base.volatility < 1e-3:
        return
    assert scaled.sharpe == pytest.approx(base.sharpe, rel=1e-6, abs=1e-9)
    assert scaled.volatility == pytest.approx(base.volatility * leverage, rel=1e-6)
    assert scaled.psr == (None if base.psr is None else pytest.approx(base.psr, rel=1e-5, abs=1e-9))


@given(returns)
@settings(max_examples=60, deadline=None)
def test_order_of_days_moves_the_drawdown_only(daily: Any) -> None:
    base, turned = effectiveness.return_metrics(daily), effectiveness.return_metrics(daily[::-1])
    assert (base.sharpe is None) == (turned.sharpe is None)
    if base.sharpe is not None:
        assert turned.sharpe == pytest.approx(base.sharpe, rel=1e-6, abs=1e-9)
        assert -1 <= base.max_drawdown <= 0
        assert base.max_drawdown <= min(daily.min(), 0.0) + 1e-12


@given(returns, st.floats(0.001, 0.05))
@settings(max_examples=60, deadline=None)
def test_a_better_every_day_is_a_better_ratio(daily: Any, gain: float) -> None:
    base, better = sharpe.sharpe(daily), sharpe.sharpe(daily + gain)
    if base is not None and better is not None:
        assert better > base


def test_risk_adjusted_return_is_yield_over_the_spread_of_daily_money() -> None:
    assert effectiveness.risk_adjusted_return(6.0, [1.0, 3.0, 5.0]) == pytest.approx(3.0)
    assert effectiveness.risk_adjusted_return(6.0, [1.0]) is None
    assert effectiveness.risk_adjusted_return(6.0, [0.1] * 5) is None


# acting against doing nothing


def test_exactly_nothing_is_not_worse_than_inaction() -> None:
    assert effectiveness.inaction_superiority_rate([0.0, -1.0, 2.0, 0.0]) == 0.25
    assert effectiveness.inaction_superiority_rate([]) is None


def test_score_worked_by_hand() -> None:
    """W 6 of 8, PSR 0.7, G 2 of 3: 0.4 x 0.75 + 0.3 x 0.7 + 0.3 x 2/3 = 0.71."""
    got = effectiveness.effectiveness_score([5.0, 1.0, -2.0], 0.7, [1.5, 0.5, -1.0, 0.0])
    assert got.value == pytest.approx(0.71)
    assert got.parts == pytest.approx({"vs_inaction": 0.75, "psr": 0.7, "components": 2 / 3})


def test_missing_parts_drop_out_and_the_weights_rescale() -> None:
    assert effectiveness.effectiveness_score([3.0, -1.0], None, [1.0, -1.0]).value == pytest.approx(
        (0.4 * 0.75 + 0.3 * 0.5) / 0.7
    )
    assert effectiveness.effectiveness_score([], 0.2, [1.0]).value == pytest.approx((0.3 * 0.2 + 0.3) / 0.6)
    assert effectiveness.effectiveness_score([0.0], None, [1.0]).value is None
    assert effectiveness.effectiveness_score([], None, []).value is None


def test_a_trend_follower_is_not_punished_for_losing_often_and_little() -> None:
    """Nine small losses to inaction and one large win: the rate is 90 %, the score is not."""
    trades = [-1.0] * 9 + [41.0]
    assert effectiveness.inaction_superiority_rate(trades) == 0.9
    assert effectiveness.effectiveness_score(trades, 0.9, [41.0, -9.0]).value > 0.8


@given(amounts, st.none() | st.floats(0, 1), amounts, st.booleans())
@settings(max_examples=100, deadline=None)
def test_score_stays_between_its_parts_and_under_its_cap(
    vs_inaction: list[float], psr: Any, components: list[float], cap: bool
) -> None:
    got = effectiveness.effectiveness_score(vs_inaction, psr, components, cap=cap)
    if got.value is None:
        assert len(got.parts) < 2
        return
    free = effectiveness.effectiveness_score(vs_inaction, psr, components).value
    assert free is not None
    assert min(got.parts.values()) - 1e-12 <= free <= max(got.parts.values()) + 1e-12
    assert got.value == (min(free, 0.30) if cap else free)
    assert got.capped == (cap and free > 0.30)


@pytest.mark.parametrize(
    ("earlier", "later", "alarmed", "caps"),
    [
        ((4, 3, -5.0), (4, 3, -1.0), True, True),
        ((4, 3, -5.0), (4, 3, 1.0), True, False),
        ((4, 3, 0.0), (4, 3, -1.0), True, False),
        ((10, 7, -5.0), (10, 8, -5.0), False, False),  # exactly 70 % is not above it
        ((2, 2, -5.0), (4, 4, -5.0), False, False),
        ((3, 3, -5.0), (0, 0, 0.0), False, False),
        ((3, 3, -5.0), (3, 2, -5.0), False, False),
    ],
)
def test_two_bad_weeks_in_a_row_raise_the_alarm(
    earlier: tuple[int, int, float], later: tuple[int, int, float], alarmed: bool, caps: bool
) -> None:
    got = effectiveness.inaction_alarm(InactionWeek(*earlier), InactionWeek(*later))
    assert (got.alarmed, got.caps_score) == (alarmed, caps)


def test_luck_raises_the_alarm_in_one_of_ten_pairs_of_weeks_of_four() -> None:
    """More than 70 % of four is three or four: 5/16 a week, 25/256 twice."""
    assert effectiveness.chance_of_inferior_week(4) == pytest.approx(5 / 16)
    got = effectiveness.inaction_alarm(InactionWeek(4, 3, -1.0), InactionWeek(4, 4, -1.0))
    assert got.luck == pytest.approx(25 / 256)
    # no two in a row among 52 weeks, with q = 11/16: a_n = q a_(n-1) + 5/16 q a_(n-2), a_0 = a_1 = 1
    quiet = [1.0, 1.0]
    for _ in range(51):
        quiet.append(11 / 16 * (quiet[-1] + 5 / 16 * quiet[-2]))
    assert got.luck_in_a_year == pytest.approx(1 - quiet[52])
    assert round(got.luck_in_a_year, 3) == 0.985
    assert effectiveness.chance_of_inferior_week(0) == 0.0


def test_a_trend_follower_without_edge_is_alarmed_in_nearly_every_year() -> None:
    """Ten trades a week, 65 % of them lost: more than seven of ten in 26 weeks of 100, twice in a row in 96 years."""
    weeks = InactionWeek(10, 8, -1.0), InactionWeek(10, 8, -1.0)
    got = effectiveness.inaction_alarm(*weeks, inferior_rate=0.65)
    week = sum(math.comb(10, k) * 0.65**k * 0.35 ** (10 - k) for k in (8, 9, 10))
    assert got.luck == pytest.approx(week**2)
    source = np.random.default_rng(3)
    years = source.random((20_000, 52)) < week
    simulated = (years[:, 1:] & years[:, :-1]).any(axis=1).mean()
    assert got.luck_in_a_year == pytest.approx(simulated, abs=0.01)
    assert got.luck_in_a_year > 0.9
    assert effectiveness.inaction_alarm(InactionWeek(2, 2, -1.0), weeks[1]).luck_in_a_year == 0.0


@pytest.mark.parametrize("closed", [1, 3, 5, 10, 20, 57])
def test_chance_of_an_inferior_week_is_a_sum_of_binomials(closed: int) -> None:
    exact = sum(math.comb(closed, k) for k in range(closed + 1) if 10 * k > 7 * closed) / 2**closed
    assert effectiveness.chance_of_inferior_week(closed) == pytest.approx(exact, rel=1e-12)
