"""Returns from levels: chained at flows, the curve they draw, weighted by money."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from retro.kernels.effectiveness import max_drawdown
from retro.kernels.returns import chained, compounded, deepest_fall, modified_dietz, ruin, stretches


def daily(levels: ArrayLike, flows: ArrayLike) -> NDArray[np.float64]:
    """Every level bounds a day."""
    return chained(stretches(levels, flows), np.arange(np.size(levels)))


def test_a_flow_is_no_return() -> None:
    """100 -> 110, then 40 come; 150 -> 135, then 35 leave; 100 -> 100."""
    assert daily([100, 110, 135, 100], [0, 40, -35, 0]) == pytest.approx([0.10, -0.10, 0.0])


def test_a_day_of_two_stretches_is_chained() -> None:
    parts = stretches([100, 50, 120, 60], [0, 50, 0, 0])
    assert chained(parts, np.array([0, 2, 3])) == pytest.approx([0.5 * 1.2 - 1, -0.5])


def test_where_nothing_is_there_is_no_day_and_something_of_nothing_is_no_return() -> None:
    got = daily([0, 0, 100, -5, 20], [0, 100, 0, 0, 0])
    assert [None if np.isnan(r) else round(r, 6) for r in got] == [None, 0.0, -1.05, None]
    assert np.isnan(daily([0, 10], [0, 0]))[0]


@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=20), st.floats(1e-6, 1e6))
@settings(max_examples=50, deadline=None)
def test_the_unit_of_money_does_not_change_returns(levels: list[float], scale: float) -> None:
    flows = np.linspace(-0.5, 1, len(levels))
    assert daily(np.array(levels) * scale, flows * scale) == pytest.approx(
        daily(levels, flows), rel=1e-9, abs=1e-9
    )


@given(st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=30))
@settings(max_examples=50, deadline=None)
def test_without_flows_the_fall_is_that_of_the_returns(growths: list[float]) -> None:
    levels = 100 * np.cumprod([1.0, *(1 + g for g in growths)])
    parts = stretches(levels, np.zeros(len(levels)))
    nothing = np.empty(0)
    assert deepest_fall(parts, nothing, nothing.astype(int)) == pytest.approx(
        max_drawdown(np.array(growths)), abs=1e-12
    )
    assert compounded(growths) == pytest.approx(levels[-1] / 100 - 1, abs=1e-12)


def test_levels_inside_stretches_deepen_the_fall_and_flows_do_not() -> None:
    parts = stretches([100, 110, 220], [0, 110, 0])
    assert deepest_fall(parts, [80, 55, 200], np.array([0, 0, 1])) == pytest.approx(-0.45)
    assert deepest_fall(parts, [], np.array([], int)) == 0


def test_modified_dietz_by_hand() -> None:
    """1,000, 500 in with three quarters left, 200 out with a quarter left, 1,390 at the end: 90 / 1,325."""
    assert modified_dietz(1000, 1390, [500, -200], [0.75, 0.25]) == pytest.approx(90 / 1325)
    assert modified_dietz(0, 100, [], []) is None
    assert modified_dietz(100, 10, [-400], [0.5]) is None


@pytest.mark.parametrize(
    ("levels", "flows", "expected"),
    [
        ([1000, 600, -100, 200], [0, 0, 0, 0], 2),
        ([1000, 600, 0, 0], [0, 0, 0, 0], 2),
        ([-100, 200, 250], [0, 0, 0], 0),
        ([-100, 200, 190], [300, 0, 0], None),
        ([1000, 1000, 0, 0, 500], [0, -1000, 0, 500, 0], None),
        ([0, 0, 1000, 900], [0, 1000, 0, 0], None),
    ],
)
def test_ruin_is_where_something_came_to_nothing(
    levels: list[float], flows: list[float], expected: int | None
) -> None:
    assert ruin(stretches(levels, flows)) == expected
