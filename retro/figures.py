"""How figures are written wherever people read them: money, prices, shares, lengths of time, instants. Pure.

Rounding never turns something into nothing: an amount too small for its decimals is written with more of them. A
figure that is absent is a dash.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from retro.invariant import invariant

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "DASH",
    "MoneyStyle",
    "count",
    "date_text",
    "day_text",
    "duration",
    "finite",
    "interval",
    "moment",
    "money_of",
    "month_text",
    "odds",
    "percent",
    "price",
    "quantity",
    "ratio",
    "seconds_between",
    "span",
    "spell",
]

DASH: Final = "–"  # noqa: RUF001  a dash, not a minus: nothing is there
"""What stands where a figure is absent."""

_DUST: Final = 5e-10
_HUGE: Final = 1e12
_WEEKS_FROM: Final = 8
"""So many weeks are no longer counted in days."""
_FINE_TO_THE_CENT: Final = frozenset(
    {"DAI", "FRAX", "EUR", "GBP", "CHF", "EURC", "EURS", "AUD", "CAD", "JPY"}
)
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WHOLE_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def finite(value: float) -> float:
    """The value, which a figure can be written of; `InvariantError` for NaN and infinities, which nobody may read."""
    if not math.isfinite(value):
        invariant(False, "a figure that is shown is a number", f"{value!r}")
    return value


def spell(value: float, places: int, *, signed: bool = False, digits: int = 2) -> str:
    """The value with so many decimals; where it would read 0 without being it, so many `digits`. Zero has no sign."""
    size = abs(finite(value))
    if size < _DUST:
        return f"{0:.{places}f}"
    if size >= _HUGE:
        return f"{value:{'+' if signed else ''}.3e}"
    if round(size, places) == 0:
        places = min(12, digits - 1 - math.floor(math.log10(size)))
    return f"{value:{'+' if signed else ''},.{places}f}"


@dataclass(frozen=True, slots=True)
class MoneyStyle:
    """How amounts of one currency are written in one document."""

    currency: str
    places: int = 2

    def plain(self, value: float | None) -> str:
        """The figure alone: 1,234.50, or a dash."""
        return DASH if value is None else spell(value, self.places)

    def signed(self, value: float | None) -> str:
        """The figure with its sign: +1,234.50, or a dash."""
        return DASH if value is None else spell(value, self.places, signed=True)

    def amount(self, value: float | None) -> str:
        """The figure with its unit: 1,234.50 USDC, or a dash."""
        return self._with_unit(self.plain(value), value)

    def change(self, value: float | None) -> str:
        """The figure with sign and unit: +1,234.50 USDC, or a dash."""
        return self._with_unit(self.signed(value), value)

    def _with_unit(self, text: str, value: float | None) -> str:
        return text if value is None or not self.currency else f"{text} {self.currency}"


def money_of(currency: str, amounts: Iterable[float | None]) -> MoneyStyle:
    """Two decimals for dollars and their like; elsewhere as many as give the largest amount four digits (2 to 8)."""
    name = currency.upper()
    if not name or "USD" in name or name in _FINE_TO_THE_CENT:
        return MoneyStyle(currency)
    largest = max((abs(amount) for amount in amounts if amount is not None), default=0.0)
    if largest <= 0:
        return MoneyStyle(currency)
    return MoneyStyle(currency, min(8, max(2, 3 - math.floor(math.log10(largest)))))


def price(value: float | None) -> str:
    """A price: cents above 1,000, else four to six digits that matter."""
    if value is None:
        return DASH
    size = abs(finite(value))
    if size >= 1000 or size == 0:
        return spell(value, 2)
    if size >= 1:
        return _trimmed(f"{value:.4f}", 2)
    if size < 1e-8:
        return f"{value:.3e}"
    return _trimmed(f"{value:.{4 - math.floor(math.log10(size)) - 1}f}", 2)


def quantity(value: float | None) -> str:
    """A quantity of an asset, to six digits that matter."""
    if value is None:
        return DASH
    size = abs(finite(value))
    if size < _DUST:
        return "0"
    if size >= _HUGE or size < 1e-6:
        return f"{value:.4g}"
    return _trimmed(f"{value:,.{max(0, 5 - math.floor(math.log10(size)))}f}", 0)


def _trimmed(text: str, keep: int) -> str:
    """Without zeros at the end, but for `keep` decimals."""
    whole, point, decimals = text.partition(".")
    decimals = decimals.rstrip("0").ljust(keep, "0")
    return whole + point + decimals if decimals else whole


def percent(share: float | None, places: int = 0, *, signed: bool = False) -> str:
    """A share as a percentage: 33 %. One that is neither 0 nor 1 never reads 0 % or 100 %."""
    if share is None:
        return DASH
    if places == 0 and (0 < abs(share) < 0.005 or 0.995 <= abs(share) < 1):
        places = 1 if 0.0005 <= abs(share) < 0.9995 else 3
    return f"{spell(share * 100, places, signed=signed, digits=1)} %"


def ratio(value: float | None, places: int = 2) -> str:
    """A number without a unit, such as a Sharpe ratio."""
    return DASH if value is None else spell(value, places, digits=1)


def interval(low: float | None, high: float | None) -> str:
    """An interval, three digits of its wider end: -11.3..+7.1; an end that is None is open: -11.3 or above."""
    widest = max((abs(end) for end in (low, high) if end is not None), default=0.0)
    places = 2 if widest < _DUST else min(8, max(0, 2 - math.floor(math.log10(widest))))
    low_text, high_text = (None if end is None else spell(end, places, signed=True) for end in (low, high))
    if low_text is None or high_text is None:
        return (
            "any"
            if low_text == high_text
            else f"{low_text} or above"
            if low_text
            else f"{high_text} or below"
        )
    return f"{low_text}..{high_text}"


def odds(e: float | None) -> str:
    """Betting odds, rounded down: 61 to 1; 0.4 to 1."""
    if e is None:
        return DASH
    return (
        "over a million to 1"
        if e >= 1e6
        else f"{math.floor(e):,} to 1"
        if e >= 2
        else f"{math.floor(10 * e) / 10:.1f} to 1"
    )


def count(n: int, singular: str, plural: str | None = None) -> str:
    """A number of things: 1 position, 1,204 positions."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def duration(seconds: float | None) -> str:
    """A length of time in its largest fitting unit: 45 s, 75 min, 6.5 h, 7.2 d, 37 weeks."""
    if seconds is None:
        return DASH
    if finite(seconds) < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{_trimmed(f'{seconds / 3600:.1f}', 0)} h"
    if seconds < _WEEKS_FROM * 7 * 86400:
        return f"{_trimmed(f'{seconds / 86400:,.1f}', 0)} d"
    return f"{seconds / (7 * 86400):,.0f} weeks"


def _at(instant: str) -> datetime:
    return datetime.fromisoformat(instant).astimezone(UTC)


def seconds_between(start: str, end: str) -> float:
    """Seconds from one RFC 3339 instant to another."""
    return (_at(end) - _at(start)).total_seconds()


def _local(instant: str, zone: str) -> datetime:
    try:
        return _at(instant).astimezone(ZoneInfo(zone))
    except (KeyError, ValueError, OSError):
        return _at(instant)


def moment(instant: str | None, zone: str = "UTC") -> str:
    """An RFC 3339 instant on the clock of a zone, to the minute: 2026-11-16 14:05."""
    if instant is None:
        return DASH
    at = _local(instant, zone)
    return f"{at.year:04d}-{at.month:02d}-{at.day:02d} {at.hour:02d}:{at.minute:02d}"


def day_text(instant: str | None, zone: str = "UTC") -> str:
    """The day of an instant in a zone: 16 Nov 2026."""
    return DASH if instant is None else date_text(_local(instant, zone).date())


def month_text(day: date) -> str:
    """The month of a day: March 2027."""
    return f"{_WHOLE_MONTHS[day.month - 1]} {day.year}"


def date_text(day: date, *, weekday: bool = False) -> str:
    """A day: 16 Nov 2026, or with its weekday, Mon 16 Nov 2026."""
    name = f"{_WEEKDAYS[day.weekday()]} " if weekday else ""
    return f"{name}{day.day} {_MONTHS[day.month - 1]} {day.year}"


def span(start: str, end: str, zone: str = "UTC", *, weekday: bool = True) -> str:
    """A period [start, end): whole days as Mon 16 to Sun 22 Nov 2026, anything else to the minute."""
    first, after = _local(start, zone), _local(end, zone)
    if {first.time(), after.time()} != {time()} or after <= first:
        return f"{moment(start, zone)} to {moment(end, zone)}"
    last = after.date() - timedelta(days=1)
    if last <= first.date():
        return date_text(first.date(), weekday=weekday)
    opening = f"{_WEEKDAYS[first.weekday()]} {first.day}" if weekday else f"{first.day}"
    if (first.year, first.month) != (last.year, last.month):
        opening += f" {_MONTHS[first.month - 1]}"
    if first.year != last.year:
        opening += f" {first.year}"
    return f"{opening} to {date_text(last, weekday=weekday)}"
