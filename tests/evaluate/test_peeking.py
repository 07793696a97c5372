"""The promise of every look, through the audit itself: a hundred lives of each kind; `benchmarks/peeking.py` takes 4,000."""

from __future__ import annotations

import math

import pytest

from benchmarks.peeking import Scenario, first_looks
from benchmarks.rule_lives import EXITS, SORTS

LIVES = 100
AT_MOST = 0.10 + 3 * math.sqrt(0.1 * 0.9 / LIVES)
"""Ten in a hundred, and three standard errors of what so few lives show."""


@pytest.mark.parametrize("sort", SORTS)
def test_a_worthless_rule_is_seldom_ever_supported_either_way(sort: str) -> None:
    said = first_looks((Scenario(sort), range(LIVES)))[:, 0, :, 1] > 0
    assert said[:, 0].mean() <= AT_MOST
    assert said[:, 1].mean() <= AT_MOST


@pytest.mark.parametrize("exits", EXITS)
def test_no_way_of_closing_makes_a_worthless_rule_look_sure(exits: str) -> None:
    said = first_looks((Scenario(exits=exits), range(LIVES)))[:, 0, :, 1] > 0
    assert said[:, 0].mean() <= AT_MOST
    assert said[:, 1].mean() <= AT_MOST


def test_a_rule_that_loses_is_demoted_within_the_year() -> None:
    said = first_looks((Scenario(means=(-0.4,)), range(LIVES)))[:, 0, 2, 1] > 0
    assert said.mean() >= 0.9
