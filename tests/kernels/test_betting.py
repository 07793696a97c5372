"""Bets against rules and for them: golden values, the laws of E, bounds, choosing among many, Bernoulli."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels import betting
from retro.kernels.betting import STAKES, Bounds, WeekGrid, e_value
from tests.worlds.places import GOLDEN

CONFSEQ = json.loads((GOLDEN / "betting.json").read_text())
H7 = [2.10, -4.80, -3.60]
TWELVE = [-1, -2, -3, 1, -2, -1, -4, 2, -1, -3, -2, -1]

weeks_of_money = st.lists(st.floats(-50, 50).map(lambda x: round(x, 3)), min_size=1, max_size=30).filter(any)
scales = st.floats(0.5, 40)


def grid_of(*rows: list[float]) -> WeekGrid:
    sums = np.array(rows, dtype=np.float64)
    return WeekGrid(0, sums, (sums != 0).astype(np.int64))


def grid_from(pieces: list[tuple[int, int, float, int]], rows: int, last: int) -> WeekGrid:
    """A grid up to the week `last` of pieces (row, week, change, outcomes resolved), added up."""
    first = min((week for _, week, _, _ in pieces), default=last)
    sums, outcomes = np.zeros((rows, last - first + 1)), np.zeros((rows, last - first + 1), np.int64)
    for row, week, change, resolved in pieces:
        sums[row, week - first] += change
        outcomes[row, week - first] += resolved
    return WeekGrid(first, sums, outcomes)


def bound_of(grid: WeekGrid, *sizes: float) -> Bounds:
    """Bounds fixed in each row's first week of money, as if thirteen weeks of the role had come before."""
    column = np.where((grid.sums != 0).any(axis=1), (grid.sums != 0).argmax(axis=1), -1)
    return Bounds(np.where(column >= 0, np.array(sizes), np.nan), column, 13)


def es(x: list[float], size: float) -> tuple[float, float]:
    """E against and E for at the end of the weeks x."""
    grid = grid_of(x)
    got = betting.wealth(grid, bound_of(grid, size))
    return float(e_value(got.log_against[0, -1])), float(e_value(got.log_for[0, -1]))


def slow_e(x: list[float], size: float) -> float:
    """E against, written out."""
    return float(sum(math.prod(1 - c * min(value, size) / size for value in x) for c in STAKES.tolist()) / 7)


# golden values


@pytest.mark.parametrize(
    ("x", "size", "against"),
    [
        (H7, 5, 1.484868),
        (H7, 15, 1.182969),
        (H7, 25, 1.110876),
        ([-2.10] * 20, 25, 2.370151),
        ([-2.0] * 10, 5, 8.424689),
        ([-2.0] * 10, 15, 1.914672),
        (TWELVE, 5, 4.759469),
        (TWELVE, 15, 1.688785),
    ],
)
def test_the_wealth_of_who_bets_against_a_rule(x: list[float], size: float, against: float) -> None:
    assert es(x, size)[0] == pytest.approx(against, abs=5e-7)


def test_one_lost_bound_is_worth_the_average_stake() -> None:
    """A week at -B: each gambler gains his stake, 3.1 / 7 of 1 on average; at +B each loses it; beyond +B no more."""
    assert es([-5.0], 5) == pytest.approx((1 + 3.1 / 7, 1 - 3.1 / 7))
    assert es([5.0], 5) == pytest.approx((1 - 3.1 / 7, 1 + 3.1 / 7))
    assert es([500.0], 5)[0] == pytest.approx(1 - 3.1 / 7)
    assert es([-10.0], 5) == pytest.approx((1 + 2 * 3.1 / 7, 1 - 3.1 / 7))


@pytest.mark.parametrize("case", CONFSEQ, ids=lambda case: f"{case['shape']}-{len(case['x'])}")
def test_the_wealth_is_that_of_confseq_week_by_week(case: dict[str, Any]) -> None:
    grid = grid_of(case["x"])
    got = betting.wealth(grid, bound_of(grid, case["bound"]))
    weeks = [*range(0, len(case["x"]), 6), -1]
    assert e_value(got.log_against[0, weeks]).tolist() == pytest.approx(case["e_against"], rel=1e-12)
    assert e_value(got.log_for[0, weeks]).tolist() == pytest.approx(case["e_for"], rel=1e-12)


# laws


@given(weeks_of_money, scales, st.randoms())
@settings(max_examples=80, deadline=None)
def test_the_order_of_weeks_does_not_matter(x: list[float], size: float, shuffle: random.Random) -> None:
    mixed = x.copy()
    shuffle.shuffle(mixed)
    assert es(mixed, size) == pytest.approx(es(x, size), rel=1e-12)
    assert es(x, size)[0] == pytest.approx(slow_e(x, size), rel=1e-12)


@given(weeks_of_money, scales, st.integers(0, 30))
@settings(max_examples=80, deadline=None)
def test_later_weeks_leave_the_bytes_of_those_before_them(x: list[float], size: float, at: int) -> None:
    """What was said at a week's end is what a longer life says of that week; the last week alone says the same."""
    whole, split = grid_of(x), at % len(x) + 1
    part = WeekGrid(0, whole.sums[:, :split], whole.outcomes[:, :split])
    bound = bound_of(whole, size)
    if not part.sums.any():
        return
    long, short = betting.wealth(whole, bound), betting.wealth(part, bound)
    for of_long, of_short, now in zip(
        (long.log_against, long.log_for),
        (short.log_against, short.log_for),
        betting.wealth_now(part, bound),
        strict=True,
    ):
        assert of_long[:, :split].tobytes() == of_short.tobytes()
        assert of_short[:, -1].tobytes() == now.tobytes()


@given(weeks_of_money, weeks_of_money, scales)
@settings(max_examples=80, deadline=None)
def test_a_rule_does_not_depend_on_the_rules_beside_it(x: list[float], y: list[float], size: float) -> None:
    width = max(len(x), len(y)) + 3
    alone = grid_of(x)
    both = grid_of([0.0] * (width - len(x)) + x, [0.0] * (width - len(y)) + y)
    a = betting.wealth(alone, bound_of(alone, size))
    b = betting.wealth(both, bound_of(both, size, 2 * size))
    assert a.log_against.tobytes() == b.log_against[0, -len(x) :].tobytes()
    assert a.log_for.tobytes() == b.log_for[0, -len(x) :].tobytes()


@given(weeks_of_money, scales)
@settings(max_examples=80, deadline=None)
def test_the_unit_of_money_changes_nothing(x: list[float], size: float) -> None:
    assert es([8 * value for value in x], 8 * size) == es(x, size)
    assert es([0.3 * value for value in x], 0.3 * size) == pytest.approx(es(x, size), rel=1e-12)


@given(weeks_of_money, scales, st.integers(0, 29), st.floats(0, 20))
@settings(max_examples=80, deadline=None)
def test_a_worse_week_never_helps_a_rule(x: list[float], size: float, at: int, loss: float) -> None:
    worse = x.copy()
    worse[at % len(x)] -= loss
    if not any(worse):
        return
    assert es(worse, size)[0] >= es(x, size)[0] * (1 - 1e-12)
    assert es(worse, size)[1] <= es(x, size)[1] * (1 + 1e-12)


@given(weeks_of_money, scales)
@settings(max_examples=80, deadline=None)
def test_e_against_of_x_is_e_for_of_minus_x_and_never_negative(x: list[float], size: float) -> None:
    assert es([-value for value in x], size) == es(x, size)[::-1]
    assert all(0 <= e <= 1e300 for e in es(x, size))


def test_wealth_beyond_all_measure_is_told_as_the_largest() -> None:
    assert es([-1e40] * 30, 1.0)[0] == pytest.approx(1e300)
    assert 0 <= es([1e40] * 3000, 1.0)[0] < 1e-60


Shape = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
SHAPES: dict[str, Shape] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "t3": lambda rng, size: rng.standard_t(3, size),
    "lottery": lambda rng, size: np.where(rng.random(size) < 0.1, rng.exponential(9.0, size), -1.0),
    "stops": lambda rng, size: np.where(rng.random(size) < 0.9, 1.0, -9.0),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weeks", [10, 50, 200])
def test_nobody_gains_by_betting_against_what_is_worth_nothing(shape: str, weeks: int) -> None:
    """Of money that is clipped, then centred, with a bound it cannot exceed, mean E is 1: at most 1 + 3 standard errors."""
    rng, size = np.random.default_rng(weeks), 4.0
    centre = np.minimum(SHAPES[shape](rng, (400_000,)), size).mean()
    x = np.minimum(SHAPES[shape](rng, (10_000, weeks)), size) - centre
    got = np.exp(betting.log_wealth(betting.log_factors(x, size - centre).sum(axis=1)))
    assert got.mean() <= 1 + 3 * got.std() / 100 + 0.01 * weeks / 200  # the centre is itself an estimate


# bounds


def test_a_bound_is_three_root_mean_squares_of_the_thirteen_sums_before_the_week() -> None:
    """Twelve sums of 2 lie before week 30, the thirteenth before week 31; the rule holds nothing in week 31."""
    grid = grid_from([(0, 29, 1.0, 1), (0, 30, -2.0, 1), (0, 32, -4.0, 1), (0, 33, 3.0, 1)], 1, 34)
    week, value = [*range(10, 22), 30, 32], [2.0] * 12 + [-4.0, 100.0]
    got = betting.bounds(grid, week, value)
    assert grid.first == 29
    assert got.column.tolist() == [3]
    assert got.size.tolist() == pytest.approx([3 * math.sqrt((12 * 4 + 16) / 13)])
    assert got.pool == 14
    wealth = betting.wealth(grid, got)
    assert wealth.bets.tolist() == [[0, 0, 0, 1, 2, 2]]
    assert np.isnan(wealth.log_against[0]).tolist() == [True, True, True, False, False, False]
    assert e_value(wealth.log_against[0, 5]) == pytest.approx(slow_e([-4.0, 3.0], got.size[0]))


def test_a_pool_of_twelve_or_of_nothing_fixes_no_bound() -> None:
    grid = grid_from([(0, 20, -1.0, 1), (0, 21, -1.0, 1)], 1, 21)
    twelve = betting.bounds(grid, [*range(8, 20)], [1.0] * 12)
    assert twelve.column.tolist() == [-1]
    assert np.isnan(twelve.size).all()
    assert twelve.pool == 12
    flat = betting.bounds(grid, [*range(7, 20), 20], [0.0] * 13 + [2.0])
    assert flat.column.tolist() == [1]  # week 21: the pool that is nothing but 0 has a 2 by then
    assert flat.size.tolist() == pytest.approx([3 * math.sqrt(4 / 14)])


def test_a_week_without_a_change_fixes_no_bound_and_is_no_bet() -> None:
    grid = grid_from([(0, 20, 0.0, 0), (0, 21, 5.0, 0), (0, 21, -5.0, 1), (0, 22, 1.0, 1)], 1, 23)
    got = betting.bounds(grid, [0] * 13, [1.0] * 13)
    assert got.column.tolist() == [2]
    assert betting.bet_weeks(grid, got).tolist() == [[False, False, True, False]]
    assert grid.outcomes.tolist() == [[0, 1, 1, 0]]


@given(st.lists(st.tuples(st.integers(0, 30), st.floats(-9, 9)), max_size=60), st.randoms())
@settings(max_examples=60, deadline=None)
def test_bounds_by_the_slow_way_in_any_order(pool: list[tuple[int, float]], shuffle: random.Random) -> None:
    grid = grid_from([(r, w, 1.0, 1) for r in range(4) for w in range(5 + 3 * r, 31, r + 1)], 4, 30)
    got = betting.bounds(grid, [w for w, _ in pool], [x for _, x in pool])
    for row in range(4):
        expected = math.nan, -1
        for week in range(5 + 3 * row, 31, row + 1):
            before = [x for w, x in pool if w < week]
            rms = math.sqrt(math.fsum(x * x for x in before) / len(before)) if len(before) >= 13 else 0
            if rms > 0:
                expected = 3 * rms, week - grid.first
                break
        assert got.column[row] == expected[1]
        assert got.size[row] == pytest.approx(expected[0], nan_ok=True)
    mixed = pool.copy()
    shuffle.shuffle(mixed)
    again = betting.bounds(grid, [w for w, _ in mixed], [x for _, x in mixed])
    assert again.size.tobytes() == got.size.tobytes()


def test_nothing_told_is_a_grid_of_nothing() -> None:
    grid = grid_from([], 2, 40)
    assert (grid.first, grid.sums.tolist()) == (40, [[0.0], [0.0]])
    got = betting.wealth(grid, betting.bounds(grid, [], []))
    assert np.isnan(got.log_against).all()
    assert np.isnan(betting.anytime_p(got.log_for)).all()
    assert betting.grades([], [], [], []) == []


def test_the_anytime_p_remembers_the_largest_wealth() -> None:
    log_e = np.array([[math.nan, math.log(0.5), math.log(8), math.log(2)]])
    assert betting.anytime_p(log_e)[0, 1:].tolist() == pytest.approx([1, 1 / 8, 1 / 8])
    assert np.isnan(betting.anytime_p(log_e)[0, 0])


# many rules


def test_e_benjamini_hochberg_golden() -> None:
    assert betting.e_benjamini_hochberg([60, 30, 7, 1.5, 0.9], 5).tolist() == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert not betting.e_benjamini_hochberg([40, 12, 7, 1.5, 0.9], 5).any()
    assert betting.e_benjamini_hochberg([9.9], 1).tolist() == [False]
    assert betting.e_benjamini_hochberg([10.0], 1).tolist() == [True]


@given(st.lists(st.one_of(st.floats(0, 200), st.just(math.nan)), max_size=12), st.integers(0, 5))
@settings(max_examples=100, deadline=None)
def test_e_benjamini_hochberg_by_its_definition(e: list[float], beside: int) -> None:
    """Candidates are told by a number; rows beside them make the family larger and are never chosen."""
    candidates = sorted((x for x in e if not math.isnan(x)), reverse=True)
    m = len(candidates) + beside
    last = max((k for k, x in enumerate(candidates, 1) if x >= m / (0.10 * k)), default=0)
    got = betting.e_benjamini_hochberg(e, m)
    assert got.tolist() == [last > 0 and x >= candidates[last - 1] for x in e]
    looks = betting.e_benjamini_hochberg(np.array([e, e]).T, np.array([m, m]))
    assert looks.T.tolist() == [got.tolist()] * 2


def test_evidence_is_named_by_direction_outcomes_and_the_family() -> None:
    rows = [  # outcomes, average, E against, E for, word
        (2, -3.0, 900.0, 0.1, "none"),
        (30, -3.0, math.nan, math.nan, "none"),
        (30, -3.0, 900.0, 0.1, "supported"),
        (9, -3.0, 900.0, 0.1, "suggestive"),
        (30, -3.0, 12.0, 0.1, "suggestive"),
        (30, 3.0, 900.0, 9.9, "weak"),
        (30, 0.0, 900.0, 900.0, "weak"),
        (30, 3.0, 0.1, 80.0, "supported"),
    ]
    n, average, against, in_favour, words = zip(*rows, strict=True)
    assert betting.grades(n, average, against, in_favour) == list(words)
    # with a neighbour that has no bound, seven of eight stand in the family: 70 to 1 is needed of the only one for it
    assert betting.grades(n, average, against, [*in_favour[:-1], 69.0])[-1] == "suggestive"


# stated confidences


@pytest.mark.parametrize(
    ("wins", "losses", "stated", "e"),
    [(3, 12, 0.6, 37.904867), (14, 16, 0.6, 0.659066), (6, 2, 0.5, 1.015873), (0, 30, 0.1, 0.760962)],
)
def test_bernoulli_golden(wins: int, losses: int, stated: float, e: float) -> None:
    assert betting.bernoulli_e(wins, losses, stated) == pytest.approx(e, abs=5e-7)


def test_a_certainty_is_clipped_before_it_is_tested() -> None:
    assert betting.bernoulli_e(0, 1, 1.0) == betting.bernoulli_e(0, 1, 0.99) == pytest.approx(50.0)
    assert betting.bernoulli_e(1, 0, 0.0) == pytest.approx(50.0)
    assert betting.bernoulli_e(0, 0, 1.0) == 1.0
    assert betting.bernoulli_e(0, 10**6, 1.0) == pytest.approx(1e300)


@given(st.integers(1, 12), st.floats(0.01, 0.99))
@settings(max_examples=60, deadline=None)
def test_a_true_confidence_has_a_mean_e_of_one(n: int, p: float) -> None:
    chances = [math.comb(n, w) * p**w * (1 - p) ** (n - w) for w in range(n + 1)]
    mean = math.fsum(q * betting.bernoulli_e(w, n - w, p) for w, q in enumerate(chances))
    assert mean == pytest.approx(1.0, rel=1e-9)
