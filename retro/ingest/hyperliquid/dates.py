"""Dates as a browser writes them: day or month first as the file decides, in a zone that somebody has to name."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from retro.ingest.times import Clock, DayOrder, day_order
from retro.journal import quote
from retro.periods import DAY, EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["IndianTime", "LocalDates", "order_of"]

_DATE: Final = re.compile(
    r"(\d{1,4})[/.-](\d{1,2})[/.-](\d{1,4})[\s,-]+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([AaPp])?\.?[Mm]?\.?"
)
_DAY: Final = re.compile(r"(\d{1,4})[/.-](\d{1,2})[/.-](\d{1,4})")
_INTACT: Final = re.compile(r"1\d{12}")
_MINUTE: Final = 60_000_000


def order_of(texts: Iterable[str], now: int) -> DayOrder | None:
    """Whether dates begin with the day or the month; "day" of those that begin with the year, None if they do not say.

    Dots stand in dates that begin with the day alone. Else a number above 12 decides, else order, else that none lies
    more than a day after `now` (microseconds). `ValueError` where one date decides otherwise than another.
    """
    days = list(_changes(text.strip().replace(",", " ").partition(" ")[0] for text in texts))
    dates = [(int(match[1]), int(match[2]), int(match[3])) for day in days if (match := _DAY.fullmatch(day))]
    if all(first > 31 or first == second for first, second, _ in dates) or all("." in day for day in days):
        return "day"
    if (order := day_order(days)) is not None:
        return order
    latest = (EPOCH + timedelta(microseconds=now + DAY)).date()
    bounds = (latest.year, latest.month, latest.day)
    is_late_by_day = any((year, second, first) > bounds for first, second, year in dates)
    is_late_by_month = any((year, first, second) > bounds for first, second, year in dates)
    if is_late_by_day == is_late_by_month:
        return None
    return "month" if is_late_by_day else "day"


def _changes(texts: Iterable[str]) -> Iterator[str]:
    """A text only where it differs from the one before: a file has many rows a day."""
    before = None
    for text in texts:
        if text != before:
            yield text
        before = text


class LocalDates:
    """Makes instants of the times of a browser's export."""

    def __init__(self, zone: str | None, where: str, order: DayOrder) -> None:
        self._clock = Clock(zone, where)
        self._order = order

    def instant(self, text: str) -> int:
        """Microseconds since 1970; `ValueError` where it is no time, `InputError` where nobody named its zone."""
        return self._clock.instant(_naive(text, self._order))


class IndianTime:
    """Instants of the sheets that circulate with a column `Timestamp IST`: UTC+5:30, day first, to the minute."""

    def instant(self, text: str, milliseconds: str) -> int:
        """Microseconds since 1970: the whole milliseconds where a spreadsheet left them in that minute, else the minute."""
        minute = Clock("Asia/Kolkata", "").instant(_naive(text, "day"))
        if _INTACT.fullmatch(milliseconds.strip()):
            exact = int(milliseconds) * 1_000
            if minute <= exact < minute + _MINUTE:
                return exact
        return minute


def _naive(text: str, order: DayOrder) -> datetime:
    match = _DATE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"time: {quote(text)} is no date and time")
    numbers = [int(part or 0) for part in match.groups()[:6]]
    first, second, third, hour, minute, second_of_minute = numbers
    year, month, day = (first, second, third) if first > 31 else (third, second, first)
    if first <= 31 and order == "month":
        month, day = day, month
    if half := match[7]:
        hour = hour % 12 + (12 if half in "Pp" else 0)
    try:
        return datetime(year, month, day) + timedelta(hours=hour, minutes=minute, seconds=second_of_minute)  # noqa: DTZ001 - its zone is told apart
    except (ValueError, OverflowError):
        raise ValueError(f"time: {quote(text)} is no date and time") from None
