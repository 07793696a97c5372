"""Breakdowns of closed positions, fee drag, concentration, streaks, disposition and the calendar."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels import breakdowns
from retro.kernels.breakdowns import ClosedPositions
from tests.worlds.places import GOLDEN

LOTS = json.loads((GOLDEN / "lots_and_seed.json").read_text())

amounts = st.lists(st.floats(-1e4, 1e4), max_size=40)
labelled = st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.floats(-1e4, 1e4)), max_size=40)


def closed(
    pnl: Sequence[float],
    r: Sequence[float] | None = None,
    hold_s: Sequence[float] | None = None,
    regret_ratio: Sequence[float] | None = None,
    vs_inaction: Sequence[float] | None = None,
) -> ClosedPositions:
    absent = [math.nan] * len(pnl)
    columns = (pnl, r or absent, hold_s or absent, regret_ratio or absent, vs_inaction or absent)
    return ClosedPositions(*(np.array(column, dtype=float) for column in columns))


def test_a_row_worked_by_hand() -> None:
    nan = math.nan
    positions = closed(
        pnl=[4.0, -1.0, 0.0, 9.0],
        r=[2.0, nan, 0.0, 1.0],
        hold_s=[60, 120, 180, 1],
        regret_ratio=[nan, nan, 0.5, 1.0],
        vs_inaction=[4.0, -1.0, 0.0, nan],
    )
    solo, trio = sorted(
        breakdowns.breakdown(["ETH", "ETH", "ETH", "BTC"], positions), key=lambda row: row.key
    )
    assert (trio.key, trio.n, trio.pnl, trio.win_rate, trio.expectancy) == ("ETH", 3, 3.0, 1 / 3, 1.0)
    assert (trio.expectancy_r, trio.mean_hold_s, trio.mean_regret_ratio) == (1.0, 120.0, 0.5)
    assert (trio.share_below_inaction, trio.ranked) == (1 / 3, True)
    assert (solo.key, solo.share_below_inaction, solo.ranked) == ("BTC", None, False)


def test_rows_with_fewer_than_three_positions_are_ranked_nowhere() -> None:
    labels = ["thin"] * 2 + ["poor"] * 3 + ["good"] * 3 + ["also thin"]
    rows = breakdowns.breakdown(labels, closed([100.0, 100.0, -1, -1, -1, 2, 2, 2, -50]))
    assert [(row.key, row.ranked) for row in rows] == [
        ("good", True),
        ("poor", True),
        ("also thin", False),
        ("thin", False),
    ]


def test_a_natural_order_is_kept() -> None:
    rows = breakdowns.breakdown(
        ["Sun", "Mon", "Mon", "Wed"], closed([1.0, 2.0, 3.0, 4.0]), breakdowns.WEEKDAYS
    )
    assert [row.key for row in rows] == ["Mon", "Wed", "Sun"]
    assert breakdowns.HOURS[9] == "09"


@given(labelled)
@settings(max_examples=100, deadline=None)
def test_rows_add_up_to_the_labelled_positions(rows: list[tuple[str | None, float]]) -> None:
    labels, pnl = [label for label, _ in rows], [value for _, value in rows]
    got = breakdowns.breakdown(labels, closed(pnl))
    labelled_pnl = [value for label, value in rows if label is not None]
    assert math.fsum(row.pnl for row in got) == pytest.approx(math.fsum(labelled_pnl), abs=1e-9)
    assert sum(row.n for row in got) == len(labelled_pnl)
    assert sum(round(row.win_rate * row.n) for row in got) == sum(value > 0 for value in labelled_pnl)
    assert {row.key for row in got} == {label for label in labels if label is not None}


@given(labelled, st.randoms())
@settings(max_examples=60, deadline=None)
def test_the_order_of_positions_does_not_change_a_bit(
    rows: list[tuple[str | None, float]], shuffle: random.Random
) -> None:
    def run() -> Any:
        return breakdowns.breakdown([label for label, _ in rows], closed([value for _, value in rows]))

    before = run()
    shuffle.shuffle(rows)
    assert run() == before


def test_holding_time_buckets_include_their_start_only() -> None:
    seconds = [0, 3599, 3600, 4 * 3600, 86400, 3 * 86400, 7 * 86400, 14 * 86400, 30 * 86400, math.nan]
    expected = [breakdowns.HOLDING_TIMES[i] for i in (0, 0, 1, 2, 3, 4, 5, 6, 7)]
    assert breakdowns.holding_times(seconds) == [*expected, None]


# single figures


def test_fee_drag_is_costs_over_gains_before_costs() -> None:
    """Gains before costs 10 + 2, a loss of 3; costs 1 + 2.5 + 0.5, and 2 that belong to no position."""
    assert breakdowns.fee_drag([9.0, -0.5, -3.5], [1.0, 2.5, 0.5]) == pytest.approx(4 / 12)
    assert breakdowns.fee_drag([9.0, -0.5, -3.5], [1.0, 2.5, 0.5], 2.0) == pytest.approx(6 / 12)
    assert breakdowns.fee_drag([-1.0], [0.5]) is None
    assert breakdowns.fee_drag([], []) is None


def test_concentration_is_the_largest_gain_over_the_net() -> None:
    assert breakdowns.concentration([6.0, 3.0, -1.0]) == 0.75
    assert breakdowns.concentration([8.0, -6.0]) == 4.0
    assert breakdowns.concentration([1.0, -1.0]) is None
    assert breakdowns.concentration([]) is None


@given(amounts)
@settings(max_examples=100, deadline=None)
def test_longest_losing_streak_counts_losses_in_a_row(pnl: list[float]) -> None:
    longest = run = 0
    for value in pnl:
        run = run + 1 if value < 0 else 0
        longest = max(longest, run)
    assert breakdowns.longest_losing_streak(pnl) == longest


def test_a_break_even_trade_ends_a_losing_streak() -> None:
    assert breakdowns.longest_losing_streak([-1, -1, 0, -1, 5]) == 2
    assert breakdowns.longest_losing_streak([]) == 0


# disposition


def test_disposition_of_the_published_example() -> None:
    row = LOTS["disposition"]["barber_odean_daymon_rosalie"]
    sold = [1.0] * row["realized_gains"] + [-1.0] * row["realized_losses"]
    paper = [1.0] * row["paper_gains"] + [-1.0] * row["paper_losses"]
    got = breakdowns.disposition(sold, [3] * len(sold), paper, [3] * len(paper))
    assert (got.pgr, got.plr) == (row["PGR"], row["PLR"])


def test_paper_positions_count_only_on_days_with_a_sale() -> None:
    got = breakdowns.disposition([5.0, 0.0], [1, 2], [1.0, 1.0, -1.0, 0.0], [1, 7, 2, 2])
    assert (got.realised_gains, got.paper_gains, got.realised_losses, got.paper_losses) == (1, 1, 0, 1)
    assert (got.pgr, got.plr) == (0.5, 0.0)
    nothing = breakdowns.disposition([], [], [1.0], [1])
    assert (nothing.paper_gains, nothing.pgr, nothing.plr) == (0, None, None)


@given(amounts, amounts)
@settings(max_examples=60, deadline=None)
def test_turning_every_sign_swaps_gains_and_losses(sold: list[float], paper: list[float]) -> None:
    base = breakdowns.disposition(sold, [1] * len(sold), paper, [1] * len(paper))
    turned = breakdowns.disposition(
        [-x for x in sold], [1] * len(sold), [-x for x in paper], [1] * len(paper)
    )
    assert (turned.pgr, turned.plr) == (base.plr, base.pgr)


# calendar


def test_calendar_has_every_day_of_the_period_and_no_other() -> None:
    got = breakdowns.calendar([11, 13, 13, 9, 14], [1.0, 2.0, -5.0, 99.0, 99.0], 10, 13)
    assert [(day.day, day.pnl, day.n) for day in got] == [
        (10, 0.0, 0),
        (11, 1.0, 1),
        (12, 0.0, 0),
        (13, -3.0, 2),
    ]
    assert breakdowns.calendar([], [], 5, 4) == ()


@given(st.lists(st.tuples(st.integers(-5, 5), st.floats(-1e4, 1e4)), max_size=40))
@settings(max_examples=60, deadline=None)
def test_calendar_adds_up_to_the_period(rows: list[tuple[int, float]]) -> None:
    got = breakdowns.calendar([day for day, _ in rows], [value for _, value in rows], -5, 5)
    assert math.fsum(day.pnl for day in got) == pytest.approx(math.fsum(value for _, value in rows), abs=1e-9)
    assert sum(day.n for day in got) == len(rows)
