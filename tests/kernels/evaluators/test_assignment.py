"""Which instants belong together: against every assignment there is, and against scipy's."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from retro.kernels.evaluators.assignment import matched

Instants = list[int]
times = st.lists(st.integers(0, 40), max_size=5).map(sorted)


def ints(values: Instants) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def pairs(ours: Instants, theirs: Instants, reach: int) -> list[tuple[int, int]]:
    i, j = matched(ints(ours), ints(theirs), reach)
    return list(zip(i.tolist(), j.tolist(), strict=True))


def weight(ours: Instants, theirs: Instants, reach: int, chosen: list[tuple[int, int]]) -> int:
    return sum(reach + 1 - abs(ours[i] - theirs[j]) for i, j in chosen)


def best_of_all(ours: Instants, theirs: Instants, reach: int) -> int:
    """Every set of pairs within reach, whether they cross or not."""
    most = 0
    for size in range(1, min(len(ours), len(theirs)) + 1):
        for rows in combinations(range(len(ours)), size):
            for columns in permutations(range(len(theirs)), size):
                chosen = list(zip(rows, columns, strict=True))
                if all(abs(ours[i] - theirs[j]) <= reach for i, j in chosen):
                    most = max(most, weight(ours, theirs, reach, chosen))
    return most


@given(times, times, st.integers(0, 15))
def test_no_assignment_weighs_more_and_each_trade_has_one_partner(
    ours: Instants, theirs: Instants, reach: int
) -> None:
    chosen_pairs = pairs(ours, theirs, reach)
    assert all(abs(ours[i] - theirs[j]) <= reach for i, j in chosen_pairs)
    assert len({i for i, _ in chosen_pairs}) == len({j for _, j in chosen_pairs}) == len(chosen_pairs)
    assert chosen_pairs == sorted(chosen_pairs)
    assert weight(ours, theirs, reach, chosen_pairs) == best_of_all(ours, theirs, reach)
    mirrored = pairs(theirs, ours, reach)
    assert weight(theirs, ours, reach, mirrored) == weight(ours, theirs, reach, chosen_pairs)


@pytest.mark.parametrize("seed", range(20))
def test_scipy_finds_none_that_weighs_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ours, theirs = (sorted(rng.integers(0, 3000, n).tolist()) for n in rng.integers(1, 120, 2))
    reach = int(rng.integers(1, 400))
    distances = np.abs(ints(ours)[:, None] - ints(theirs)[None, :])
    weights = np.where(distances <= reach, reach + 1 - distances, 0)
    rows, columns = linear_sum_assignment(weights, maximize=True)
    assert weight(ours, theirs, reach, pairs(ours, theirs, reach)) == int(weights[rows, columns].sum())


def test_the_nearer_one_is_taken_though_two_distant_pairs_could_be_made() -> None:
    assert pairs([9, 19], [0, 10], 10) == [(0, 1)]


def test_an_edge_still_counts_and_beyond_it_nothing_does() -> None:
    assert pairs([0], [10], 10) == [(0, 0)]
    assert pairs([0], [10], 9) == []
    assert pairs([], [10], 9) == pairs([1], [], 9) == []


@given(times, st.integers(0, 15))
def test_a_list_against_itself_is_matched_one_to_one(instants: Instants, reach: int) -> None:
    assert pairs(instants, instants, reach) == [(i, i) for i in range(len(instants))]
