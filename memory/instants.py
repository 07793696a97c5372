"""Instants are integer microseconds since the Unix epoch, UTC; text is RFC 3339 with an offset."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from memory.errors import RefusedError

DAY: Final = 86_400_000_000
"""Microseconds of one day."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Instant 0."""

_LAST_MS: Final = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z, the last a datetime can show
_RFC3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


def instant(value: object) -> int:
    """Microseconds since the epoch of an RFC 3339 text with offset or of integer Unix milliseconds.

    Raises `RefusedError` for anything else: a naive time, a date alone, a fraction of a millisecond, a bool.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > _LAST_MS:
            raise RefusedError(f"{value} milliseconds lie outside the years 1 to 9999")
        return value * 1000
    if not isinstance(value, str):
        raise RefusedError("must be an RFC 3339 time with offset or Unix milliseconds")
    match = _RFC3339.fullmatch(value)
    if match is None:
        raise RefusedError("must be an RFC 3339 time with offset, such as 2026-11-21T09:30:00Z")
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    try:
        naive = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    except ValueError as error:
        raise RefusedError(f"is no time: {error}") from None
    micros = int((fraction or "").ljust(6, "0")[:6])
    return (naive - EPOCH) // timedelta(microseconds=1) + micros - _offset(offset)


def _offset(text: str) -> int:
    if text in "Zz":
        return 0
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 23 or minutes > 59:
        raise RefusedError(f"has no such offset: {text}")
    return (hours * 60 + minutes) * 60_000_000 * (-1 if text[0] == "-" else 1)


def written(at: int) -> str:
    """RFC 3339 in UTC with `Z`; the fraction appears only when there is one."""
    try:
        moment = EPOCH + timedelta(microseconds=at)
    except OverflowError:
        raise RefusedError(f"{at} microseconds lie outside the years 1 to 9999") from None
    return moment.isoformat().replace("+00:00", "Z")
