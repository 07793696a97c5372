"""Running sums are what `fsum` gives of each beginning, to the last digit."""

from __future__ import annotations

from math import fsum

from hypothesis import example, given
from hypothesis import strategies as st

from retro.kernels.sums import exact_parts, running_sums

amounts = st.lists(st.floats(-1e300, 1e300), max_size=60)


@given(amounts)
@example([1e16, 1.0, -1e16])
@example([0.1] * 10)
@example([1e300, 1e-300, -1e300])
def test_every_beginning_is_summed_as_by_itself(values: list[float]) -> None:
    assert running_sums(values) == [fsum(values[:k]) for k in range(len(values) + 1)]


def test_a_hundred_million_and_a_cent_less_a_hundred_million_are_a_cent() -> None:
    assert running_sums([1e16, 0.01, -1e16]) == [0.0, 1e16, 1e16, 0.01]


@given(amounts, amounts)
@example([1e16, 1.0, -1e16], [])
@example([0.1] * 10, [0.3])
def test_parts_of_several_lists_are_the_parts_of_all(first: list[float], later: list[float]) -> None:
    parts = exact_parts(first + later)
    assert exact_parts([*exact_parts(first), *exact_parts(later)]) == parts
    assert (parts[0] if parts else 0.0) == fsum(first + later)
