"""Regret: golden positions, the seed's figure, the walk of luck, and laws."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from retro.kernels import regret, series
from retro.kernels.regret import INSUFFICIENT
from retro.kernels.series import DAY, HOUR, IntArray, Marks
from retro.kernels.trajectory import Positions
from tests.worlds.places import GOLDEN as GOLDEN_DIR

GOLDEN = json.loads((GOLDEN_DIR / "trajectory_regret.json").read_text())["positions"]
MINUTE = HOUR // 60

# numbers.md section 2 reports no regret in these rows, the file does: nothing inside, or fresh for under half the life
NO_MARK_INSIDE = {2, 13}
COVERED_BELOW_HALF = {2, 8, 11, 14, 17}


def instants(*values: float) -> IntArray:
    return np.array(values, dtype=np.int64)


def single(marks: Marks, p: Positions, i: int, final_pnl: float, exit_costs: float) -> Any:
    """One row of a batch through the single-position functions."""
    t = marks.times(p.instrument[i])
    entry, leave = int(p.entry[i]), int(p.exit[i])
    gap = series.median_gap(t, entry - DAY, leave)
    within = (t > entry) & (t < leave)
    gross = p.quantity[i] * marks.prices(p.instrument[i]) + p.cash[i]
    candidates = regret.ExitCandidates(
        t[within],
        gross[within],
        exit_at=leave,
        final_pnl=float(final_pnl),
        notional=float(p.notional[i]),
        entry_costs=float(p.costs[i]),
        exit_costs=float(exit_costs),
    )
    return regret.regret(candidates, series.coverage(t, entry, leave, gap))


def golden_position(case: dict[str, Any]) -> tuple[Marks, Positions]:
    """Ticks are minutes here; the file knows no entry costs."""
    marks = series.bundle([(np.array(case["marks_t"]) * MINUTE, case["marks_p"])])
    columns = (case["entry"] * MINUTE, case["exit"] * MINUTE, case["qty"], case["entry_mark"], 0.0)
    return marks, Positions.filled(instants(0), *(np.array([c]) for c in columns))


@pytest.mark.parametrize("k", range(len(GOLDEN)))
def test_regret_agrees_with_pandas_where_there_are_enough_marks(k: int) -> None:
    case = GOLDEN[k]
    marks, p = golden_position(case)
    final, costs = np.array([case["final_net"]]), np.array([case["exit_cost"]])
    for got in (single(marks, p, 0, final[0], costs[0]), regret.regrets(marks, p, final, costs).row(0)):
        assert got.mfe == pytest.approx(case["mfe"], abs=1e-9)
        assert got.mae == pytest.approx(case["mae"], abs=1e-9)
        if k in NO_MARK_INSIDE | COVERED_BELOW_HALF:
            assert got.regret is got.regret_ratio is got.optimal_exit_at is got.optimal_exit_pnl is None
            assert got.reasons["regret"] == INSUFFICIENT
        else:
            assert got.regret == pytest.approx(case["regret"], abs=1e-9)
            assert got.optimal_exit_at == case["optimal_exit_tick"] * MINUTE
            assert got.optimal_exit_pnl == pytest.approx(case["optimal_exit_pnl_net"], abs=1e-9)


def test_the_rows_left_out_are_those_numbers_md_excludes() -> None:
    marks_inside = {k for k, case in enumerate(GOLDEN) if case["interior_marks"] == 0}
    thin = set()
    for k, case in enumerate(GOLDEN):
        t = np.array(case["marks_t"])
        gap = series.median_gap(t, case["entry"] - DAY // MINUTE, case["exit"])
        if series.coverage(t, case["entry"], case["exit"], gap) < 0.5:
            thin.add(k)
    assert (marks_inside, thin) == (NO_MARK_INSIDE, COVERED_BELOW_HALF)


def path(
    at: Sequence[int],
    gross: Sequence[float],
    exit_at: int,
    final_pnl: float,
    *,
    coverage: float = 1.0,
    notional: float = 100.0,
    **costs: Any,
) -> Any:
    candidates = regret.ExitCandidates(
        instants(*at), np.array(gross, float), exit_at, final_pnl, notional, **costs
    )
    return regret.regret(candidates, coverage)


def test_the_seeds_position_regrets_seven_dollars() -> None:
    """Seed 004: peak +2.80 at day 2.5, exit at day 7.2 with -4.20."""
    at = [int(d * DAY) for d in (1, 2, 2.5, 3, 4, 6)]
    got = path(at, [1.0, 2.1, 2.8, 1.6, -0.9, -3.1], int(7.2 * DAY), -4.2)
    assert got.regret == pytest.approx(7.00, abs=1e-12)
    assert got.optimal_exit_at == int(2.5 * DAY)
    assert got.optimal_exit_pnl == pytest.approx(2.80)
    assert (got.mfe, got.mae) == (2.8, -4.2)
    assert (got.mfe_at, got.mae_at) == (int(2.5 * DAY), int(7.2 * DAY))


NULL = json.loads((GOLDEN_DIR / "regret_null.json").read_text())["cases"]


@pytest.mark.parametrize("case", NULL, ids=lambda case: f"{case['steps']} steps")
def test_expected_regret_of_a_driftless_walk_is_spitzers(case: Any) -> None:
    """The file counts steps after the start, which is its first candidate; n candidates have n - 1 steps between them."""
    got = regret.driftless_regret(case["sigma_step"], case["steps"] + 1)
    assert got == pytest.approx(case["exact_spitzer"], rel=1e-12)
    assert regret.driftless_regret(1.0, 1) == 0


def test_the_ratio_of_driftless_walks_averages_one() -> None:
    """The definition checked end to end: entry fees, gross steps, the exit a candidate at a fixed time."""
    rng = np.random.default_rng(5)
    at = list(range(1, 24))
    ratios = []
    for _ in range(3000):
        walk = -0.3 + np.cumsum(rng.standard_normal(24))
        got = path(at, walk[:-1].tolist(), 24, walk[-1] - 0.2, entry_costs=0.3, exit_costs=0.2)
        ratios.append(got.regret_ratio)
    assert np.mean(ratios) == pytest.approx(1.0, abs=5 * np.std(ratios) / math.sqrt(3000))


def test_the_ratio_by_hand() -> None:
    """Entry fee 1, gross 1 then 3, exit at gross 2: steps 2, 2, -1, so s^2 = 3; regret 1."""
    got = path([1, 2], [1.0, 3.0], 3, 1.5, entry_costs=1.0, exit_costs=0.5)
    expected = math.sqrt(3) * (1 / math.sqrt(2 * math.pi) + 1 / math.sqrt(4 * math.pi))
    assert got.regret == 1.0
    assert got.regret_ratio == pytest.approx(1.0 / expected, rel=1e-12)
    assert got.optimal_exit_pnl == 2.5


def test_a_path_that_never_moves_has_regret_zero_and_no_ratio() -> None:
    got = path([1, 2, 3], [0.0, 0.0, 0.0], 4, 0.0)
    assert got.regret == 0
    assert got.regret_ratio is None
    assert got.reasons["regret_ratio"]
    assert got.optimal_exit_at == 1
    assert (got.mfe, got.mae, got.mfe_at, got.mae_at) == (0, 0, None, None)


def test_without_a_mark_inside_the_exit_is_the_only_excursion() -> None:
    got = path([], [], 5, 2.0, exit_costs=0.5)
    assert (got.mfe, got.mae, got.mfe_at, got.mae_at) == (2.5, 0.0, 5, None)
    assert got.regret is None
    assert got.reasons == dict.fromkeys(
        ("regret", "regret_ratio", "optimal_exit_at", "optimal_exit_pnl"), INSUFFICIENT
    )


@pytest.mark.parametrize(("coverage", "judged"), [(0.5, True), (0.499999, False)])
def test_half_a_life_covered_is_enough(coverage: float, judged: bool) -> None:
    assert (path([1], [1.0], 2, 0.0, coverage=coverage).regret is not None) is judged


@pytest.mark.parametrize(
    ("gross", "final", "notional", "best_at"),
    [
        ([1.0, 3.0, 3.0], 3.0, 1.0, 2),  # equal to the exit: the earlier mark
        ([1.0, 3.0 - 0.9e-9, 3.0], 3.0, 1.0, 2),  # within 1e-9
        ([1.0, 3.0 - 1.1e-9, 3.0], 3.0, 1.0, 3),  # beyond it
        ([1.0, 3.0 - 0.9e-6, 3.0], 3.0, 1000.0, 2),  # the tolerance grows with the notional
        ([1.0, 2.0, 3.0 - 0.9e-9], 3.0, 1.0, 3),  # a mark within reach of the exit
        ([1.0, 2.0, 3.0 - 1.1e-9], 3.0, 1.0, 4),  # the exit alone
    ],
)
def test_the_earliest_of_near_equals_is_the_optimal_exit(
    gross: list[float], final: float, notional: float, best_at: int
) -> None:
    got = path([1, 2, 3], gross, 4, final, notional=notional)
    assert got.optimal_exit_at == best_at
    assert got.regret == 0
    p = Positions.filled(
        instants(0), instants(0), instants(4), np.array([1.0]), np.array([notional]), np.array([0.0])
    )
    marks = series.bundle([([0, 1, 2, 3], [notional, *(notional + g for g in gross)])])
    if notional == 1.0:  # 1000 + 3 - 1e-9 is not exact enough to stand on one side of the tolerance
        assert regret.regrets(marks, p, np.array([final]), np.array([0.0])).row(0).optimal_exit_at == best_at


def random_lives(seed: int, n: int = 15, grid: float | None = None) -> Any:
    rng = np.random.default_rng(seed)
    parts = []
    for size in (0, 1, 40, 400):
        walk = 100 + np.cumsum(rng.standard_normal(size))
        t = np.sort(rng.choice(1000, size, replace=False)) * MINUTE
        parts.append((t, walk if grid is None else np.round(walk / grid) * grid))
    entry = rng.integers(-20, 950, n) * MINUTE
    quantity = rng.choice([-1.0, 1.0], n) * rng.uniform(0.1, 9, n)
    durations = rng.integers(0, 600, n) * MINUTE
    p = Positions.filled(
        rng.integers(0, 4, n),
        entry,
        entry + durations,
        quantity,
        rng.uniform(95, 105, n),
        rng.uniform(0, 1, n),
    )
    costs = rng.uniform(0, 1, n)
    return series.bundle(parts), p, quantity * rng.normal(0, 5, n) - p.costs - costs, costs


def assert_same(got: Any, wanted: Any) -> None:
    for name in got.__dataclass_fields__:
        a, b = getattr(got, name), getattr(wanted, name)
        if isinstance(b, float):
            assert a == pytest.approx(b, rel=1e-9, abs=1e-9), name
        else:
            assert a == b, name


@given(st.integers(0, 2**32), st.sampled_from([None, 0.5, 2.0]))
@example(53835, None)  # a best moment at a negative instant
@settings(deadline=None, max_examples=60)
def test_the_batch_is_the_single_function_row_by_row(seed: int, grid: float | None) -> None:
    marks, p, final, costs = random_lives(seed, grid=grid)
    batch = regret.regrets(marks, p, final, costs)
    for i in range(len(final)):
        assert_same(batch.row(i), single(marks, p, i, final[i], costs[i]))


walks = st.lists(st.floats(-100, 100), min_size=1, max_size=30)
money = st.floats(0, 10)


@given(walks, st.floats(-100, 100), money, money)
@settings(deadline=None, max_examples=150)
def test_regret_by_brute_force(
    gross: list[float], final: float, entry_costs: float, exit_costs: float
) -> None:
    n = len(gross)
    got = path(range(1, n + 1), gross, n + 1, final, entry_costs=entry_costs, exit_costs=exit_costs)
    net = [*(g - exit_costs for g in gross), final]
    assert got.regret == max(net) - final >= 0
    assert got.optimal_exit_pnl == max(net)
    tie = 1e-9 * 100.0
    firsts = [k for k, v in enumerate(net, start=1) if v >= max(net) - tie]
    # an ulp of adding and taking away costs may decide between candidates that stand at the tolerance itself
    assert got.optimal_exit_at == firsts[0] or abs(max(net) - net[got.optimal_exit_at - 1]) == pytest.approx(
        tie
    )
    everything = [*gross, final + exit_costs]
    assert got.mfe == max(0.0, *everything)
    assert got.mae == min(0.0, *everything)


@given(walks, st.floats(-100, 100), st.floats(-200, 200), st.integers(0, 29))
@settings(deadline=None, max_examples=100)
def test_another_mark_never_lowers_regret_nor_the_excursions(
    gross: list[float], final: float, value: float, place: int
) -> None:
    place = min(place, len(gross))
    extended = [*gross[:place], value, *gross[place:]]
    before = path(range(len(gross)), gross, 99, final)
    after = path(range(len(extended)), extended, 99, final)
    assert after.regret >= before.regret
    assert after.mfe >= before.mfe
    assert after.mae <= before.mae


@given(walks, st.floats(-100, 100), money, money, st.floats(0.5, 100))
@settings(deadline=None, max_examples=100)
def test_scaling_all_money_scales_regret_and_leaves_the_ratio_alone(
    gross: list[float], final: float, entry_costs: float, exit_costs: float, k: float
) -> None:
    at, end = range(len(gross)), 99
    base = path(at, gross, end, final, entry_costs=entry_costs, exit_costs=exit_costs)
    scaled = {"entry_costs": k * entry_costs, "exit_costs": k * exit_costs, "notional": k * 100}
    many = path(at, [k * g for g in gross], end, k * final, **scaled)
    assert many.regret == pytest.approx(k * base.regret, rel=1e-9, abs=1e-9)
    if base.regret_ratio is not None and many.regret_ratio is not None and base.regret > 1e-6:
        assert many.regret_ratio == pytest.approx(base.regret_ratio, rel=1e-6)


def test_exit_costs_shift_the_optimum_and_not_the_regret() -> None:
    cheap = path([1, 2], [5.0, 1.0], 3, 2.0)
    dear = path([1, 2], [5.0, 1.0], 3, 2.0 - 1.5, exit_costs=1.5)
    assert dear.regret == cheap.regret == 3.0
    assert (dear.mfe, dear.mae) == (cheap.mfe, cheap.mae)
    assert dear.optimal_exit_pnl == cheap.optimal_exit_pnl - 1.5


def test_luck_between_candles_is_that_of_a_walk_seen_at_every_moment() -> None:
    """Three closes and the exit: steps of 1, 2, -2, 1 have RMS sqrt(2.5); of n = 4 expect sqrt(2.5) sqrt(8 / pi)."""
    at = instants(*(h * HOUR for h in (1, 1, 1, 2, 2, 2, 3, 3, 3)))
    closes = np.array([1.0, 3.0, 1.0])
    gross = np.array([0.5, 1.5, 1.0, 0.5, 4.0, 3.0, 0.0, 3.5, 1.0])
    life = regret.ExitCandidates(at, gross, exit_at=4 * HOUR, final_pnl=2.0, notional=1.0, closes=closes)
    got = regret.regret(life, coverage=1.0)
    assert (got.mfe, got.mae, got.regret) == (4.0, 0.0, 2.0)
    assert got.regret_ratio == pytest.approx(2.0 / (math.sqrt(2.5) * math.sqrt(8 / math.pi)))


def test_a_driftless_exit_reads_one_whether_closes_or_candles_are_seen() -> None:
    """20 bars of 60 steps, 4,000 lives: the mean ratio of the bars' highs is 1 within its error, as audited."""
    rng = np.random.default_rng(9)
    ratios = []
    for _ in range(4000):
        walk = rng.normal(size=(20, 60)).cumsum().reshape(20, 60)
        bars = [part for bar in walk[:-1] for part in (bar.min(), bar.max(), bar[-1])]
        at = np.repeat(np.arange(1, 20), 3) * HOUR
        life = regret.ExitCandidates(
            at, np.array(bars), exit_at=20 * HOUR, final_pnl=float(walk[-1, -1]), notional=1.0, closes=walk[:-1, -1]
        )  # fmt: skip
        ratio = regret.regret(life, coverage=1.0).regret_ratio
        assert ratio is not None
        ratios.append(ratio)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.06)


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=30)
def test_a_short_regrets_what_the_mirrored_long_does(seed: int) -> None:
    """Prices mirrored at 100 and the side turned: every figure stays."""
    marks, p, final, costs = random_lives(seed)
    mirrored = Marks(marks.offsets, marks.t, 200 - marks.x)
    turned = replace(p, quantity=-p.quantity, cash=p.cash + 200 * p.quantity)
    original, mirror = regret.regrets(marks, p, final, costs), regret.regrets(mirrored, turned, final, costs)
    for i in range(len(final)):
        assert_same(original.row(i), mirror.row(i))
