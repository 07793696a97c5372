"""What newly told marks make stale: the time that any instrument's are of, and nothing between."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from retro.app.settlement.invalidation import united

spans = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)).map(lambda s: (s[0], s[0] + s[1])))


@given(spans)
def test_stretches_that_meet_are_one_and_cover_what_each_covered(stretches: list[tuple[int, int]]) -> None:
    whole = united(stretches)
    for half in range(80):  # every instant, and each between two
        at = half / 2
        assert any(a <= at <= b for a, b in whole) == any(a <= at <= b for a, b in stretches)
    assert all(before[1] < after[0] for before, after in pairwise(whole))
