"""From what a person typed to values; a `UsageError` says which option is wrong and what it takes."""

from __future__ import annotations

import re

from retro.errors import UsageError
from retro.periods import parse_instant

__all__ = ["instant"]


def instant(text: str, option: str) -> int:
    """An RFC 3339 instant with offset, or a date (its midnight, UTC), in microseconds."""
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        text += "T00:00:00Z"
    try:
        return parse_instant(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
