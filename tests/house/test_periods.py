"""The calendar: every instant lies in exactly one day, week and epoch, whatever the clocks of a zone do."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta
from typing import get_args
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from retro.errors import UsageError
from retro.periods import (
    DAY,
    HOUR,
    SECOND,
    Horizon,
    Period,
    day_of,
    day_starts,
    format_instant,
    midnight,
    parse_duration,
    parse_instant,
    period_at,
    period_before,
    zone,
)

T = parse_instant
ZONES = sorted(available_timezones())
AWKWARD = [
    "UTC",
    "America/New_York",  # 02:00 both ways
    "Europe/London",
    "Australia/Sydney",
    "Australia/Lord_Howe",  # moves by half an hour
    "America/Santiago",  # spring skips midnight
    "Asia/Beirut",  # spring skips midnight
    "Africa/Cairo",  # spring skips midnight
    "America/Havana",  # autumn repeats the first hour of the day
    "Atlantic/Azores",  # autumn repeats the first hour of the day
    "America/St_Johns",  # until 2011 the clock went back over midnight, at 00:01
    "America/Toronto",  # in 1919 the gap went from 23:30 to 00:30
    "Pacific/Apia",  # skipped 2011-12-30
    "Pacific/Kwajalein",  # skipped 1993-08-21, lived 1969-09-30 twice
    "Asia/Kathmandu",
    "Africa/Casablanca",
    "Antarctica/Troll",
]
instants = st.integers(T("1900-01-01T00:00:00Z"), T("2100-01-01T00:00:00Z"))
zones = st.sampled_from(AWKWARD) | st.sampled_from(ZONES)
horizons = st.sampled_from(get_args(Horizon))
law = settings(deadline=None, max_examples=150)


def hours(period: Period) -> float:
    return (period.end - period.start) / HOUR


@pytest.mark.parametrize(
    ("name", "at", "start", "length", "key"),
    [
        ("America/New_York", "2026-03-08T12:00:00Z", "2026-03-08T05:00:00Z", 23, "2026-03-08"),
        ("America/New_York", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", 25, "2026-11-01"),
        ("Europe/London", "2026-03-29T12:00:00Z", "2026-03-29T00:00:00Z", 23, "2026-03-29"),
        ("Europe/London", "2026-10-25T12:00:00Z", "2026-10-24T23:00:00Z", 25, "2026-10-25"),
        ("Australia/Sydney", "2026-04-04T15:00:00Z", "2026-04-04T13:00:00Z", 25, "2026-04-05"),
        ("Australia/Sydney", "2026-10-04T00:00:00Z", "2026-10-03T14:00:00Z", 23, "2026-10-04"),
        ("Australia/Lord_Howe", "2026-04-04T15:00:00Z", "2026-04-04T13:00:00Z", 24.5, "2026-04-05"),
        ("Australia/Lord_Howe", "2026-10-04T00:00:00Z", "2026-10-03T13:30:00Z", 23.5, "2026-10-04"),
        ("America/Santiago", "2026-09-06T12:00:00Z", "2026-09-06T04:00:00Z", 23, "2026-09-06"),
        ("America/Santiago", "2026-04-04T12:00:00Z", "2026-04-04T03:00:00Z", 25, "2026-04-04"),
        ("Asia/Beirut", "2026-03-29T12:00:00Z", "2026-03-28T22:00:00Z", 23, "2026-03-29"),
        ("Asia/Beirut", "2026-10-24T12:00:00Z", "2026-10-23T21:00:00Z", 25, "2026-10-24"),
        ("Africa/Cairo", "2026-04-24T12:00:00Z", "2026-04-23T22:00:00Z", 23, "2026-04-24"),
        ("America/Havana", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", 25, "2026-11-01"),
        ("America/Toronto", "1919-03-31T12:00:00Z", "1919-03-31T04:30:00Z", 23.5, "1919-03-31"),
        ("Asia/Kathmandu", "2026-06-01T00:00:00Z", "2026-05-31T18:15:00Z", 24, "2026-06-01"),
    ],
)
def test_a_day_with_a_clock_change_has_its_real_length(
    name: str, at: str, start: str, length: float, key: str
) -> None:
    day = period_at("daily", T(at), zone(name))
    assert (format_instant(day.start), hours(day), day.key) == (start, length, key)


@pytest.mark.parametrize(
    ("name", "at", "start", "length"),
    [
        ("America/New_York", "2026-03-05T00:00:00Z", "2026-03-02T05:00:00Z", 167),
        ("America/New_York", "2026-03-09T04:00:00Z", "2026-03-09T04:00:00Z", 168),
        ("America/New_York", "2026-10-28T00:00:00Z", "2026-10-26T04:00:00Z", 169),
        ("Europe/London", "2026-03-25T00:00:00Z", "2026-03-23T00:00:00Z", 167),
        ("Europe/London", "2026-10-25T23:59:59Z", "2026-10-18T23:00:00Z", 169),
        ("Australia/Sydney", "2026-04-01T00:00:00Z", "2026-03-29T13:00:00Z", 169),
        ("America/Santiago", "2026-09-04T00:00:00Z", "2026-08-31T04:00:00Z", 167),
        ("Pacific/Apia", "2011-12-28T00:00:00Z", "2011-12-26T10:00:00Z", 144),
    ],
)
def test_no_week_is_lost_at_a_clock_change(name: str, at: str, start: str, length: float) -> None:
    week = period_at("weekly", T(at), zone(name))
    assert (format_instant(week.start), hours(week)) == (start, length)


@pytest.mark.parametrize(
    ("at", "start", "key"),
    [
        ("2026-12-31T00:00:00Z", "2026-12-28T00:00:00Z", "2026-W53"),
        ("2027-01-03T23:59:59.999999Z", "2026-12-28T00:00:00Z", "2026-W53"),
        ("2027-01-04T00:00:00Z", "2027-01-04T00:00:00Z", "2027-W01"),
        ("2021-01-01T00:00:00Z", "2020-12-28T00:00:00Z", "2020-W53"),
        ("2024-12-30T00:00:00Z", "2024-12-30T00:00:00Z", "2025-W01"),
        ("2026-11-21T12:00:00Z", "2026-11-16T00:00:00Z", "2026-W47"),
    ],
)
def test_weeks_are_iso_weeks_also_in_years_with_53(at: str, start: str, key: str) -> None:
    week = period_at("weekly", T(at), zone("UTC"))
    assert (format_instant(week.start), week.key) == (start, key)


def test_a_clock_that_goes_back_over_midnight_does_not_reopen_the_day_before() -> None:
    """In St John's the clock went from 00:01 back to 23:01: the new day had begun, and it stays."""
    newfoundland = zone("America/St_Johns")
    start = midnight(date(2010, 11, 7), newfoundland)
    assert format_instant(start) == "2010-11-07T02:30:00Z"
    for minutes in (0, 1, 30, 61, 90):
        at = start + minutes * 60 * SECOND
        assert day_of(at, newfoundland) == date(2010, 11, 7), minutes
        assert period_at("daily", at, newfoundland).start == start
    assert day_of(start - 1, newfoundland) == date(2010, 11, 6)


def test_a_day_the_zone_skips_is_empty_and_contains_no_instant() -> None:
    samoa = zone("Pacific/Apia")
    assert midnight(date(2011, 12, 30), samoa) == midnight(date(2011, 12, 31), samoa)
    before = period_before(period_at("daily", T("2011-12-31T00:00:00Z"), samoa), samoa)
    assert before.key == "2011-12-29"
    assert before.end == T("2011-12-30T10:00:00Z")


def test_the_day_grid_of_a_skipped_day_has_no_double_boundary() -> None:
    samoa = zone("Pacific/Apia")
    grid = list(day_starts(T("2011-12-28T10:00:00Z"), T("2012-01-01T10:00:00Z"), samoa))
    assert [format_instant(at)[5:13] for at in grid] == [
        "12-28T10",
        "12-29T10",
        "12-30T10",
        "12-31T10",
        "01-01T10",
    ]


def test_epochs_are_counted_from_the_start_of_the_first_day() -> None:
    london = zone("Europe/London")
    born = T("2026-03-10T15:30:00Z")
    first = period_at("epoch", born, london, birth=born)
    assert (format_instant(first.start), first.key) == ("2026-03-10T00:00:00Z", "2026-03-10")
    assert format_instant(first.end) == "2026-04-08T23:00:00Z"
    second = period_at("epoch", first.end, london, birth=born)
    assert (second.start, second.key) == (first.end, "2026-04-09")
    assert period_before(second, london, birth=born) == first
    week = period_at("epoch", born + 8 * DAY, london, birth=born, epoch_days=7)
    assert week.key == "2026-03-17"


def test_the_period_before_a_custom_one_has_its_length() -> None:
    now = Period("custom", 100, 130, "")
    assert period_before(now, zone("UTC")) == Period("custom", 70, 100, "")


@law
@given(horizons, instants, zones, instants, st.integers(1, 366))
@example("daily", T("2010-11-07T03:00:00Z"), "America/St_Johns", 0, 30)
@example("weekly", T("2011-12-30T10:00:00Z"), "Pacific/Apia", 0, 30)
def test_periods_tile_the_line(horizon: Horizon, at: int, name: str, birth: int, days: int) -> None:
    """A period contains its instant, is found from each of its instants, and touches its neighbours."""
    tz = ZoneInfo(name)

    def find(instant: int) -> Period:
        return period_at(horizon, instant, tz, birth=birth, epoch_days=days)

    period = find(at)
    assert period.start <= at < period.end
    assert find(period.start) == period
    assert find(period.end - 1) == period
    assert find(period.end).start == period.end
    before = period_before(period, tz, birth=birth, epoch_days=days)
    assert before.end == period.start
    assert before.key < period.key


@law
@given(instants, zones)
def test_weeks_and_epochs_lie_on_the_day_grid(at: int, name: str) -> None:
    tz = ZoneInfo(name)
    for horizon in get_args(Horizon):
        period = period_at(horizon, at, tz, birth=at - 3 * DAY)
        for edge in (period.start, period.end):
            assert period_at("daily", edge, tz).start == edge


@law
@given(instants, st.integers(0, 40 * DAY), zones)
def test_the_day_grid_is_ascending_and_its_cells_are_days(start: int, length: int, name: str) -> None:
    tz = ZoneInfo(name)
    grid = list(day_starts(start, start + length, tz))
    assert grid[0] == start
    assert grid[-1] == start + length
    cells = list(itertools.pairwise(grid))
    if length:
        assert all(a < b for a, b in cells)
        assert all(day_of(a, tz) == day_of(b - 1, tz) for a, b in cells)
        assert all(day_of(a, tz) < day_of(b, tz) for a, b in cells[:-1])


def test_an_empty_window_has_two_equal_boundaries() -> None:
    assert list(day_starts(DAY // 2, DAY // 2, zone("UTC"))) == [DAY // 2, DAY // 2]


@law
@given(st.dates(date(1900, 1, 1), date(2100, 1, 1)), zones)
def test_midnight_is_the_first_moment_of_its_day(day: date, name: str) -> None:
    """Just before midnight the wall clock shows an earlier date, at midnight this one (or a later one if it is skipped)."""
    tz = ZoneInfo(name)
    at = midnight(day, tz)
    wall = [datetime.fromtimestamp((at + shift) / SECOND, tz).date() for shift in (-SECOND, 0)]
    assert wall[0] < day <= wall[1]


def test_a_calendar_on_its_last_page_still_turns() -> None:
    """Every instant that can be parsed has its day, week and epoch."""
    for text in ("0002-01-01T00:00:00+23:59", "9998-12-31T23:59:59.999999-23:59"):
        for horizon in get_args(Horizon):
            for name in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
                period = period_at(horizon, T(text), zone(name), epoch_days=366)
                assert period.start <= T(text) < period.end


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000001Z", 1),
        ("1970-01-01T00:00:00.0000019Z", 1),
        ("1970-01-01 00:00z", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T01:00:00+0100", 0),
        ("1969-12-31T18:30:00-05:30", 0),
        ("1969-12-31T23:59:59,5Z", -SECOND // 2),
        ("2026-02-28T23:59:59Z", 1_772_323_199 * SECOND),
        ("2024-02-29T00:00:00Z", 1_709_164_800 * SECOND),
    ],
)
def test_an_instant_is_read_to_the_microsecond(text: str, at: int) -> None:
    assert parse_instant(text) == at


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2026-03-01T12:00:00", "has no offset"),
        ("2026-03-01 12:00", "has no offset"),
        ("2026-03-01", "is not an RFC 3339 instant"),
        ("2026-03-01T12:00:00Z\n", "is not an RFC 3339 instant"),
        (" 2026-03-01T12:00:00Z", "is not an RFC 3339 instant"),
        ("٢٠٢٦-03-01T12:00:00Z", "is not an RFC 3339 instant"),
        ("now", "is not an RFC 3339 instant"),
        ("", "is not an RFC 3339 instant"),
        ("x" * 10_000, "is not an RFC 3339 instant"),
        ("2026-02-29T12:00:00Z", "day is out of range"),
        ("2026-13-01T12:00:00Z", "month must be in 1..12"),
        ("2026-03-01T24:00:00Z", "hour must be in 0..23"),
        ("2026-03-01T12:00:60Z", "second must be in 0..59"),
        ("2026-03-01T12:00:00+24:00", "impossible offset"),
        ("2026-03-01T12:00:00+01:60", "impossible offset"),
        ("0001-01-01T00:00:00Z", "beyond the calendar"),
        ("9999-12-31T23:59:59Z", "beyond the calendar"),
    ],
)
def test_what_is_no_instant_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        parse_instant(text)
    assert len(str(caught.value)) < 120


@law
@given(st.integers(T("0002-01-02T00:00:00Z"), T("9998-12-30T00:00:00Z")))
@example(-1)
@example(1_000)
def test_an_instant_survives_writing_and_reading(at: int) -> None:
    assert parse_instant(format_instant(at)) == at


@law
@given(st.datetimes(datetime(2, 1, 3), datetime(9998, 12, 29)), st.integers(-1439, 1439))
def test_an_offset_is_subtracted_exactly(wall: datetime, minutes: int) -> None:
    """Two ways to one instant: our reader, and the standard library's on the same text."""
    sign, (h, m) = "-" if minutes < 0 else "+", divmod(abs(minutes), 60)
    text = f"{wall.isoformat(timespec='microseconds')}{sign}{h:02d}:{m:02d}"
    expected = (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert parse_instant(text) == expected


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1, "1970-01-01T00:00:00.000001Z"),
        (1_500_000, "1970-01-01T00:00:01.500Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (T("0044-03-15T00:00:00Z"), "0044-03-15T00:00:00Z"),
    ],
)
def test_an_instant_is_written_shortly(at: int, text: str) -> None:
    assert format_instant(at) == text


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("1s", SECOND),
        ("90m", 90 * 60 * SECOND),
        ("1h", HOUR),
        ("1.5h", HOUR * 3 // 2),
        ("1d", DAY),
        ("2w", 14 * DAY),
        (" 4h ", 4 * HOUR),
        ("0.000001s", 1),
        ("36525d", 36_525 * DAY),
    ],
)
def test_a_duration_is_a_number_and_a_unit(text: str, length: int) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize(
    "text",
    [
        "",
        "h",
        "1",
        "0h",
        "-1h",
        "1 h",
        "1y",
        "1H",
        "1h30m",
        "1e3h",
        "nand",
        "0.0000001s",
        "36526d",
        "9" * 400 + "d",
        "1h\x00",
        "١h",
    ],
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    "name",
    ["Mars/Olympus", "", "Europe", "../../etc/passwd", "/etc/localtime", "a\x00b", "x" * 5000, "\udc80"],
)
def test_a_zone_that_does_not_exist_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError, match="there is no time zone"):
        zone(name)


def test_a_misspelt_zone_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"did you mean Europe/London\?"):
        zone("Europe/Lodnon")
