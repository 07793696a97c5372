"""Marks: the as-of rule, gaps, staleness and coverage, by hand-worked tables and against the slow obvious way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from retro.kernels import series
from retro.kernels.series import DAY, HOUR, IntArray, Marks
from tests.worlds.places import TESTS

MINUTE = 60 * series.SECOND
GOLDEN = json.loads((TESTS / "golden" / "trajectory_regret.json").read_text())["positions"]


def instants(*values: float) -> IntArray:
    return np.array(values, dtype=np.int64)


def test_as_of_takes_the_last_mark_at_or_before_and_never_the_next() -> None:
    t = instants(10, 20, 20, 30)
    assert series.asof(t, [9, 10, 11, 20, 29, 30, 99]).tolist() == [-1, 0, 0, 2, 2, 3, 3]
    assert series.asof(instants(), [5]).tolist() == [-1]


@pytest.mark.parametrize("case", GOLDEN, ids=range(len(GOLDEN)))
def test_as_of_and_mark_ages_agree_with_pandas_merge_asof(case: Any) -> None:
    t, prices = np.array(case["marks_t"]), np.array(case["marks_p"])
    index = series.asof(t, case["checkpoints"])
    assert prices[index].tolist() == case["checkpoint_marks"]
    at = [case["entry"], *case["checkpoints"]]
    assert (at - t[series.asof(t, at)]).tolist() == case["staleness"]


times = st.lists(st.integers(0, 60), max_size=12).map(sorted)
bundles = st.lists(times, min_size=1, max_size=4)


def marks_of(parts: Sequence[IntArray]) -> Marks:
    return series.bundle([(t, np.arange(len(t)) + 100.0 * i) for i, t in enumerate(parts)])


@given(bundles, st.data())
@settings(deadline=None, max_examples=100)
def test_looking_up_many_instruments_is_looking_up_each(parts: list[Any], data: st.DataObject) -> None:
    marks = marks_of(parts)
    rows = data.draw(st.lists(st.tuples(st.integers(0, len(parts) - 1), st.integers(-5, 70)), max_size=10))
    instrument, at = instants(*(i for i, _ in rows)), instants(*(a for _, a in rows))
    wanted = []
    for i, a in rows:
        local = int(series.asof(instants(*parts[i]), a))
        wanted.append(-1 if local < 0 else int(marks.offsets[i]) + local)
    assert series.asof_many(marks, instrument, at).tolist() == wanted
    twice = series.asof_many(marks, instrument, np.stack([at, at], axis=1))
    assert twice.tolist() == [[w, w] for w in wanted]


@given(bundles)
@example([[]])
@settings(deadline=None, max_examples=100)
def test_a_union_has_each_number_of_its_arrays_once_in_order(parts: list[Any]) -> None:
    numbers = series.union(*(instants(*part) for part in parts))
    assert (numbers.tolist(), numbers.dtype) == (sorted({n for part in parts for n in part}), np.int64)


@given(bundles, st.data())
@settings(deadline=None, max_examples=100)
def test_inside_finds_exactly_the_marks_strictly_between(parts: list[Any], data: st.DataObject) -> None:
    marks = marks_of(parts)
    i = data.draw(st.integers(0, len(parts) - 1))
    start, length = data.draw(st.integers(-5, 65)), data.draw(st.integers(0, 40))
    lo, hi = series.inside(marks, instants(i), instants(start), instants(start + length))
    between = marks.t[lo[0] : hi[0]].tolist()
    assert between == [t for t in parts[i] if start < t < start + length]
    assert all(marks.offsets[i] <= k < marks.offsets[i + 1] for k in range(lo[0], hi[0]))


def test_a_bundle_keeps_each_instruments_marks_apart() -> None:
    marks = series.bundle([([1, 2], [10, 11]), ([], []), ([1], [20])])
    assert marks.offsets.tolist() == [0, 2, 2, 3]
    assert marks.times(0).tolist() == [1, 2]
    assert marks.prices(0).tolist() == [10.0, 11.0]
    assert marks.times(1).size == 0
    assert marks.prices(2).tolist() == [20.0]
    assert series.bundle([]).offsets.tolist() == [0]


def test_highs_and_lows_become_marks_that_the_as_of_rule_does_not_see() -> None:
    candles = Marks(
        instants(0, 2), instants(5, 9), np.array([2.0, 3.0]), np.array([1.0, 2.5]), np.array([4.0, 6.0])
    )
    wide = series.with_highs_lows(candles)
    assert wide.offsets.tolist() == [0, 6]
    assert wide.x.tolist() == [1.0, 4.0, 2.0, 2.5, 6.0, 3.0]
    for at in (5, 7, 9):
        close = candles.x[series.asof(candles.t, at)]
        assert wide.x[series.asof(wide.t, at)] == close
    assert series.median_gap(wide.t, 0, 10) == series.median_gap(candles.t, 0, 10) == 4
    plain = marks_of([instants(1, 2)])
    assert series.with_highs_lows(plain) is plain


@pytest.mark.parametrize(
    ("t", "window", "gap"),
    [
        ((0, 10, 20, 30), (0, 30), 10),
        ((0, 10, 20, 50), (0, 50), 10),
        ((0, 10, 40), (0, 40), 20),  # an even number of gaps: the mean of the middle two
        ((0, 10, 10, 20), (0, 20), 10),  # two marks of one instant have no gap
        ((0, 10, 20, 99), (5, 20), 10),  # both ends of the window belong to it
        ((0, 10), (1, 10), None),
        ((), (0, 10), None),
    ],
)
def test_median_gap_by_hand(t: Any, window: tuple[int, int], gap: int | None) -> None:
    assert series.median_gap(instants(*t), *window) == gap


@given(bundles, st.data())
@settings(deadline=None, max_examples=200)
def test_many_median_gaps_and_coverages_are_the_single_ones(parts: list[Any], data: st.DataObject) -> None:
    marks = marks_of(parts)
    rows = data.draw(
        st.lists(
            st.tuples(st.integers(0, len(parts) - 1), st.integers(-5, 65), st.integers(0, 40)),
            min_size=1,
            max_size=8,
        )
    )
    instrument, start, length = (instants(*column) for column in zip(*rows, strict=True))
    gaps = series.median_gaps(marks, instrument, start, start + length)
    shares = series.coverages(marks, instrument, start, start + length, gaps)
    for k, (i, begin, duration) in enumerate(rows):
        gap = series.median_gap(marks.times(i), begin, begin + duration)
        assert (None if np.isnan(gaps[k]) else gaps[k]) == gap
        assert shares[k] == pytest.approx(
            series.coverage(marks.times(i), begin, begin + duration, gap), abs=1e-12
        )


@given(times, st.integers(-5, 65), st.lists(st.integers(-5, 70), min_size=1, max_size=9))
@example([0, 10, 10, 40, 45, 45], 5, [45, 9, 44, 10])
@settings(deadline=None, max_examples=200)
def test_median_gaps_until_several_ends_are_the_single_ones(
    t: list[int], start: int, ends: list[int]
) -> None:
    gaps = series.median_gaps_until(instants(*t), start, instants(*ends)).tolist()
    single = [series.median_gap(instants(*t), start, end) for end in ends]
    assert [None if np.isnan(gap) else gap for gap in gaps] == single


def slow_coverage(t: Sequence[float], entry: float, leave: float, gap: float | None) -> float:
    """Moment by moment, in the middle of each unit of time."""
    limit = max(3 * (gap or 0), (leave - entry) / 10)
    moments = np.arange(entry, leave, 0.125) + 0.0625
    fresh = [any(mark <= m < mark + limit for mark in t) for m in moments]
    return sum(fresh) / len(fresh)


@given(times, st.integers(0, 50), st.integers(8, 40))
@settings(deadline=None, max_examples=60)
def test_coverage_is_the_share_of_moments_with_a_fresh_mark(t: Any, entry: int, duration: int) -> None:
    gap = series.median_gap(instants(*t), 0, entry + duration)
    got = series.coverage(instants(*t), entry, entry + duration, gap)
    assert got == pytest.approx(
        slow_coverage(t, entry, entry + duration, gap), abs=0.14 * (len(t) + 1) / duration
    )
    assert 0 <= got <= 1


@pytest.mark.parametrize(
    ("t", "share"),
    [
        ((0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100), 1.0),
        ((0, 10, 20), 0.5),  # fresh until 20 + 3 * 10
        ((-10, 0), 0.3),  # the mark of the entry counts too
        ((-40, -30, -20), 0.1),  # an older one while it lasts
        ((50,), 0.1),  # one mark has no gap: 10 % of the holding time
        ((), 0.0),
    ],
)
def test_coverage_of_a_hundred_units_by_hand(t: Any, share: float) -> None:
    t = instants(*t)
    assert series.coverage(t, 0, 100, series.median_gap(t, -100, 100)) == pytest.approx(share)


def test_a_life_of_no_length_is_not_covered() -> None:
    assert series.coverage(instants(0, 10), 10, 10, 10.0) == 0


@given(times, st.integers(0, 50), st.integers(1, 40), st.integers(0, 10**15))
@example([0], 0, 1, 2**32)  # so far out that a float64 has no tenths of a microsecond
@settings(deadline=None, max_examples=60)
def test_shifting_all_instants_changes_neither_gap_nor_coverage(
    t: Any, entry: int, duration: int, shift: int
) -> None:
    base, shifted = instants(*t), instants(*t) + shift
    gap = series.median_gap(base, 0, 60)
    assert series.median_gap(shifted, shift, 60 + shift) == gap
    far = series.coverage(shifted, entry + shift, entry + duration + shift, gap)
    assert far == pytest.approx(series.coverage(base, entry, entry + duration, gap))


@pytest.mark.parametrize(
    ("age", "gap", "offset", "stale"),
    [
        (15 * MINUTE, 5 * MINUTE, HOUR, False),  # exactly three gaps
        (15 * MINUTE + 1, 5 * MINUTE, HOUR, True),
        (DAY // 10, 5 * MINUTE, DAY, False),  # exactly 10 % of the offset
        (DAY // 10 + 1, 5 * MINUTE, DAY, True),
        (6 * MINUTE, np.nan, HOUR, False),  # no gap known: the 10 % alone
        (6 * MINUTE + 1, np.nan, HOUR, True),
    ],
)
def test_a_mark_is_stale_above_three_gaps_and_a_tenth_of_the_offset(
    age: Any, gap: Any, offset: Any, stale: bool
) -> None:
    assert bool(series.stale(age, gap, offset)) is stale
