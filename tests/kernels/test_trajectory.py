"""Paths of many positions at once: against pandas' answers, against brute force, and by laws that must hold."""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels import ranges, series, trajectory
from retro.kernels.series import DAY, HOUR, IntArray, Marks
from retro.kernels.trajectory import Positions, Trajectories
from tests.worlds.places import TESTS

GOLDEN = json.loads((TESTS / "golden" / "trajectory_regret.json").read_text())["positions"]
MINUTE = HOUR // 60


def instants(*values: float) -> IntArray:
    return np.array(values, dtype=np.int64)


def positions_of(rows: Any) -> Positions:
    """Positions from (instrument, entry, exit, quantity, price, costs) rows."""
    columns = zip(*rows, strict=True)
    return Positions.filled(
        *(np.array(c, kind) for c, kind in zip(columns, ("i8", "i8", "i8", "f8", "f8", "f8"), strict=True))
    )


def world(
    rng: np.random.Generator,
    instruments: int,
    marks_each: int,
    n: int,
    span: int = 1000,
    grid: float | None = None,
) -> tuple[Marks, Positions]:
    """Marks at irregular instants, one instrument without any, and positions in no order; `grid` makes prices repeat."""
    parts = []
    for size in rng.integers(0, marks_each, instruments):
        walk = 100 + np.cumsum(rng.standard_normal(size))
        parts.append(
            (
                np.sort(rng.choice(span, size, replace=False)) * MINUTE,
                walk if grid is None else np.round(walk / grid) * grid,
            )
        )
    parts.append((instants(), np.empty(0)))
    entry = rng.integers(-50, span, n) * MINUTE + rng.integers(0, 2, n)
    durations = rng.integers(0, span, n) * MINUTE
    which = rng.integers(0, len(parts), n)
    quantity = rng.choice([-1, 1], n) * rng.uniform(0.1, 10, n)
    return series.bundle(parts), Positions.filled(
        which, entry, entry + durations, quantity, rng.uniform(90, 110, n), rng.uniform(0, 2, n)
    )


def brute(marks: Marks, p: Positions, i: int, offsets: IntArray) -> tuple[Any, ...]:
    """One position the slow way: (checkpoint pnl, ages, marks inside, best, first best, worst, first worst)."""
    t, x = marks.times(p.instrument[i]), marks.prices(p.instrument[i])
    base = int(marks.offsets[p.instrument[i]])
    gross = p.quantity[i] * x + p.cash[i]
    pnl, ages = [], []
    for offset in [*offsets.tolist(), None]:
        due = offset is None or p.entry[i] + offset < p.exit[i]
        at = p.exit[i] if offset is None or not due else p.entry[i] + offset
        past = [k for k in range(len(t)) if t[k] <= at]
        ages.append(int(at - t[past[-1]]) if past else -1)
        pnl.append(gross[past[-1]] if past and due and ages[-1] <= DAY else np.nan)
    within = [k for k in range(len(t)) if p.entry[i] < t[k] < p.exit[i]]
    if not within:
        return pnl, ages, [], np.nan, -1, np.nan, -1
    best, worst = max(gross[k] for k in within), min(gross[k] for k in within)
    tie = 1e-9 * max(1.0, p.notional[i])
    first = next(k for k in within if gross[k] >= best - tie)
    last = next(k for k in within if gross[k] <= worst + tie)
    return pnl, ages, [base + k for k in within], best, base + first, worst, base + last


def check(marks: Marks, p: Positions, offsets: IntArray, rows: Iterable[int], got: Any) -> None:
    for i in rows:
        pnl, ages, within, best, first, worst, last = brute(marks, p, i, offsets)
        np.testing.assert_allclose(got.pnl[i], pnl, rtol=1e-12, atol=1e-12)
        assert got.age[i].tolist() == ages
        assert list(range(got.lo[i], got.hi[i])) == within
        np.testing.assert_allclose([got.best[i], got.worst[i]], [best, worst], rtol=1e-12, atol=1e-12)
        assert (got.best_index[i], got.worst_index[i]) == (first, last)


OFFSETS = instants(HOUR, 4 * HOUR, 10 * HOUR)


@given(
    st.integers(0, 2**32),
    st.integers(1, 5),
    st.sampled_from([2, 30, 200, 700]),
    st.sampled_from([None, 0.5, 3.0]),
)
@settings(deadline=None, max_examples=60)
def test_bulk_paths_agree_with_the_obvious_loop(
    seed: int, instruments: int, marks_each: int, grid: float | None
) -> None:
    marks, p = world(np.random.default_rng(seed), instruments, marks_each, 12, grid=grid)
    check(marks, p, OFFSETS, range(12), trajectory.trajectories(marks, p, OFFSETS))


def test_a_position_is_alone_what_it_is_among_many() -> None:
    """Enough marks and positions for several shards, one instrument longer than a shard, and two threads."""
    rng = np.random.default_rng(7)
    sizes = (trajectory.SHARD + 5, 200_000, 150_000, 200_000)
    parts = [(np.arange(size) * MINUTE, 100 + np.cumsum(rng.standard_normal(size)) / 100) for size in sizes]
    marks, n = series.bundle(parts), 3 * trajectory.ROWS
    entry = rng.integers(0, 200_000, n) * MINUTE
    leave = entry + rng.integers(0, 100_000, n) * MINUTE
    p = Positions.filled(
        rng.integers(0, 4, n), entry, leave, rng.choice([-1.0, 2.0], n), np.full(n, 100.0), np.full(n, 0.1)
    )
    many = trajectory.trajectories(marks, p, OFFSETS)
    with ThreadPoolExecutor(2) as pool:
        threaded = trajectory.trajectories(marks, p, OFFSETS, pool.map)
    rows = rng.choice(n, 50, replace=False)
    alone = [trajectory.trajectories(marks, p.take(rows[k : k + 1]), OFFSETS) for k in range(50)]
    for field in fields(Trajectories):
        among = getattr(many, field.name)
        np.testing.assert_array_equal(getattr(threaded, field.name), among)
        np.testing.assert_array_equal(np.concatenate([getattr(a, field.name) for a in alone]), among[rows])


@pytest.mark.parametrize("case", GOLDEN, ids=range(len(GOLDEN)))
def test_checkpoints_and_excursions_agree_with_pandas(case: Any) -> None:
    """The file's mfe and mae include the entry (0) and the exit, which is its last mark; ticks are minutes here."""
    p = positions_of(
        [(0, case["entry"] * MINUTE, case["exit"] * MINUTE, case["qty"], case["entry_mark"], 0.0)]
    )
    marks = series.bundle([(np.array(case["marks_t"]) * MINUTE, case["marks_p"])])
    offsets = (np.array(case["checkpoints"][:-1]) - case["entry"]) * MINUTE
    got = trajectory.trajectories(marks, p, offsets)
    assert got.pnl[0] == pytest.approx(case["checkpoint_pnl"], abs=1e-9)
    assert (got.age[0] // MINUTE).tolist() == case["staleness"][1:]
    assert got.hi[0] - got.lo[0] == case["interior_marks"]
    assert np.fmax(got.best[0], max(0, case["final_gross"])) == pytest.approx(case["mfe"], abs=1e-9)
    assert np.fmin(got.worst[0], min(0, case["final_gross"])) == pytest.approx(case["mae"], abs=1e-9)


def test_no_positions_and_no_marks_are_fine() -> None:
    nothing = positions_of([(0, 0, 0, 1, 1, 0)]).take(instants())
    marks = series.bundle([([1, 2], [3, 4])])
    assert trajectory.trajectories(marks, nothing, OFFSETS).pnl.shape == (0, 4)
    got = trajectory.trajectories(series.bundle([([], [])]), positions_of([(0, 0, DAY, 1, 1, 0)]), OFFSETS)
    assert np.isnan(got.pnl).all()
    assert (got.age == -1).all()
    assert got.best_index.tolist() == [-1]


@pytest.fixture
def small_world() -> tuple[Marks, Positions]:
    return world(np.random.default_rng(11), 4, 500, 200)


def test_shifting_every_instant_changes_nothing(small_world: tuple[Marks, Positions]) -> None:
    marks, p = small_world
    base = trajectory.trajectories(marks, p, OFFSETS)
    shift = 1_700_000_000_000_000
    later = replace(p, entry=p.entry + shift, exit=p.exit + shift)
    shifted = trajectory.trajectories(Marks(marks.offsets, marks.t + shift, marks.x), later, OFFSETS)
    for field in fields(Trajectories):
        np.testing.assert_array_equal(getattr(base, field.name), getattr(shifted, field.name))


def test_scaling_the_quantity_scales_the_pnl_and_moves_no_moment(
    small_world: tuple[Marks, Positions],
) -> None:
    marks, p = small_world
    base = trajectory.trajectories(marks, p, OFFSETS)
    many = trajectory.trajectories(
        marks, replace(p, quantity=8 * p.quantity, cash=8 * p.cash, costs=8 * p.costs), OFFSETS
    )
    for name in ("pnl", "best", "worst"):
        np.testing.assert_allclose(getattr(many, name), 8 * getattr(base, name), rtol=1e-12)
    np.testing.assert_array_equal(many.best_index, base.best_index)
    np.testing.assert_array_equal(many.worst_index, base.worst_index)


def test_a_short_is_the_long_seen_in_a_mirror(small_world: tuple[Marks, Positions]) -> None:
    marks, p = small_world
    free = replace(p, cash=p.cash + p.costs, costs=np.zeros(len(p.costs)))
    long = trajectory.trajectories(marks, free, OFFSETS)
    short = trajectory.trajectories(marks, replace(free, quantity=-free.quantity, cash=-free.cash), OFFSETS)
    np.testing.assert_allclose(short.pnl, -long.pnl, rtol=1e-12)
    np.testing.assert_allclose(short.best, -long.worst, rtol=1e-12)
    np.testing.assert_array_equal(short.best_index, long.worst_index)
    np.testing.assert_array_equal(short.worst_index, long.best_index)


def test_a_later_mark_changes_no_checkpoint_before_it(small_world: tuple[Marks, Positions]) -> None:
    marks, p = small_world
    full = trajectory.trajectories(marks, p, OFFSETS)
    cutoff = 500 * MINUTE
    early_marks = [
        (marks.times(i)[marks.times(i) <= cutoff], marks.prices(i)[marks.times(i) <= cutoff])
        for i in range(5)
    ]
    early = trajectory.trajectories(series.bundle(early_marks), p, OFFSETS)
    past = (p.entry[:, None] + OFFSETS) <= cutoff
    np.testing.assert_array_equal(full.pnl[:, :-1][past], early.pnl[:, :-1][past])
    assert past.sum() > 100


@pytest.mark.parametrize("quantity", [5.0, -5.0])
def test_the_earliest_of_near_equals_is_the_best(quantity: float) -> None:
    """Notional 500: a mark is as good as the best within 5e-7, that is 1e-7 of price for 5 units."""
    up = np.sign(quantity)
    x = 100 + up * np.array([0.0, 1 - 2e-7, 1 - 0.9e-7, 1.0, 1 - 0.5e-7])
    marks = series.bundle([(np.arange(5) * HOUR, x)])
    got = trajectory.trajectories(marks, positions_of([(0, 0, 5 * HOUR, quantity, 100.0, 0.0)]), OFFSETS)
    assert got.best_index.tolist() == [2]
    assert got.best[0] == pytest.approx(5.0, rel=1e-12)


def test_checkpoints_are_those_before_the_exit() -> None:
    assert trajectory.checkpoints(0, 4 * HOUR, OFFSETS).tolist() == [HOUR]
    assert trajectory.checkpoints(0, 4 * HOUR + 1, OFFSETS).tolist() == [HOUR, 4 * HOUR]


def test_points_carry_age_staleness_and_the_reason_of_absence() -> None:
    at, gap = instants(HOUR, 4 * HOUR, DAY, 3 * DAY, 9 * DAY), 10.0 * MINUTE
    age = instants(-1, 31 * MINUTE, 30 * MINUTE, DAY, DAY + 1)
    pnl = np.array([np.nan, 1.0, 2.0, 3.0, np.nan])
    got = trajectory.points(0, at, age, pnl, gap)
    assert [p.pnl for p in got] == [None, 1.0, 2.0, 3.0, None]
    assert [p.stale for p in got] == [False, True, False, True, True]
    assert [p.mark_age for p in got] == [None, 31 * MINUTE, 30 * MINUTE, DAY, DAY + 1]
    assert [bool(p.reason) for p in got] == [True, False, False, False, True]
    assert [p.offset for p in got] == at.tolist()


@given(st.data(), st.sampled_from([np.maximum, np.minimum]))
@settings(deadline=None, max_examples=100)
def test_ranges_of_any_length_and_place_have_the_right_extreme(data: st.DataObject, peak: Any) -> None:
    """Lengths around the block of 64, ranges that are empty, touch the end, or lie in one block."""
    size = data.draw(st.sampled_from([1, 5, 63, 64, 65, 128, 200, 1000]))
    x = np.random.default_rng(size).integers(0, 9, size).astype(float)
    bounds = st.tuples(st.integers(0, size), st.integers(0, size)).map(sorted)
    lo, hi = (instants(*c) for c in zip(*data.draw(st.lists(bounds, min_size=1, max_size=10)), strict=True))
    slack, after = np.full(len(lo), data.draw(st.sampled_from([0.0, 1.0, 3.0]))), np.full(len(lo), 5.5)
    sign = 1 if peak is np.maximum else -1
    value, index = ranges.first_extreme(x, lo, hi, slack, peak)
    _, with_after = ranges.first_extreme(x, lo, hi, slack, peak, after)
    reached = ranges.first_reaching(x, lo, hi, after, peak)
    for k, (a, b) in enumerate(zip(lo, hi, strict=True)):
        part, near = sign * x[a:b], sign * 5.5
        best = part.max(initial=-np.inf)
        assert np.isnan(value[k]) if a == b else sign * value[k] == best
        assert index[k] == next((a + j for j, v in enumerate(part) if v >= best - slack[k]), -1)
        goal = max(best, near) - slack[k]
        assert with_after[k] == next((a + j for j, v in enumerate(part) if v >= goal), -1)
        assert reached[k] == next((a + j for j, v in enumerate(part) if v >= near), -1)
    some = hi > lo
    if some.any():
        sums = ranges.reduce_ranges(x, lo[some], hi[some], np.add)
        assert sums.tolist() == [x[a:b].sum() for a, b in zip(lo[some], hi[some], strict=True)]
