"""What rests on the bets: intervals at every look, clipped gains, break-even, weeks to a verdict, the detector."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels import betting
from retro.kernels.betting import STAKES, Bounds, WeekGrid
from retro.kernels.evaluators import anytime
from retro.kernels.evaluators.anytime import AnytimeInterval, BreakEven, Ripening, StoppedWorking

TWELVE = [-1.0, -2, -3, 1, -2, -1, -4, 2, -1, -3, -2, -1]

sums = st.lists(st.floats(-30, 30).map(lambda x: round(x, 3)), min_size=1, max_size=20).filter(any)


def weekly(x: list[float], size: float, outcomes: list[int] | None = None) -> tuple[WeekGrid, Bounds]:
    """One rule from week 100 on, its bound fixed in its first week of money; an outcome a week unless told."""
    grid = WeekGrid(100, np.array([x], dtype=np.float64), np.array([outcomes or [1] * len(x)]))
    column = int((grid.sums[0] != 0).argmax()) if any(x) else -1
    return grid, Bounds(np.array([size if column >= 0 else math.nan]), np.array([column]), 13)


def e_of_mean(x: list[float], size: float, mean: float) -> float:
    """E against "the mean week is `mean`", written out."""
    shares = [(min(value, size) - mean) / (size - mean) for value in x]
    return float(sum(math.prod(1 - c * share for share in shares) for c in STAKES.tolist()) / 7)


# the interval


@pytest.mark.parametrize(("level", "high"), [(0.20, 0.394), (0.10, 0.711)])
def test_the_golden_ends_of_twelve_weeks(level: float, high: float) -> None:
    """Half of the level stands on each side."""
    (got,) = anytime.mean_intervals(*weekly(TWELVE, 5), level=level)
    assert got.high == pytest.approx(high, abs=6e-4)


@given(sums, st.floats(1, 40))
@settings(max_examples=80, deadline=None)
def test_an_end_is_the_mean_at_which_the_bet_comes_to_forty(x: list[float], size: float) -> None:
    (got,) = anytime.mean_intervals(*weekly(x, size))
    if got.reason == "empty":  # far beyond the bound on one side
        assert max(abs(value) for value in x) > size
        return
    units = [value for value in x if value]
    low = None if got.low is None else -got.low
    for mean, own in ((got.high, units), (low, [-value for value in units])):
        near = 1e-9 * size
        assert (mean is None) == all(value >= size for value in own)
        if mean is not None and mean + near < size:  # nearer, floats cannot tell the mean from the bound
            assert e_of_mean(own, size, mean - near) <= 40 <= e_of_mean(own, size, mean + near)
    assert (got.low is None) or (got.high is None) or got.low < got.high


def test_the_interval_is_about_an_outcome_not_a_week() -> None:
    (a_week,) = anytime.mean_intervals(*weekly([*TWELVE, 0], 5))
    (an_outcome,) = anytime.mean_intervals(*weekly([*TWELVE, 0], 5, [1, 2, 3] * 4 + [90]))
    assert (an_outcome.low, an_outcome.high) == pytest.approx((a_week.low / 2, a_week.high / 2))


def test_where_there_is_no_end_and_no_interval() -> None:
    assert anytime.mean_intervals(*weekly([9.0, 7.0], 5))[0].high is None
    assert anytime.mean_intervals(*weekly([9.0, 7.0], 5))[0].low is not None
    assert anytime.mean_intervals(*weekly([-9.0, -7.0], 5))[0].low is None
    assert anytime.mean_intervals(*weekly([0.0, 0.0], 5)) == [AnytimeInterval(reason="no_bound")]
    assert anytime.mean_intervals(*weekly([-1.0, 1.0], 5, [0, 0])) == [AnytimeInterval(reason="no_outcome")]
    assert anytime.mean_intervals(*weekly([5, 10, 13, 16, -1], 1)) == [AnytimeInterval(reason="empty")]


@given(sums, sums, st.floats(1, 40))
@settings(max_examples=60, deadline=None)
def test_no_figure_of_a_rule_depends_on_the_rules_beside_it(
    x: list[float], y: list[float], size: float
) -> None:
    width = max(len(x), len(y)) + 2
    rows = [[0.0] * (width - len(row)) + row for row in (x, y)]
    grid = WeekGrid(100 + len(x) - width, np.array(rows), np.ones((2, width), dtype=np.int64))
    column = (grid.sums != 0).argmax(axis=1)
    both = grid, Bounds(np.array([size, 2 * size]), column, 13)
    alone = weekly(x, size)
    assert anytime.mean_intervals(*both)[0] == anytime.mean_intervals(*alone)[0]
    assert anytime.weeks_to_verdict(*both, -1.0)[0] == anytime.weeks_to_verdict(*alone, -1.0)[0]
    assert anytime.stopped_working(*both)[0] == anytime.stopped_working(*alone)[0]
    assert [share[0] for share in anytime.clipped_shares(*both)] == [
        share[0] for share in anytime.clipped_shares(*alone)
    ]


@pytest.mark.parametrize("draw", ["normal", "stops"])
def test_the_interval_holds_the_mean_at_every_look(draw: str) -> None:
    """Bounds are known to hold here: at most 5 of 100 lives may ever see the mean outside, in 40 weekly looks."""
    rng, lives = np.random.default_rng(3), 400
    truth, size = 0.3, 5.0
    noise = (
        rng.normal(size=(lives, 40))
        if draw == "normal"
        else np.where(rng.random((lives, 40)) < 0.75, 1, -3.0)
    )
    grid = WeekGrid(0, noise + truth, np.ones((lives, 40), dtype=np.int64))
    outside = np.zeros(lives, dtype=bool)
    for weeks in range(1, 41, 3):
        look = WeekGrid(0, grid.sums[:, :weeks], grid.outcomes[:, :weeks])
        got = anytime.mean_intervals(look, Bounds(np.full(lives, size), np.zeros(lives, dtype=np.int64), 13))
        outside |= np.array([not (i.low or -math.inf) <= truth <= (i.high or math.inf) for i in got])
    assert outside.mean() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / lives)


# what the bets did not count


def test_the_share_of_gains_beyond_the_bound() -> None:
    """Gains 2 + 9 + 5, of which 4 lie beyond 5; losses 7 + 1, of which 2."""
    gains, losses = anytime.clipped_shares(*weekly([2, 9, -7, 0, 5, -1], 5))
    assert gains.tolist() == [4 / 16]
    assert losses.tolist() == [2 / 8]


def test_without_gains_nothing_is_clipped_and_without_a_bound_nothing_is_known() -> None:
    gains, losses = anytime.clipped_shares(*weekly([-2, -9], 5))
    assert (gains.tolist(), losses.tolist()) == ([0.0], [4 / 11])
    assert np.isnan(anytime.clipped_shares(*weekly([0], 5))).all()


def test_the_gain_that_would_bring_a_rule_back_to_nothing() -> None:
    assert anytime.break_even(TWELVE) == BreakEven(17.0, 2.0)
    assert anytime.break_even([-2.0, -0.5]) == BreakEven(2.5, None)
    assert anytime.break_even([3.0, -3.0]) is None
    assert anytime.break_even([3.0]) is None
    assert anytime.break_even([]) is None


# how long a verdict takes


def slow_weeks(x: list[float], size: float, mean: float) -> float:
    """Bets needed from 1 to 10 at that mean, by each stake in turn."""
    shifted = [value - sum(x) / len(x) + mean for value in x]
    growth = max(
        sum(math.log(1 - c * min(value, size) / size) for value in shifted) / len(x) for c in STAKES.tolist()
    )
    return math.log(10) / growth


def test_weeks_until_a_verdict_at_the_threshold_not_at_what_was_seen() -> None:
    """Ten weeks since the bound, five with money, two outcomes each: twice as many weeks as bets."""
    x = [0.0, 3.0, 0.0, -1.0, 0.0, -4.0, 0.0, 2.0, 0.0, -1.0, 0.0]
    grid, bound = weekly(x, 9.0, [2] * len(x))
    needed = slow_weeks([3, -1, -4, 2, -1], 9.0, -2.0)
    (got,) = anytime.weeks_to_verdict(grid, bound, -1.0)
    assert got == Ripening(bets=5, weeks=math.ceil(2 * needed))
    better = weekly([value and value + 5 for value in x], 9.0, [2] * len(x))
    assert anytime.weeks_to_verdict(*better, -1.0)[0] == got
    (half,) = anytime.weeks_to_verdict(grid, bound, -1.0, math.log(math.sqrt(10)))
    assert half.weeks == math.ceil(needed)
    assert anytime.weeks_to_verdict(grid, bound, -1.0, [math.log(11)])[0].weeks == 0


def test_a_promotion_is_asked_of_the_bets_for() -> None:
    grid, bound = weekly(TWELVE, 9.0)
    mirrored = weekly([-x for x in TWELVE], 9.0)
    assert anytime.weeks_to_verdict(grid, bound, -0.5) == anytime.weeks_to_verdict(*mirrored, 0.5)


def test_when_there_is_no_date() -> None:
    assert anytime.weeks_to_verdict(*weekly([0.0], 5), -1.0) == [Ripening(0, None, "no_bound")]
    assert anytime.weeks_to_verdict(*weekly([3.0, 0.0], 5), -1.0) == [Ripening(1, None, "one_week")]
    assert anytime.weeks_to_verdict(*weekly([3.0, -1.0], 5, [0, 0]), -1.0) == [
        Ripening(2, None, "no_outcome")
    ]
    assert anytime.weeks_to_verdict(*weekly([30.0, -31.0] * 9, 60), -0.1) == [Ripening(18, None, "never")]
    assert anytime.weeks_to_verdict(*weekly([3.0, -1.0], 5), 0.0) == [Ripening(2, None, "never")]


# the detector


def test_a_rule_that_stops_working_is_noticed_with_the_week_it_began() -> None:
    """Twenty good weeks at B/2, then losses of 2 B: M starts at 1 again and grows by 1 + 2 * 3.1 / 7 a week."""
    grid, bound = weekly([0.0] + [2.5] * 20 + [-10.0] * 10, 5)
    (got,) = anytime.stopped_working(grid, bound)
    assert got == StoppedWorking(alarm=True, since=121, m=got.m)
    assert got.m == pytest.approx((1 + 6.2 / 7) ** 10)
    assert 1.885714**9 < 520 < 1.885714**10
    (earlier,) = anytime.stopped_working(WeekGrid(100, grid.sums[:, :-1], grid.outcomes[:, :-1]), bound)
    assert (earlier.alarm, earlier.since) == (False, None)


def test_the_detector_by_hand() -> None:
    """M = max(M before, 1) f: 1 - .443 * .4, then from 1 again; a week without money changes nothing."""
    f = 3.1 / 7
    (got,) = anytime.stopped_working(*weekly([2.0, -1.0, 0.0, 1.0], 5))
    assert got.m == pytest.approx((1 + f / 5) * (1 - f / 5))
    (good,) = anytime.stopped_working(*weekly([2.0, 0.0], 5))
    assert good.m == pytest.approx(1 - f * 2 / 5)
    assert anytime.stopped_working(*weekly([0.0], 5)) == [None]


def test_an_alarm_is_not_taken_back() -> None:
    (got,) = anytime.stopped_working(*weekly([-10.0] * 10 + [5.0] * 30, 5))
    assert (got.alarm, got.since) == (True, 100)
    assert got.m < 1


def test_false_alarms_come_once_in_ten_years_at_most() -> None:
    """Within a year at most 52 of 520 rules worth nothing: far fewer here."""
    rng = np.random.default_rng(5)
    grid = WeekGrid(0, rng.normal(size=(3000, 52)), np.ones((3000, 52), dtype=np.int64))
    bound = Bounds(np.full(3000, 3.0), np.zeros(3000, dtype=np.int64), 13)
    alarms = [row.alarm for row in anytime.stopped_working(grid, bound)]
    assert np.mean(alarms) <= 52 / 520
    assert betting.STAKES.mean() == pytest.approx(3.1 / 7)


# many rules at once


@given(st.lists(sums, min_size=1, max_size=6), st.floats(1, 40))
@settings(max_examples=60, deadline=None)
def test_rules_of_every_length_side_by_side_say_what_each_says_alone(
    lives: list[list[float]], size: float
) -> None:
    width = max(map(len, lives))
    rows = np.array([[0.0] * (width - len(x)) + x for x in lives])
    grid = WeekGrid(100, rows, (rows != 0).astype(np.int64))
    bound = Bounds(np.full(len(rows), size), (rows != 0).argmax(axis=1), 13)
    thresholds = [-0.5 if number % 2 else 0.25 for number in range(len(rows))]
    together = [
        anytime.mean_intervals(grid, bound),
        anytime.weeks_to_verdict(grid, bound, thresholds),
        anytime.stopped_working(grid, bound),
    ]
    for row in range(len(rows)):
        alone = WeekGrid(100, rows[row : row + 1], grid.outcomes[row : row + 1])
        own = Bounds(bound.size[:1], bound.column[row : row + 1], 13)
        assert [part[row] for part in together] == [
            anytime.mean_intervals(alone, own)[0],
            anytime.weeks_to_verdict(alone, own, thresholds[row])[0],
            anytime.stopped_working(alone, own)[0],
        ]


@given(sums, st.floats(1, 40))
@settings(max_examples=80, deadline=None)
def test_an_end_is_the_one_that_halving_alone_comes_to(x: list[float], size: float) -> None:
    """To the last bit: on which side of the end a mean lies is only taken as known where it is certain."""
    grid, bound = weekly(x, size)
    (got,) = anytime.mean_intervals(grid, bound)
    units = np.array([value for value in x if value])[None]
    ends: list[float | None] = []
    for own in (units, -units):
        clipped, bet = np.minimum(own, size), np.ones(own.shape, dtype=bool)
        low, high = float(clipped.min()), size
        if low >= high:
            ends.append(None)
            continue
        while high - low > 1e-12 * size and low < (middle := (low + high) / 2) < high:
            log_e = anytime._log_e(clipped, bet, np.array([size]), np.array([middle]))[0]
            low, high = (low, middle) if log_e >= math.log(40) else (middle, high)
        ends.append((low + high) / 2)
    if got.reason is None:
        assert got.high == ends[0]
        assert got.low == (None if ends[1] is None else -ends[1])


def test_thousands_of_rules_held_once_or_twice_are_reckoned_by_their_own_weeks() -> None:
    """Not by all weeks of the longest life: of 3,000 rules in 300 weeks, 6,000 cells and not 900,000."""
    rows = np.zeros((3000, 300))
    rows[np.arange(3000), np.arange(3000) % 300], rows[0] = -1.0, 1.0
    cells = [weeks.bet.size for weeks in betting.packed(rows != 0)]
    assert sum(cells) < 6000 + 300
    assert max(cells) <= 1 << 15
