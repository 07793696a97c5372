"""Fields of what is told: how each kind of value is read, and what is said of one that may not enter."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from memory.errors import RefusedError
from memory.instants import instant

LONGEST_NAME: Final = 200
_AGENT: Final = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")

FieldReaders = Mapping[str, Callable[[object], Any]]
"""By name of the field; a reader gets None for one that was not told."""


def read_fields(raw: Mapping[str, Any], readers: FieldReaders) -> Iterator[tuple[str, Any]]:
    """(field, value) of every field that there is a reader of; raises `RefusedError` naming one that may not enter."""
    for field, read in readers.items():
        try:
            yield field, read(raw.get(field))
        except RefusedError as error:
            raise RefusedError(f"{field}: {error}") from None


def name(value: object) -> str | None:
    """A short text without control characters; an empty one is None."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise RefusedError("must be text")
    if len(value) > LONGEST_NAME or _CONTROL.search(value):
        raise RefusedError(f"must be at most {LONGEST_NAME} characters without control characters")
    return value or None


def identity(value: object) -> str:
    """A `name` that is there."""
    text = name(value)
    if text is None:
        raise RefusedError("is required")
    return text


def is_agent(value: object) -> bool:
    """Whether this can be the name of an agent."""
    return isinstance(value, str) and _AGENT.fullmatch(value) is not None


def required_instant(value: object) -> int:
    """Microseconds since the epoch; see `memory.instants`."""
    if value is None:
        raise RefusedError("is required")
    return instant(value)


def number(low: float, high: float) -> Callable[[object], float | None]:
    """A reader of numbers from `low` to `high`."""

    def read(value: object) -> float | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise RefusedError("must be a number")
        try:
            exact = float(value) + 0.0
        except OverflowError:
            exact = math.inf
        if math.isinf(exact):
            raise RefusedError("must be finite")
        if not low <= exact <= high:
            raise RefusedError(f"must lie between {low:g} and {high:g}")
        return exact

    return read
