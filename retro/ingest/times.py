"""Instants of foreign files: zones that are named and never guessed, dates whose order the file decides."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal

from retro.errors import InputError
from retro.periods import EPOCH
from retro.periods import zone as zone_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from zoneinfo import ZoneInfo

__all__ = ["Clock", "DayOrder", "Steps", "day_order"]

DayOrder = Literal["day", "month"]
_MILLISECOND: Final = 1_000
_NUMERIC_DATE: Final = re.compile(r"\s*(\d{1,2})[/.-](\d{1,2})[/.-](\d{2,4})(.*)", re.DOTALL)


class Clock:
    """Makes instants of times as a file writes them. `zone` is the one its naive times are in; None: nobody said."""

    def __init__(self, zone: str | None, where: str) -> None:
        self._zone: ZoneInfo | None = None if zone is None else zone_of(zone)
        self._where = where

    @property
    def is_told(self) -> bool:
        """Whether naive times can be read."""
        return self._zone is not None

    def instant(self, time: datetime) -> int:
        """Microseconds since 1970 of a time; `InputError` of a naive one where no zone was named.

        Of a time that a clock change made twice it is the first; `ValueError` of one that the zone never had.
        """
        if time.tzinfo is None:
            if self._zone is None:
                raise InputError(
                    f"{self._where}: its times have no zone; name the one they are in: --zone Europe/Paris, or zone ="
                    ' "Europe/Paris" in [[source]]'
                )
            aware = time.replace(tzinfo=self._zone)
            if aware.astimezone(UTC).astimezone(self._zone).replace(tzinfo=None) != time:
                raise ValueError(
                    f"{time.isoformat(' ')} never was in {self._zone.key}: clocks went forward then"
                )
        else:
            aware = time
        since = aware.astimezone(UTC) - EPOCH
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


class Steps:
    """Keeps what stands in one instant of a file in file order: the k-th later row of an instant is k ms later."""

    def __init__(self) -> None:
        self._at: int | None = None
        self._count = 0

    def of(self, at: int) -> int:
        """The instant of the next row, microseconds; `at` is what the file says."""
        self._count = self._count + 1 if at == self._at else 0
        self._at = at
        return at + self._count * _MILLISECOND


def day_order(texts: Iterable[str]) -> DayOrder | None:
    """Whether dates such as 03/04/2025 begin with the day or the month, as these decide; None where they do not.

    A number above 12 decides; else the one reading in which the dates are in order, whichever way they run.
    `ValueError` where one date decides otherwise than another.
    """
    dates = [match for text in texts if (match := _NUMERIC_DATE.match(text))]
    pairs = [(int(match[1]), int(match[2])) for match in dates]
    orders: set[DayOrder] = {"day" for first, _ in pairs if first > 12}
    orders |= {"month" for _, second in pairs if second > 12}
    if len(orders) > 1:
        raise ValueError("some of its dates begin with the day and some with the month")
    if orders:
        return orders.pop()
    by_day = [(match[3], int(match[2]), int(match[1])) for match in dates]
    by_month = [(match[3], int(match[1]), int(match[2])) for match in dates]
    day_runs, month_runs = _runs(by_day), _runs(by_month)
    if day_runs == month_runs:
        return None
    return "day" if day_runs else "month"


def _runs(dates: list[tuple[str, int, int]]) -> bool:
    return dates in (sorted(dates), sorted(dates, reverse=True))
