"""From what a person typed to values; a `UsageError` says which option is wrong and what it takes."""

from __future__ import annotations

import re
from datetime import date

from retro.errors import UsageError
from retro.surface.cli.context import call

__all__ = ["instant"]


def instant(text: str, option: str) -> int:
    """An RFC 3339 instant with offset, or a date (its midnight in the owner's time zone), in microseconds."""
    from retro.periods import midnight, parse_instant, zone

    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return midnight(date.fromisoformat(text), zone(call.config.owner.time_zone))
        return parse_instant(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}; a date such as 2026-03-01 will do") from None
