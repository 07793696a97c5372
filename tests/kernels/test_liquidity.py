"""Liquidity positions: amounts, value, impermanent loss and ticks, against published figures and 50-digit arithmetic."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels import liquidity
from tests.worlds.places import GOLDEN


def golden(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text())


LP = golden("lp_concentrated.json")["cases"]


@pytest.mark.parametrize("case", LP, ids=lambda case: case["name"])
def test_concentrated_liquidity_agrees_with_fifty_digit_arithmetic(case: Any) -> None:
    c = {key: float(v) for key, v in case.items() if key != "name" and v is not None}
    tolerance = 1e-12 * c["value_entry"]
    entry = liquidity.amounts(c["L"], c["p0"], c["pa"], c["pb"])
    leave = liquidity.amounts(c["L"], c["p1"], c["pa"], c["pb"])
    assert entry.x == pytest.approx(c["x0"], rel=1e-12, abs=tolerance / c["p0"])
    assert entry.y == pytest.approx(c["y0"], rel=1e-12, abs=tolerance)
    assert leave.x == pytest.approx(c["x1"], rel=1e-12, abs=tolerance / c["p0"])
    assert leave.y == pytest.approx(c["y1"], rel=1e-12, abs=tolerance)
    hold = liquidity.hold_value(*entry, c["p1"])
    lost = liquidity.impermanent_loss(c["L"], c["p0"], c["p1"], c["pa"], c["pb"])
    worth = liquidity.value(c["L"], c["p1"], c["pa"], c["pb"])
    assert worth == pytest.approx(c["value_exit"], rel=0, abs=tolerance)
    assert hold == pytest.approx(c["hold_value_exit"], rel=0, abs=tolerance)
    assert lost == pytest.approx(c["impermanent_loss"], rel=1e-9, abs=1e-3 * tolerance)
    assert -lost / hold == pytest.approx(c["il_fraction"], rel=1e-9, abs=1e-15)
    start = liquidity.value(c["L"], c["p0"], c["pa"], c["pb"])
    assert worth - start == pytest.approx(c["lp_price_pnl"], rel=0, abs=tolerance)
    from_bundle = liquidity.impermanent_loss_from_bundle(*entry, c["L"], c["p1"], c["pa"], c["pb"])
    assert from_bundle == pytest.approx(c["impermanent_loss"], rel=0, abs=tolerance)


def test_a_tiny_move_keeps_twelve_digits_of_its_tiny_loss() -> None:
    case = next(c for c in LP if c["name"] == "stable_pair_tiny_move")
    lost = liquidity.impermanent_loss(*(float(case[k]) for k in ("L", "p0", "p1", "pa", "pb")))
    assert lost == pytest.approx(float(case["impermanent_loss"]), rel=1e-9)


@pytest.mark.parametrize("case", golden("il_full_range.json")["cases"], ids=lambda case: f"k={case['k']}")
def test_full_range_loss_agrees_with_published_percentages(case: Any) -> None:
    lost = liquidity.full_range_loss(float(case["k"]))
    assert lost == pytest.approx(-float(case["il"]), rel=0, abs=1e-14)
    if case["published_pct_loss"] is not None:
        assert round(100 * float(lost), 1) == case["published_pct_loss"]


def test_a_range_from_zero_to_infinity_is_the_full_range() -> None:
    k = np.array([0.01, 0.5, 1.0, 2.0, 100.0])
    lost = liquidity.impermanent_loss(7.0, 30.0, 30.0 * k, 0.0, np.inf)
    hold_value = liquidity.hold_value(*liquidity.amounts(7.0, 30.0, 0.0, np.inf), 30.0 * k)
    assert lost / hold_value == pytest.approx(liquidity.full_range_loss(k), rel=1e-12, abs=1e-15)
    assert liquidity.value(7.0, 30.0, 0.0, np.inf) == pytest.approx(2 * 7.0 * math.sqrt(30.0))
    assert liquidity.liquidity_from_amounts(
        7 / math.sqrt(30.0), 7 * math.sqrt(30.0), 30.0, 0.0, np.inf
    ) == pytest.approx(7.0)


PUBLISHED = golden("lp_published_examples.json")


@pytest.mark.parametrize(
    "case", PUBLISHED["uniswap_v3_periphery_LiquidityAmounts_spec"], ids=lambda case: case["name"]
)
def test_liquidity_of_amounts_as_uniswaps_own_tests_print_it(case: Any) -> None:
    price, lower, upper = (a / b for a, b in (case["price"], case["lower"], case["upper"]))
    got = liquidity.liquidity_from_amounts(case["amount0"], case["amount1"], price, lower, upper)
    assert math.floor(got) == case["liquidity_expected_by_uniswap"]


def test_the_uniswap_development_book_example() -> None:
    book = PUBLISHED["uniswap_v3_development_book"]
    size = liquidity.liquidity_from_amounts(1, 5000, book["p"], book["pa"], book["pb"])
    assert size * 1e18 == pytest.approx(float(book["liquidity_mpmath"]), rel=1e-14)
    assert size * 1e18 == pytest.approx(float(book["liquidity_published"]), rel=1e-12)
    used = liquidity.amounts(size, book["p"], book["pa"], book["pb"])
    assert used.x == pytest.approx(float(book["amount0_mpmath"]), rel=1e-13)
    assert used.y == pytest.approx(5000, rel=1e-14)


def test_three_worked_examples_of_elsts() -> None:
    first, second, third = PUBLISHED["elsts_liquidity_math_in_uniswap_v3"]
    size = liquidity.liquidity_from_amounts(2, np.inf, 2000, 1500, 2500)
    assert liquidity.amounts(size, 2000, 1500, 2500).y == pytest.approx(float(first["mpmath"]), rel=1e-14)
    size = liquidity.liquidity_from_amounts(2, np.inf, 2000, 1000, 3000)
    lower = float(math.sqrt(2000) - 4000 / size) ** 2
    assert lower == pytest.approx(float(second["mpmath"]), rel=1e-13)
    later, expected = liquidity.amounts(size, 2500, lower, 3000), third["mpmath"]
    assert later.x == pytest.approx(float(expected["x"]), rel=1e-13)
    assert later.y == pytest.approx(float(expected["y"]), rel=1e-13)
    assert later.x - 2 == pytest.approx(float(expected["dx"]), rel=1e-12)
    assert later.y - 4000 == pytest.approx(float(expected["dy"]), rel=1e-12)


TICKS = golden("tick_math.json")


@pytest.mark.parametrize("case", TICKS["cases"], ids=lambda case: f"tick {case['tick']}")
def test_ticks_give_the_contracts_root_price_to_the_last_bit(case: Any) -> None:
    root = liquidity.tick_sqrt_price_x96(case["tick"])
    assert root == int(case["sqrt_price_x96"])
    assert liquidity.tick_price(case["tick"]) == pytest.approx(float(case["price"]), rel=1e-13)
    coarse = 1e-9 if case["tick"] < -500_000 else 1e-13  # 2^96 leaves few digits to the least prices
    assert liquidity.sqrt_price_x96_price(root) == pytest.approx(float(case["price"]), rel=coarse)


def test_the_bounds_of_the_pool_contracts() -> None:
    bounds = TICKS["boundaries_known_from_uniswap_v3_core"]
    assert bounds["MIN_TICK"] == -liquidity.MAX_TICK
    assert liquidity.tick_sqrt_price_x96(-liquidity.MAX_TICK) == int(bounds["MIN_SQRT_RATIO"])
    # the pool contracts' published maximum
    greatest = 1461446703485210103287273052203988822378723970342
    assert liquidity.tick_sqrt_price_x96(liquidity.MAX_TICK) == greatest
    for tick in (liquidity.MAX_TICK + 1, -liquidity.MAX_TICK - 1):
        with pytest.raises(ValueError, match="beyond"):
            liquidity.tick_sqrt_price_x96(tick)


@given(st.integers(-887272, 887272), st.integers(0, 18), st.integers(0, 18))
@settings(deadline=None, max_examples=200)
def test_a_ticks_price_leads_back_to_the_tick(tick: int, decimals0: int, decimals1: int) -> None:
    price = float(liquidity.tick_price(tick, decimals0, decimals1))
    assert liquidity.price_tick(price, decimals0, decimals1) == tick
    assert liquidity.price_tick(price * 1.00005, decimals0, decimals1) == tick
    assert liquidity.price_tick(price / 1.00005, decimals0, decimals1) == tick - 1


def test_decimals_turn_raw_prices_into_human_ones() -> None:
    """WETH (18 decimals) in USDC (6): the raw price is 1e-12 of the human one."""
    assert liquidity.tick_price(-200_000, 18, 6) == pytest.approx(liquidity.tick_price(-200_000) * 1e12)
    root = liquidity.tick_sqrt_price_x96(-200_000)
    assert liquidity.sqrt_price_x96_price(root, 18, 6) == pytest.approx(liquidity.tick_price(-200_000, 18, 6))


def test_fee_growth_counters_wrap_around() -> None:
    """The counter is modulo 2^256, so 'after' may be the smaller number."""
    top = liquidity.Q256 - 5 * liquidity.Q128
    assert liquidity.fees_owed(10, top, 2 * liquidity.Q128) == 70
    assert liquidity.fees_owed(10, 3 * liquidity.Q128, 3 * liquidity.Q128) == 0


ranges = st.tuples(st.floats(1e-6, 1e6), st.floats(1.0001, 100)).map(lambda r: (r[0], r[0] * r[1]))
price_near = st.floats(0.01, 100)
sizes = st.floats(1e-3, 1e9)


@given(sizes, ranges, price_near, price_near)
@settings(deadline=None, max_examples=200)
def test_impermanent_loss_is_never_a_gain_and_is_hold_less_value(
    size: float, span: Any, at_entry: float, later: float
) -> None:
    lower, upper = span
    p0, p1 = lower * at_entry, lower * later
    lost = liquidity.impermanent_loss(size, p0, p1, lower, upper)
    bundle = liquidity.amounts(size, p0, lower, upper)
    naive = liquidity.impermanent_loss_from_bundle(*bundle, size, p1, lower, upper)
    assert lost >= 0
    assert lost == pytest.approx(naive, rel=1e-9, abs=1e-11 * float(liquidity.hold_value(*bundle, p1)))
    assert liquidity.impermanent_loss(size, p0, p0, lower, upper) == 0


@given(sizes, ranges, price_near, price_near)
@settings(deadline=None, max_examples=100)
def test_entered_outside_the_range_nothing_is_lost_until_it_is_touched(
    size: float, span: Any, entry_distance: float, exit_distance: float
) -> None:
    lower, upper = span
    above = upper * (1 + entry_distance), upper * (1 + exit_distance)
    below = lower / (1 + entry_distance), lower / (1 + exit_distance)
    assert liquidity.impermanent_loss(size, *above, lower, upper) == 0
    assert liquidity.impermanent_loss(size, *below, lower, upper) == 0
    assert liquidity.impermanent_loss(size, above[0], below[0], lower, upper) > 0


@given(sizes, ranges, price_near)
@settings(deadline=None, max_examples=100)
def test_amounts_and_liquidity_are_each_others_inverse(size: float, span: Any, at: float) -> None:
    lower, upper = span
    price = lower * at
    x, y = liquidity.amounts(size, price, lower, upper)
    assert liquidity.liquidity_from_amounts(x, y, price, lower, upper) == pytest.approx(size, rel=1e-9)


@given(sizes, ranges, price_near, price_near, st.floats(0, 1))
@settings(deadline=None, max_examples=100)
def test_removing_a_fraction_scales_everything_and_periods_add_up(
    size: float, span: Any, at_entry: float, later: float, part: float
) -> None:
    lower, upper = span
    p0, p1 = lower * at_entry, lower * later
    whole = liquidity.impermanent_loss(size, p0, p1, lower, upper)
    pieces = [liquidity.impermanent_loss(size * f, p0, p1, lower, upper) for f in (part, 1 - part)]
    assert sum(pieces) == pytest.approx(whole, rel=1e-9, abs=1e-300)


@given(sizes, ranges, price_near, price_near)
@settings(deadline=None, max_examples=100)
def test_swapping_the_tokens_changes_no_value(size: float, span: Any, at_entry: float, later: float) -> None:
    """The same pool quoted the other way round: amounts change places, value is measured in the other token."""
    lower, upper = span
    p0, p1 = lower * at_entry, lower * later
    x, y = liquidity.amounts(size, p1, lower, upper)
    mirrored = liquidity.amounts(size, 1 / p1, 1 / upper, 1 / lower)
    scale = float(liquidity.value(size, p1, lower, upper))
    assert mirrored.y == pytest.approx(x, rel=1e-9, abs=1e-12 * scale / p1)
    assert mirrored.x == pytest.approx(y, rel=1e-9, abs=1e-12 * scale)
    lost = liquidity.impermanent_loss(size, 1 / p0, 1 / p1, 1 / upper, 1 / lower) * p1
    straight = liquidity.impermanent_loss(size, p0, p1, lower, upper)
    assert lost == pytest.approx(straight, rel=1e-6, abs=1e-11 * scale)


@given(sizes, ranges, price_near, price_near, st.floats(0, 1e3), st.floats(0, 1e2))
@settings(deadline=None, max_examples=100)
def test_an_lps_vs_hold_is_fees_less_impermanent_loss_less_gas(
    size: float, span: Any, at_entry: float, later: float, fees: float, gas: float
) -> None:
    lower, upper = span
    p0, p1 = lower * at_entry, lower * later
    bundle = [float(v) for v in liquidity.amounts(size, p0, lower, upper)]
    final_pnl = (
        float(liquidity.value(size, p1, lower, upper) - liquidity.value(size, p0, lower, upper)) + fees - gas
    )
    lost = float(liquidity.impermanent_loss(size, p0, p1, lower, upper))
    vs_hold = final_pnl - bundle[0] * (p1 - p0)
    scale = max(1.0, *(q * p for q, p in zip(bundle, (max(p0, p1), 1.0), strict=True)))
    assert vs_hold == pytest.approx(fees - lost - gas, rel=0, abs=1e-10 * scale)
