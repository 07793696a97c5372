"""What is left of a sample without a few of its outcomes: to the last bit as if those had never been in it."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels.audit import ExactSum, sample_of
from retro.kernels.uncertainty import by_day

outcomes = st.lists(
    st.tuples(st.floats(-1e9, 1e9), st.integers(-3, 20_000), st.booleans()), min_size=1, max_size=40
)


@given(outcomes)
@settings(max_examples=200, deadline=None)
def test_what_is_left_is_what_would_be_there_without_them(rows: list[tuple[float, int, bool]]) -> None:
    sample = sample_of([value for value, _, _ in rows], [day for _, day, _ in rows])
    gone = [number for number, (_, _, goes) in enumerate(rows) if goes]
    remainder = [(value, day) for value, day, goes in rows if not goes]
    values = [value for value, _ in remainder]
    expected = by_day(values, [day for _, day in remainder])
    got = sample.days_without(gone)
    assert got.sums.tobytes() == expected.sums.tobytes()
    assert got.counts.tobytes() == expected.counts.tobytes()
    assert sample.mean_without(gone) == (math.fsum(values) / len(values) if values else None)


def test_a_sum_that_rounding_would_change_is_exact() -> None:
    """1e16 + 1 + 1 without the first 1: the floats next to 1e16 lie two apart, and 1e16 + 2 is one of them."""
    sample = sample_of([1e16, 1.0, 1.0, -1e16], [1, 1, 2, 3])
    assert sample.mean_without([0]) == (2.0 - 1e16) / 3
    assert sample.mean_without([0, 3]) == 1.0
    assert sample.mean_without([0, 1, 2, 3]) is None


def test_many_outcomes_of_one_day_are_added_as_the_day_is() -> None:
    values = [math.sin(n) for n in range(500)]
    sample = sample_of(values, [7] * 500)
    remainder = values[:123] + values[124:]
    assert sample.days_without([123]).sums.tolist() == by_day(remainder, [7] * 499).sums.tolist()


@given(st.lists(st.floats(-1e12, 1e12) | st.floats(-1e-9, 1e-9), max_size=30))
@settings(max_examples=200, deadline=None)
def test_a_sum_that_goes_on_is_rounded_once_at_every_step(values: list[float]) -> None:
    total = ExactSum()
    for n, value in enumerate(values, start=1):
        total.add(value)
        assert total.value == math.fsum(values[:n])
