"""Drift of habits: weeks worked by hand, an alarm that is rarely wrong whatever moves together, notices, and clears."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.insight.drift import WEEK, Drift, drift
from memory.instants import DAY, instant

MONDAY = instant("2024-01-01T00:00:00Z")
"""A Monday."""
SCALE_WEEKS = [1.0, -1.0] * 6 + [1.0]
"""13 weeks of rms 1: the bound is 3."""


def in_weeks(sums: Sequence[float | None], until: int | None = None) -> Drift:
    """The drift of one trade a week, on its Wednesday; a week of None has no trade."""
    places = [place for place, x in enumerate(sums) if x is not None]
    at = np.array([MONDAY + place * WEEK + 2 * DAY for place in places], dtype=np.int64)
    r = np.array([sums[place] for place in places], dtype=np.float64)
    return drift(at, r, until=MONDAY + len(sums) * WEEK if until is None else until)


def monday(place: int) -> int:
    return MONDAY + place * WEEK


def test_weeks_worked_by_hand() -> None:
    """f = 1 - 31/70 min(x, 3)/3: a week of -3 makes 101/70, one of +3 or more 39/70, one of -9 163/70."""
    stake = sum(Fraction(c) for c in ("0.05", "0.1", "0.2", "0.4", "0.6", "0.8", "0.95")) / 7
    assert stake == Fraction(31, 70)
    assert 1 + 3 * stake == Fraction(163, 70)
    # -3, then +3, leaves 3939/4900 < 1: a restart, and 8 weeks of -9 (7: 371, 8: 864) are the run
    assert Fraction(101, 70) * Fraction(39, 70) == Fraction(3939, 4900)
    assert Fraction(163, 70) ** 7 < 520 <= Fraction(163, 70) ** 8
    quiet = in_weeks([*SCALE_WEEKS, -3, 3, *[-9] * 7])
    assert (quiet.detected, quiet.alarms, quiet.weeks, quiet.bets) == (False, 0, 22, 9)
    raised = in_weeks([*SCALE_WEEKS, -3, 3, *[-9] * 8])
    assert (raised.detected, raised.direction, raised.alarms) == (True, "degrading", 1)
    assert (raised.start_at, raised.alarm_at, raised.cleared_at) == (monday(15), monday(23), None)
    assert (raised.mean_r_before, raised.mean_r_since) == (pytest.approx(1 / 15), -9.0)
    # the other way round the run is not cut: 163/70 x 39/70 = 1.30, x (163/70)^7 = 481, ^8 = 1121
    assert 481 < Fraction(163, 70) ** 8 * Fraction(39, 70) < 482
    assert not in_weeks([*SCALE_WEEKS, -9, 3, *[-9] * 7]).detected
    uncut = in_weeks([*SCALE_WEEKS, -9, 3, *[-9] * 8])
    assert (uncut.start_at, uncut.alarm_at) == (monday(13), monday(23))


def test_a_steady_loss_of_the_bound_is_noticed_in_eighteen_weeks() -> None:
    assert Fraction(101, 70) ** 17 < 520 <= Fraction(101, 70) ** 18
    assert not in_weeks([*SCALE_WEEKS, *[-3] * 17]).detected
    assert in_weeks([*SCALE_WEEKS, *[-3] * 18]).alarm_at == monday(31)


def test_a_gain_counts_against_an_alarm_up_to_the_bound_and_no_further() -> None:
    """One lottery win does not undo what the other weeks say; the share that was not counted is printed."""
    for win, clipped in ((3, 0.0), (12, 0.75), (300, 0.99)):
        raised = in_weeks([*SCALE_WEEKS, win, *[-9] * 8])
        assert (raised.direction, raised.start_at, raised.clipped) == ("degrading", monday(14), 0.0)
        won = in_weeks([*SCALE_WEEKS, *[-9] * 8, win])
        assert (won.direction, won.clipped) == ("degrading", pytest.approx(clipped))
        assert (in_weeks([-x for x in [*SCALE_WEEKS, *[-9] * 8, win]])).clipped == won.clipped


@pytest.mark.parametrize("weeks", range(13))
def test_before_thirteen_weeks_nothing_is_said_and_the_missing_are_counted(weeks: int) -> None:
    unknown = in_weeks([-5.0] * weeks)
    assert (unknown.detected, unknown.alarms, unknown.direction) == (None, None, None)
    assert (unknown.weeks, unknown.weeks_missing) == (weeks, 13 - weeks)
    assert unknown.reason == f"its scale is not known yet: {weeks} of 13 weeks, {13 - weeks} missing"


def test_weeks_of_nothing_fix_no_bound_and_the_next_one_tries_again() -> None:
    unknown = in_weeks([0.0] * 20)
    assert (unknown.detected, unknown.weeks_missing) == (None, 1)
    assert unknown.reason is not None
    # the 21st fixes it: rms = 1/sqrt(21), B = 3/sqrt(21); no week has been bet on
    fixed = in_weeks([*[0.0] * 20, 1.0])
    assert (fixed.detected, fixed.bets, fixed.reason) == (False, 0, None)
    bound = 3 / math.sqrt(21)
    assert in_weeks([*[0.0] * 20, 1.0, *[-bound] * 17]).detected is False
    assert in_weeks([*[0.0] * 20, 1.0, *[-bound] * 18]).start_at == monday(21)


def test_weeks_without_a_trade_are_no_unit_and_an_unfinished_week_is_none_yet() -> None:
    sums = [*SCALE_WEEKS[:5], None, None, *SCALE_WEEKS[5:], *[-9] * 4, None, *[-9] * 4]
    raised = in_weeks(sums)
    assert (raised.weeks, raised.start_at, raised.alarm_at) == (21, monday(15), monday(24))
    assert in_weeks(sums, until=monday(24)) == raised
    assert in_weeks(sums, until=monday(24) - 1).detected is False


def test_an_alarm_stands_until_26_weeks_pass_without_a_further_one() -> None:
    """A flag that never clears says nothing; while it stands a further one prolongs it."""
    life = [*SCALE_WEEKS, *[-9] * 8]
    stands = in_weeks([*life, *[0.5, -0.5] * 12, 0.5])
    assert (stands.detected, stands.cleared_at) == (True, None)
    cleared = in_weeks([*life, *[0.5, -0.5] * 30])
    assert (cleared.detected, cleared.alarms) == (False, 1)
    assert (cleared.start_at, cleared.alarm_at, cleared.cleared_at) == (monday(13), monday(21), monday(47))
    assert cleared.mean_r_since == pytest.approx(-9 * 8 / 34)
    prolonged = in_weeks([*life, *[0.5, -0.5] * 5, *[-9] * 8, *[0.5, -0.5] * 30])
    assert (prolonged.alarms, prolonged.start_at, prolonged.alarm_at) == (2, monday(13), monday(21))
    assert prolonged.cleared_at == monday(21 + 10 + 8 + 26)
    turned = in_weeks([*life, *[9] * 8])
    assert (turned.direction, turned.alarms, turned.start_at) == ("improving", 2, monday(21))


def test_the_words_claim_what_was_tested() -> None:
    assert in_weeks([*SCALE_WEEKS, *[-9] * 8]).words == (
        "it has been losing since the week of 2024-04-01, noticed on 2024-05-27"
    )
    assert in_weeks([*SCALE_WEEKS, *[9] * 8]).words == (
        "it has been gaining since the week of 2024-04-01, noticed on 2024-05-27"
    )
    assert in_weeks([*SCALE_WEEKS, *[9] * 8, *[0.0] * 26]).words == (
        "it gained from the week of 2024-04-01 on, noticed on 2024-05-27, cleared on 2024-11-25"
    )
    assert in_weeks([*SCALE_WEEKS, 1.0]).words == (
        "no alarm in 1 week bet on: nothing says that it loses or gains"
    )
    # gains 3 and 9, of which 6 beyond the bound: half
    assert in_weeks([*SCALE_WEEKS, *[-9] * 8, 3, 9]).words.endswith(
        "2024-05-27, not counting 50 % of its gains"
    )
    assert in_weeks([1.0] * 5).words == "unknown: its scale is not known yet: 5 of 13 weeks, 8 missing"


def test_what_still_gains_is_not_called_losing_however_much_less_it_is() -> None:
    """The null is that weeks come to no less than nothing, not that they are as good as before."""
    assert in_weeks([*[5.0, 4.0] * 7, *[0.1] * 200]).direction != "degrading"


trades = st.lists(st.tuples(st.integers(0, 60 * 7 - 1), st.integers(-8, 8)), min_size=60, max_size=400)
lives = st.builds(
    lambda life, step: [(day, r + step * (day >= 20 * 7)) for day, r in life], trades, st.integers(-12, 12)
)
"""(day, R) of 60 weeks, whose level may change in the 21st."""


def of_days(life: Sequence[tuple[int, float]], scale: float = 1.0) -> Drift:
    """The drift of (day, R) trades, in order of their days, over 60 weeks."""
    ordered = sorted(life, key=lambda trade: trade[0])
    at = np.array([MONDAY + day * DAY for day, _ in ordered], dtype=np.int64)
    return drift(at, np.array([r * scale for _, r in ordered]), until=monday(60))


@given(lives, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_the_order_of_trades_within_a_week_moves_nothing(life: list[tuple[int, float]], rng: Random) -> None:
    ordered = sorted((day // 7, r / 10) for day, r in life)  # tenths: sums that rounding could tell apart
    moved = sorted((week, rng.random(), r) for week, r in ordered)
    assert of_days([(7 * week, r) for week, _, r in moved]) == of_days([(7 * week, r) for week, r in ordered])


@given(lives)
@settings(deadline=None, max_examples=60)
def test_another_unit_and_the_other_sign_move_nothing_else(life: list[tuple[int, float]]) -> None:
    """R and B in another unit (a power of two: exactly) leave every date; losses for gains mirror them."""
    plain, scaled, mirrored = of_days(life), of_days(life, 1024.0), of_days(life, -1.0)
    unmoved = (
        "detected",
        "start_at",
        "alarm_at",
        "cleared_at",
        "alarms",
        "weeks",
        "bets",
        "weeks_missing",
        "clipped",
    )
    for name in unmoved:
        assert getattr(plain, name) == getattr(scaled, name) == getattr(mirrored, name)
    assert plain.direction == scaled.direction
    sides = {"improving": "degrading", "degrading": "improving", None: None}
    assert mirrored.direction == sides[plain.direction]


@given(lives)
@settings(deadline=None, max_examples=60)
def test_what_is_called_losing_when_it_is_noticed_has_lost(life: list[tuple[int, float]]) -> None:
    """log(1 - u) <= -u: a run that wins has a sum below 0, unless gains beyond the bound were left out."""
    last = of_days(life)
    if last.alarm_at is None:
        return
    ordered = sorted(life, key=lambda trade: trade[0])
    at = np.array([MONDAY + day * DAY for day, _ in ordered], dtype=np.int64)
    r = np.array([float(x) for _, x in ordered])
    noticed = drift(at, r, until=last.alarm_at)
    assert (noticed.detected, noticed.direction, noticed.start_at) == (True, last.direction, last.start_at)
    assert noticed.mean_r_since is not None
    if noticed.clipped == 0.0:
        assert (noticed.mean_r_since < 0) == (noticed.direction == "degrading")


def test_days_that_move_together_raise_few_false_alarms() -> None:
    """10 trades a day that share .4 of their variance, 52 weeks: at most 1 life in 10 is ever alarmed.

    One standing alarm or a cleared one counts alike: `alarms` keeps every one.
    """
    rng = np.random.default_rng(2026)
    day = MONDAY + np.repeat(np.arange(52 * 7), 10) * DAY
    alarmed = 0
    for _ in range(200):
        shared = np.repeat(rng.standard_normal(52 * 7), 10)
        r = math.sqrt(0.4) * shared + math.sqrt(0.6) * rng.standard_normal(len(shared))
        alarmed += bool(drift(day, r, until=monday(52)).alarms)
    assert alarmed <= 20


@pytest.mark.parametrize("shape", ["normal", "small losses and larger wins", "small wins and larger losses"])
def test_a_false_alarm_comes_no_oftener_than_every_ten_years(shape: str) -> None:
    """Two detectors, each at most once in 520 weeks on average, in lives of 533 weeks without an edge."""
    rng = np.random.default_rng(7)
    alarms = 0
    for _ in range(100):
        if shape == "normal":
            x = rng.standard_normal(533)
        else:
            x = np.where(rng.random(533) < 0.75, -1.0, 3.0) * (1 if "wins" in shape[-10:] else -1)
        alarms += in_weeks(x.tolist()).alarms or 0
    assert alarms <= 200


@pytest.mark.parametrize(("step", "direction"), [(1.5, "improving"), (-1.5, "degrading")])
def test_a_change_of_level_is_noticed_dated_and_measured(step: float, direction: str) -> None:
    """From a mean of 0 to 1.5 standard deviations of a week: half within 36 weeks, nine of ten within 45.

    The run that wins began, on average, some weeks before the fall: where chance had already left the wealth above 1.
    """
    rng = np.random.default_rng(5)
    delays, starts = [], []
    for _ in range(200):
        x = rng.standard_normal(52 + 52)
        x[52:] += step
        change = in_weeks(x.tolist())
        if change.direction != direction or change.start_at is None or change.alarm_at is None:
            continue
        delays.append((change.alarm_at - monday(52)) / WEEK)
        starts.append((change.start_at - monday(52)) / WEEK)
        assert change.mean_r_before is not None
        assert change.mean_r_since is not None
        assert (change.mean_r_since > change.mean_r_before) == (step > 0)
    assert len(delays) >= 190
    assert np.median(delays) <= 36
    assert np.quantile(delays, 0.9) <= 45
    assert -16 <= np.median(starts) <= 3
