"""Instants and the calendar: days, weeks and epochs on one grid in the owner's time zone. Pure.

An instant is an integer: microseconds since the Unix epoch, UTC. Periods are half-open, [start, end).
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from retro.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "DAY",
    "EPOCH",
    "FOREVER",
    "HOUR",
    "SECOND",
    "WEEK",
    "Horizon",
    "Period",
    "PeriodKind",
    "day_of",
    "day_starts",
    "format_instant",
    "hour_of",
    "midnight",
    "parse_duration",
    "parse_instant",
    "period_at",
    "period_before",
    "week_name",
    "week_of",
    "week_start",
    "zone",
]

SECOND: Final = 1_000_000
HOUR: Final = 3600 * SECOND
DAY: Final = 24 * HOUR
WEEK: Final = 7 * DAY
FOREVER: Final = 1 << 62
"""Later than every instant; its negative is earlier than every one. Fits a column of eight bytes with room to add."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH: Final = EPOCH.replace(tzinfo=None)
"""Instant 0."""

Horizon = Literal["daily", "weekly", "epoch"]
PeriodKind = Literal[Horizon, "custom", "life", "loss", "death"]
"""Whose period it is: one of the calendar, one that an owner, a loss or a death has cut, or the whole life so far."""

_INSTANT: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)
_DURATION: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([smhdw])", re.ASCII)
_LONGEST: Final = 36_525 * DAY
_UNIT: Final = {"s": SECOND, "m": 60 * SECOND, "h": HOUR, "d": DAY, "w": 7 * DAY}


def zone(name: str) -> ZoneInfo:
    """The time zone of that name; `UsageError` with the nearest name when there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        near = difflib.get_close_matches(name, sorted(available_timezones()), n=1)
        hint = f"did you mean {near[0]}?" if near else "use a name such as UTC or Europe/London"
        raise UsageError(f"there is no time zone {name[:40]!r}; {hint}") from error


def parse_instant(text: str) -> int:
    """Microseconds of an RFC 3339 instant with offset; `ValueError` says what is wrong. Digits past 1 us are cut."""
    match = _INSTANT.fullmatch(text)
    if not match:
        raise ValueError(f"{text[:40]!r} is not an RFC 3339 instant such as 2026-03-01T12:00:00Z")
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    if offset is None:
        raise ValueError(f"time {text[:40]!r} has no offset; write it with Z or +hh:mm")
    if not 2 <= int(year) <= 9998:  # so that every period around an instant lies inside the calendar
        raise ValueError(f"time {text[:40]!r} lies beyond the calendar")
    try:
        at = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second or 0), tzinfo=UTC)
    except ValueError as error:
        raise ValueError(f"time {text[:40]!r}: {error}") from None
    shift = 0
    if offset not in "Zz":
        digits = offset[1:].replace(":", "")
        shift = int(digits[:2]) * 60 + int(digits[2:])
        if shift >= 24 * 60 or int(digits[2:]) >= 60:
            raise ValueError(f"time {text[:40]!r} has an impossible offset")
        shift = -shift if offset[0] == "-" else shift
    return _micros(at) - shift * 60 * SECOND + int((fraction or "0")[:6].ljust(6, "0"))


def format_instant(at: int) -> str:
    """RFC 3339 in UTC with Z; a fraction (3 or 6 digits) only where there is one."""
    seconds, micros = divmod(at, SECOND)
    minutes, second = divmod(seconds, 60)
    text = _minute(minutes) + _SECONDS[second]
    if micros:
        text += f".{micros // 1000:03d}" if micros % 1000 == 0 else f".{micros:06d}"
    return text + "Z"


_SECONDS: Final = [f":{second:02d}" for second in range(60)]


@lru_cache(maxsize=1 << 14)
def _minute(minutes: int) -> str:
    """A minute since 1970 as RFC 3339 begins: a review writes many instants of one week."""
    return (_EPOCH + timedelta(minutes=minutes)).isoformat(timespec="minutes")


def parse_duration(text: str) -> int:
    """Microseconds of a duration such as "4h", "1d" or "90m", up to 100 years; `ValueError` otherwise."""
    match = _DURATION.fullmatch(text.strip())
    length = round(float(match[1]) * _UNIT[match[2]]) if match else 0
    if not 0 < length <= _LONGEST:
        raise ValueError(f"{text[:40]!r} is not a duration such as 1h, 4h, 1d or 30d")
    return length


def midnight(day: date, tz: ZoneInfo) -> int:
    """The instant a local day starts: its first 00:00, or the end of the gap where the clock skips that moment.

    A day the zone skips altogether starts, and ends, where the next one does.
    """
    local = datetime(day.year, day.month, day.day, tzinfo=tz)
    at = local.astimezone(UTC)
    if at.astimezone(tz).replace(tzinfo=None) == local.replace(tzinfo=None):
        return _micros(at)
    # 00:00 falls into a gap. Read with the offset after it, the wall clock lies before the change; find the change.
    before, after = _micros(local.replace(fold=1).astimezone(UTC)), _micros(at)
    offset = _local(after, tz).utcoffset()
    while after - before > SECOND:
        middle = (before + after) // 2 // SECOND * SECOND
        if _local(middle, tz).utcoffset() == offset:
            after = middle
        else:
            before = middle
    return after


def day_of(at: int, tz: ZoneInfo) -> date:
    """The owner's calendar day that contains an instant: midnight(day) <= at < midnight(day + 1).

    Where the clock goes back over midnight the new day has begun and stays, although the clock shows the old date.
    """
    day = _local(at, tz).date()
    following = day + timedelta(days=1)
    return following if midnight(following, tz) <= at else day


def hour_of(at: int, tz: ZoneInfo) -> int:
    """The hour of the day of an instant, 0 to 23, in a zone."""
    return _local(at, tz).hour


def week_of(at: int, tz: ZoneInfo | None) -> int:
    """The number of the ISO week that contains an instant, in weeks since Monday, 1 January of the year 1; None: UTC."""
    ordinal = at // DAY + EPOCH.toordinal() if tz is None else day_of(at, tz).toordinal()
    return (ordinal - 1) // 7


def week_start(week: int, tz: ZoneInfo | None) -> int:
    """The instant at which a week begins, by its number."""
    ordinal = 7 * week + 1
    if tz is None:
        return (ordinal - EPOCH.toordinal()) * DAY
    return midnight(date.fromordinal(ordinal), tz)


def week_name(week: int) -> str:
    """A week as reviews name it: `2026-W47`."""
    year, number, _ = date.fromordinal(7 * week + 1).isocalendar()
    return f"{year:04d}-W{number:02d}"


def _micros(at: datetime) -> int:
    return (at - EPOCH) // timedelta(microseconds=1)


def _local(at: int, tz: ZoneInfo) -> datetime:
    return (EPOCH + timedelta(microseconds=at)).astimezone(tz)


@dataclass(frozen=True, slots=True)
class Period:
    """A half-open stretch of time with the name its reviews carry (`2026-W47`, `2026-11-21`, ...)."""

    horizon: PeriodKind
    start: int
    end: int
    key: str


def period_at(horizon: Horizon, at: int, tz: ZoneInfo, *, birth: int = 0, epoch_days: int = 30) -> Period:
    """The daily, ISO-weekly or epoch period that contains an instant.

    `birth` is the agent's first event (epochs are counted from the start of its day), `epoch_days` their length.
    """
    day = day_of(at, tz)
    if horizon == "daily":
        first, last, key = day, day + timedelta(days=1), day.isoformat()
    elif horizon == "weekly":
        year, week, weekday = day.isocalendar()
        first = day - timedelta(days=weekday - 1)
        last, key = first + timedelta(days=7), f"{year:04d}-W{week:02d}"
    else:
        born = day_of(birth, tz)
        first = born + timedelta(days=(day - born).days // epoch_days * epoch_days)
        last, key = first + timedelta(days=epoch_days), first.isoformat()
    return Period(horizon, midnight(first, tz), midnight(last, tz), key)


def period_before(period: Period, tz: ZoneInfo, *, birth: int = 0, epoch_days: int = 30) -> Period:
    """The period of the same horizon that ends where this one starts."""
    match period.horizon:
        case "daily" | "weekly" | "epoch" as horizon:
            return period_at(horizon, period.start - 1, tz, birth=birth, epoch_days=epoch_days)
        case _:
            return Period("custom", 2 * period.start - period.end, period.start, "")


def day_starts(start: int, end: int, tz: ZoneInfo) -> Iterator[int]:
    """The boundaries of the day grid inside [start, end]: `start`, every local midnight between, `end`.

    Ascending and distinct, but for an empty window, whose two boundaries are the same instant.
    """
    yield start
    last, day = start, day_of(start, tz)
    while (at := midnight(day := day + timedelta(days=1), tz)) < end:
        if at > last:  # a zone may skip a whole day
            yield at
        last = at
    yield end
