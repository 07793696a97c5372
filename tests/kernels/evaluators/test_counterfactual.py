"""Exit rules replayed: hand-worked positions, laws, and what a search over many rules proves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels.evaluators import counterfactual as kernel
from retro.kernels.evaluators.counterfactual import EnteredPositions, HeldStates, MarkPaths

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


@pytest.mark.parametrize(
    ("leave", "expected"),
    [
        (kernel.leaving_after(PATHS, ENTERED, 3), [2, 6]),
        (kernel.leaving_after(PATHS, ENTERED, 4), [3, -1]),
        (kernel.stopped(PATHS, ENTERED, share=0.01, risks=None), [2, 4]),
        (kernel.stopped(PATHS, ENTERED, share=None, risks=1.0), [3, -1]),  # 2 x 6 >= 10; no risk, no R
        (kernel.taken(PATHS, ENTERED, share=0.04, risks=None), [1, 5]),
        (kernel.taken(PATHS, ENTERED, share=None, risks=0.5), [1, -1]),
        (kernel.trailed(PATHS, ENTERED, share=0.02, risks=None), [2, 4]),  # 104 -> 99; 50 -> 51
        (kernel.trailed(PATHS, ENTERED, share=None, risks=1.0), [2, -1]),  # 2 x 5 >= 10
    ],
)
def test_a_rule_acts_at_the_first_mark_at_which_its_condition_holds(leave: Any, expected: Any) -> None:
    assert leave.tolist() == expected


def test_what_is_left_goes_at_the_mark_and_pays_its_cost_and_later_moves_do_not_happen() -> None:
    got = kernel.results(STATES, PATHS, np.array([2, 5]), np.array([0.001, 0.0]))
    # long: -200.2 in, -0.5 funding at 3, 2 x 99 less 0.1 %; short: 199.8 in, 4 x 48 bought back
    assert got == pytest.approx([-200.2 - 0.5 + 198 - 0.198, 199.8 - 192])


def test_a_rule_that_does_not_act_gives_nothing_to_compare() -> None:
    assert np.isnan(kernel.results(STATES, PATHS, np.array([-1, -1]), np.zeros(2))).all()
    empty = MarkPaths(np.empty(0, np.int64), np.empty(0), np.zeros(3, np.int64))
    leave = kernel.stopped(empty, ENTERED, share=0.01, risks=None)
    assert leave.tolist() == [-1, -1]
    assert np.isnan(kernel.results(STATES, empty, leave, np.zeros(2))).all()


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
    leave = getattr(kernel, rule)(paths, entered, share=share, risks=None)
    for i, (row, side) in enumerate(zip(rows, sides, strict=True)):
        best, expected = 100.0, -1
        for k, price in enumerate(row):
            best = max(best, price) if side > 0 else min(best, price)
            gain = side * (price / 100 - 1)
            if (
                (rule == "stopped" and gain <= -share)
                or (rule == "taken" and gain >= share)
                or (rule == "trailed" and side * (best - price) >= share * best)
            ):
                expected = int(start[i]) + k
                break
        assert leave[i] == expected


def test_the_best_of_many_rules_on_chance_is_rarely_called_better() -> None:
    rng = np.random.default_rng(11)
    low, low_alone = 0, 0
    for world in range(200):
        noise = rng.standard_t(3, (24, 40)) + rng.standard_t(3, 40)  # rules that share most of their days
        p, most = kernel.search_p(noise, np.random.default_rng(world), draws=499)
        low += most <= 0.05
        low_alone += p.min() <= 0.05
    assert low <= 19  # 10 expected of 200; 19 is three deviations off
    assert low_alone > 60  # what the best looks like when the search is not counted


def test_a_real_improvement_is_seen_through_the_search() -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(24, 60))
    noise[7] += 1
    p, most = kernel.search_p(noise, np.random.default_rng(0))
    assert p.argmin() == 7
    assert p[7] <= most <= 0.01


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=6))
@settings(max_examples=30)
def test_p_of_a_few_days_is_the_share_of_all_their_signs(days: list[int]) -> None:
    row = np.array([days], dtype=float)
    p, most = kernel.search_p(row, np.random.default_rng(0), draws=4_000)
    signs = np.array(np.meshgrid(*[[1, -1]] * len(days))).reshape(len(days), -1)
    exact = ((signs * row.T).sum(axis=0) >= row.sum()).mean()
    assert p[0] == pytest.approx(exact, abs=0.04)
    assert most == p[0]
