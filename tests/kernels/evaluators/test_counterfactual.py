"""Exit rules replayed: hand-worked positions, and many at once as each alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro.kernels.evaluators.counterfactual import (
    EnteredPositions,
    HeldStates,
    MarkPaths,
    PriceMoves,
    results,
)

# a long entered at 100 with 2 units and 10 at risk, a short entered at 50 with 4 units and no risk stated
PATHS = MarkPaths(
    np.array([1, 2, 3, 4, 1, 2, 3]),
    np.array([101.0, 104.0, 99.0, 94.0, 51.0, 48.0, 49.0]),
    np.array([0, 4, 7]),
)
ENTERED = EnteredPositions(
    np.array([1.0, -1.0]),
    np.array([100.0, 50.0]),
    np.array([0, 0]),
    np.array([2.0, 4.0]),
    np.array([10.0, np.nan]),
)
STATES = HeldStates(
    np.array([0, 3, 6, 0, 5]),
    np.array([-200.2, -200.7, -12.9, 199.8, 3.6]),
    np.array([2.0, 2.0, 0.0, -4.0, 0.0]),
    np.array([0, 3, 5]),
)


MOVES = PriceMoves(PATHS, ENTERED)


@pytest.mark.parametrize(
    ("leave", "expected"),
    [
        (MOVES.held_for(3), [2, 6]),
        (MOVES.held_for(4), [3, -1]),
        (MOVES.stopped(share=0.01, risks=None), [2, 4]),
        (MOVES.stopped(share=None, risks=1.0), [3, -1]),  # 2 x 6 >= 10; no risk, no R
        (MOVES.taken(share=0.04, risks=None), [1, 5]),
        (MOVES.taken(share=None, risks=0.5), [1, -1]),
        (MOVES.trailed(share=0.02, risks=None), [2, 4]),  # 104 -> 99; 50 -> 51
        (MOVES.trailed(share=None, risks=1.0), [2, -1]),  # 2 x 5 >= 10
    ],
)
def test_a_rule_acts_at_the_first_mark_at_which_its_condition_holds(leave: Any, expected: Any) -> None:
    assert leave.tolist() == expected


@pytest.mark.parametrize(
    ("entry", "mark", "percent"), [(100, 97.1, 2.9), (70.7, 69.993, 1), (0.3, 0.291, 3), (99, 94.05, 5)]
)
def test_a_threshold_in_decimals_is_reached_at_the_very_decimal(
    entry: float, mark: float, percent: float
) -> None:
    position = EnteredPositions(
        np.ones(1), np.array([entry]), np.zeros(1, np.int64), np.ones(1), np.full(1, np.nan)
    )
    moves = PriceMoves(MarkPaths(np.array([1]), np.array([mark]), np.array([0, 1])), position)
    assert moves.stopped(share=percent / 100, risks=None).tolist() == [0]
    assert moves.trailed(share=percent / 100, risks=None).tolist() == [0]
    assert moves.stopped(share=percent / 100 + 1e-9, risks=None).tolist() == [-1]


def test_what_is_left_goes_at_the_mark_and_pays_its_cost_and_later_moves_do_not_happen() -> None:
    got = results(STATES, PATHS.at[[2, 5]], PATHS.price[[2, 5]], np.array([0.001, 0.0]))
    # long: -200.2 in, -0.5 funding at 3, 2 x 99 less 0.1 %; short: 199.8 in, 4 x 48 bought back
    assert got == pytest.approx([-200.2 - 0.5 + 198 - 0.198, 199.8 - 192])


def test_a_rule_that_does_not_act_gives_nothing_to_compare() -> None:
    assert np.isnan(results(STATES, np.array([-1, -1]), np.full(2, np.nan), np.zeros(2))).all()
    empty = MarkPaths(np.empty(0, np.int64), np.empty(0), np.zeros(3, np.int64))
    assert PriceMoves(empty, ENTERED).stopped(share=0.01, risks=None).tolist() == [-1, -1]


@given(st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=6), min_size=1, max_size=5), st.data())
def test_the_state_as_of_an_instant_is_that_after_its_last_move(rows: Any, data: st.DataObject) -> None:
    rows = [sorted(row) for row in rows]
    start = np.cumsum([0] + [len(row) for row in rows])
    at = np.array([t for row in rows for t in row])
    states = HeldStates(at, np.arange(len(at), dtype=np.float64), np.arange(0.0, 2 * len(at), 2), start)
    asked = data.draw(st.lists(st.integers(0, 21), min_size=len(rows), max_size=len(rows)))
    cash, quantity = states.as_of(np.arange(len(rows)), np.array(asked))
    for i, (row, instant) in enumerate(zip(rows, asked, strict=True)):
        last = max([k for k, t in enumerate(row) if t <= instant], default=0)
        assert (cash[i], quantity[i]) == (start[i] + last, 2 * (start[i] + last))


prices = st.lists(st.lists(st.floats(50, 150), max_size=12), min_size=1, max_size=6)


@given(prices, st.floats(0.001, 0.5), st.sampled_from(["stopped", "taken", "trailed"]), st.data())
def test_many_positions_at_once_are_each_alone_and_read_mark_by_mark(
    rows: Any, share: float, rule: str, data: st.DataObject
) -> None:
    sides = data.draw(st.lists(st.sampled_from([1.0, -1.0]), min_size=len(rows), max_size=len(rows)))
    start = np.cumsum([0] + [len(row) for row in rows])
    paths = MarkPaths(np.arange(start[-1]), np.array([p for row in rows for p in row]), start)
    n = len(rows)
    entered = EnteredPositions(
        np.array(sides), np.full(n, 100.0), np.zeros(n, np.int64), np.ones(n), np.full(n, np.nan)
    )
    leave = getattr(PriceMoves(paths, entered), rule)(share=share, risks=None)
    for i, (row, side) in enumerate(zip(rows, sides, strict=True)):
        best, expected = 100.0, -1
        for k, price in enumerate(row):
            best = max(best, price) if side > 0 else min(best, price)
            gain = side * (price / 100 - 1)
            if (
                (rule == "stopped" and gain <= -share + 1e-12)
                or (rule == "taken" and gain >= share - 1e-12)
                or (rule == "trailed" and side * (best - price) / best >= share - 1e-12)
            ):
                expected = int(start[i]) + k
                break
        assert leave[i] == expected
