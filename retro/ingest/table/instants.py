"""When a row was, by the formats of its mapping."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from retro.errors import InputError
from retro.ingest.times import Clock, day_order
from retro.journal import quote
from retro.periods import DAY, EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from retro.ingest.table.grammar.tables import TimeMap

__all__ = ["Instants", "decided", "has_one_order", "time_rules"]

_UNITS: Final = {"s": 1_000_000, "ms": 1_000, "us": 1}
_EXCEL: Final = datetime(1899, 12, 30)  # noqa: DTZ001 - a spreadsheet's day 0, in the file's zone
_EXCEL_DAYS: Final = 200_000
_FIRST_YEAR: Final = 365 * DAY
_FRACTION: Final = re.compile(r"(\.\d{6})\d+")
_YEAR_FIRST: Final = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ]+(\d{1,2})(:\d\d.*))?", re.ASCII)
_EPOCH: Final = re.compile(r"\d{9,19}(\.\d+)?", re.ASCII)
_DAY_FIRST: Final = re.compile(r"%d[/.-]%m")
_MONTH_FIRST: Final = re.compile(r"%m[/.-]%d")


class Instants:
    """Reads the times of one mapping; naive ones are in `zone`, or refused."""

    def __init__(self, rules: TimeMap, zone: str | None, where: str) -> None:
        named = zone if rules.zone == "ask" else rules.zone
        self._where, self._zone_of_rows = where, rules.zone_column
        self._clock = Clock(named, where)
        self._clocks = {named: self._clock}
        self._is_utc = named == "UTC"
        self._readings = [(form, _reading(form)) for form in rules.format]
        self._at = _time_of_day(rules.clock)
        self._last: tuple[str, int] | None = None

    def instant(self, text: str, zone: str | None = None) -> int:
        """Microseconds since 1970; `ValueError` of what is no time, `InputError` of a naive one without a zone."""
        if self._last is not None and self._last[0] == text and zone is None:
            return self._last[1]
        for _, reading in self._readings:
            time = reading(text)
            if time is not None:
                break
        else:
            raise ValueError(
                f"{quote(text)} is no time in the format {', '.join(form for form, _ in self._readings)};"
                " name its own in [time] of the mapping"
            )
        if isinstance(time, int):
            at = time
        else:
            if self._at and not (time.hour or time.minute or time.second or time.microsecond):
                time += self._at
            at = self._of_naive(time, zone)
        if zone is None:
            self._last = text, at
        return at

    def _of_naive(self, time: datetime, zone: str | None) -> int:
        if time.tzinfo is None and zone:
            if zone not in self._clocks:
                self._clocks[zone] = Clock(zone, self._where)
            return self._clocks[zone].instant(time)
        if self._is_utc and time.tzinfo is None:
            time = time.replace(tzinfo=UTC)
        if time.tzinfo is UTC:
            since = time - EPOCH
            return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
        return self._clock.instant(time)


def _reading(form: str) -> Callable[[str], datetime | int | None]:
    """A function that gives a time, microseconds of an epoch, or None where a text is not in its format."""
    if form == "iso":
        return _iso
    if form in _UNITS or form == "ns":
        return lambda text: _epoch(text, form)
    if form == "excel":
        return _excel
    return lambda text: _patterned(text, form)


def _iso(text: str) -> datetime | None:
    if not (text[:4].isdigit() and text[4:5] in {"-", "/", "."}):
        return None
    plain = _FRACTION.sub(r"\1", text.removesuffix(" UTC") + "Z" if text.endswith(" UTC") else text)
    with suppress(ValueError):
        return datetime.fromisoformat(plain.replace(" +", "+"))
    # spreadsheets write 2025/1/2 9:30; only the year tells what comes first, so it has to
    if not (parts := _YEAR_FIRST.fullmatch(plain)):
        return None
    year, month, day, hour, clock = parts.groups()
    with suppress(ValueError):
        date = f"{year}-{month:0>2}-{day:0>2}"
        return datetime.fromisoformat(f"{date}T{hour:0>2}{clock}" if hour else date)
    return None


def _epoch(text: str, form: str) -> int | None:
    try:
        value = Decimal(text)
    except ArithmeticError:
        return None
    if not value.is_finite() or abs(value) > Decimal("1e20"):
        return None
    micros = int(value / 1000 if form == "ns" else value * _UNITS[form])
    # a number that counts seconds, or has lost digits, is one of 1970 in any finer unit
    return None if form != "s" and abs(micros) < _FIRST_YEAR else micros


def _excel(text: str) -> datetime | None:
    try:
        days = Decimal(text)
    except ArithmeticError:
        return None
    if not days.is_finite() or not 0 < days < _EXCEL_DAYS:
        return None
    return _EXCEL + timedelta(milliseconds=int((days * 86_400_000).to_integral_value()))


def _patterned(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form)  # noqa: DTZ007 - the zone is the mapping's
    except ValueError:
        return None


def _time_of_day(clock: str | None) -> timedelta | None:
    if clock is None:
        return None
    hours, minutes, *seconds = (int(part) for part in clock.split(":"))
    return timedelta(hours=hours, minutes=minutes, seconds=seconds[0] if seconds else 0)


def has_one_order(rules: TimeMap) -> bool:
    """Whether the formats are not some of the day first and some of the month."""
    return not all(any(order.search(form) for form in rules.format) for order in (_DAY_FIRST, _MONTH_FIRST))


def decided(rules: TimeMap, texts: Callable[[], Iterable[str]], where: str) -> TimeMap:
    """The rules without the patterns that the file's dates rule out, where some begin with the day and some with the month.

    `InputError` where the dates do not say which.
    """
    if has_one_order(rules):
        return rules
    day = [form for form in rules.format if _DAY_FIRST.search(form)]
    month = [form for form in rules.format if _MONTH_FIRST.search(form)]
    try:
        order = day_order(texts())
    except ValueError as error:
        raise InputError(f"{where}: {error}; name one format in [time] of the mapping") from None
    if order is None:
        raise InputError(
            f"{where}: nothing in it says whether 03/04/2025 is in March or April; name one format in [time] of the mapping"
        )
    out = set(month if order == "day" else day)
    return rules.model_copy(update={"format": tuple(form for form in rules.format if form not in out)})


_EPOCHS: Final = ((11, "s"), (14, "ms"), (17, "us"), (20, "ns"))
"""Digits below which an epoch is in a unit: each covers 1973 to 5138."""
_PATTERNS: Final = (
    "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%d/%m/%Y", "%m/%d/%Y",
    "%m/%d/%Y, %I:%M:%S %p", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y", "%Y.%m.%d %H:%M:%S", "%Y/%m/%d %H:%M:%S", "%Y%m%d;%H%M%S",
)  # fmt: skip


def time_rules(texts: Sequence[str]) -> tuple[list[str], str, str]:
    """Formats in which all of some times can be read, the zone (ask, or UTC where they say it) and why it is asked.

    No format where they are no times.
    """
    if texts and all(_EPOCH.fullmatch(text) for text in texts):
        digits = max(len(text.partition(".")[0]) for text in texts)
        return [next((unit for below, unit in _EPOCHS if digits < below), "ns")], "UTC", ""
    why = "its times have none: name it, such as Europe/Paris"
    if all(_iso(text) is not None for text in texts):
        naive = any(time.tzinfo is None for text in texts if (time := _iso(text)) is not None)
        return ["iso"], "ask" if naive else "UTC", why if naive else ""
    fitting = [form for form in _PATTERNS if all(_patterned(text, form) is not None for text in texts)]
    return fitting, "ask", why
