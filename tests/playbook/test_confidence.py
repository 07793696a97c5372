"""How far evidence moves a confidence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playbook.confidence import posterior


@pytest.mark.parametrize(
    ("prior", "wins", "n", "expected"),
    [
        (0.62, 0, 0, 0.62),  # no evidence, no move
        (0.62, 1, 3, 0.55),  # (6.2 + 1) / 13
        (0.35, 9, 10, 0.62),  # (3.5 + 9) / 20
        (0.90, 0, 20, 0.30),  # 9 / 30
        (0.50, 50, 100, 0.50),
        (1.0, 0, 10, 0.50),
        (0.0, 10, 10, 0.50),
    ],
)
def test_a_stated_confidence_is_worth_ten_citations(prior: float, wins: int, n: int, expected: float) -> None:
    assert posterior(prior, wins, n) == expected


@given(st.floats(0, 1), st.integers(0, 200), st.integers(0, 200))
@settings(max_examples=300, deadline=None)
def test_a_confidence_lies_between_the_prior_and_the_win_rate_and_rises_with_wins(
    p: float, wins: int, losses: int
) -> None:
    n = wins + losses
    moved = posterior(p, wins, n)
    low, high = sorted((p, wins / n if n else p))
    assert low - 0.005 <= moved <= high + 0.005
    assert posterior(p, wins + 1, n + 1) >= moved
    assert posterior(p, wins, n + 1) <= moved


@pytest.mark.parametrize(("prior", "wins", "n"), [(1.1, 0, 0), (-0.1, 0, 0), (0.5, 3, 2), (0.5, -1, 2)])
def test_impossible_counts_are_refused(prior: float, wins: int, n: int) -> None:
    with pytest.raises(ValueError, match="need 0 <= wins"):
        posterior(prior, wins, n)
