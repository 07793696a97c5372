"""Checks of one value: each gives what is wrong with it and what to do, or None."""

from __future__ import annotations

import json
import math
import re
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

from retro.periods import parse_instant

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "AGENT_NAME",
    "CHECKS",
    "CONTROL",
    "DAY_NAME",
    "LARGEST",
    "LONGEST_LINE",
    "LONGEST_NAME",
    "MOST_NAMES",
    "Number",
    "is_name",
    "quote",
    "show",
    "why_no_instant",
    "wrong_with",
]

LONGEST_LINE: Final = 4 << 20
"""Bytes of the longest line that is written or read; a longer one is passed over and told of."""

LONGEST_NAME: Final = 500
"""Characters of an id, position, instrument or asset: what every database can put in an index."""

MOST_NAMES: Final = 1_000
"""Names of a list: what nobody can have looked at is no context."""


LARGEST: Final = 1e50
"""Beyond any money or quantity, and its square and cube are still finite: one wild number spoils no sum."""


class Number(str):
    """A JSON number as it was written, so that no digit is lost."""

    __slots__ = ()


def quote(text: str, most: int = 40) -> str:
    """Foreign text fit for a message: in quotes, escaped, without control and bidi characters, cut short."""
    excerpt, room = "", most
    for mark in text[: 4 * most]:
        escaped = json.dumps(mark, ensure_ascii=False)[1:-1] if mark.isprintable() else ""
        if len(escaped) > room:
            break
        excerpt, room = excerpt + escaped, room - len(escaped)
    else:
        return f'"{excerpt}"' if len(text) <= 4 * most else f'"{excerpt}"...'
    return f'"{excerpt}"...'


def is_name(text: str) -> bool:
    """Whether a text can name an event, position, instrument or asset."""
    return not _not_a_name(text)


def show(value: Any) -> str:
    """A JSON value fit for a message."""
    if isinstance(value, Number):
        return value[:40]
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    return json.dumps(value)


def wrong_with(value: Any, rule: str | tuple[str, ...]) -> str | None:
    """What is wrong with a value under a check of `CHECKS`, or under the words allowed."""
    if isinstance(rule, tuple):
        if _not_text(value) or value not in rule:
            return f"{show(value)} is unknown; use one of {', '.join(rule)}"
        return None
    return CHECKS[rule](value)


def _not_text(value: Any) -> str | None:
    if isinstance(value, str) and not isinstance(value, Number):
        return None
    return f"{show(value)} is not a string; put it in quotes"


def _not_a_name(value: Any) -> str | None:
    if wrong := _not_text(value):
        return wrong
    if not value:
        return "is empty; give a name or leave it out"
    if len(value) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters; shorten it"
    if CONTROL.search(value):
        return f"{quote(value)} holds a control character; remove it"
    return None


CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
AGENT_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""What an agent may be called."""
DAY_NAME: Final = re.compile(r"(?:19[7-9][0-9]|[2-9][0-9]{3})-[0-9]{2}-[0-9]{2}")
"""How a day of the calendar is written, from 1970 on."""

_NUMERAL: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INTEGER: Final = re.compile(r"-?\d+", re.ASCII)


def _not_an_agent(value: Any) -> str | None:
    if wrong := _not_text(value):
        return wrong
    return (
        None
        if AGENT_NAME.fullmatch(value)
        else f"{quote(value)} is not 1 to 64 of A-Z a-z 0-9 . _ -; rename it"
    )


def _not_a_number(value: Any) -> str | None:
    if not isinstance(value, str) or not _NUMERAL.fullmatch(value):
        return f"{show(value)} is not a finite number; write digits, or digits in quotes"
    size = abs(float(value))
    if math.isinf(size):
        return f"{value[:40]} is not finite as float64; correct it"
    if size > LARGEST:
        return f"{value[:40]} is beyond {LARGEST:g}; correct it"
    try:
        Decimal(value)
    except InvalidOperation:
        return f"{value[:40]} has an exponent beyond measure; write digits"
    return None


def _ranged(holds: Callable[[float], bool], must: str) -> Callable[[Any], str | None]:
    def outside(value: Any) -> str | None:
        wrong = _not_a_number(value)
        return wrong or (None if holds(float(value)) else f"{value[:40]} {must}")

    return outside


def _json_number(inner: Callable[[Any], str | None]) -> Callable[[Any], str | None]:
    def outside(value: Any) -> str | None:
        if not isinstance(value, Number):
            return f"{show(value)} is not a number; write it without quotes"
        return inner(value)

    return outside


def _not_an_integer(value: Any) -> str | None:
    if isinstance(value, Number) and _INTEGER.fullmatch(value):
        return None
    return f"{show(value)} is not a whole number; write digits only"


def _not_a_count(value: Any) -> str | None:
    return _not_an_integer(value) or (
        f"{value[:40]} is negative; write 0 or more" if value[0] == "-" else None
    )


def _not_a_reference(value: Any) -> str | None:
    return _not_an_integer(value) if isinstance(value, Number) else _not_text(value)


def _not_an_instant(value: Any) -> str | None:
    if isinstance(value, Number):
        return (
            None if _INTEGER.fullmatch(value) else f"{value[:40]} is not a whole number of Unix milliseconds"
        )
    if not isinstance(value, str):
        return f"{show(value)} is not a time; write RFC 3339 or Unix milliseconds"
    return None


def _not_a_moment(value: Any) -> str | None:
    if (wrong := _not_an_instant(value)) or isinstance(value, Number):
        return wrong
    try:
        parse_instant(value)
    except ValueError as error:
        return why_no_instant(value, error)
    return None


def why_no_instant(text: str, error: ValueError) -> str:
    """What `parse_instant` had against a text, with no more of the text than a message may carry."""
    return str(error) if len(repr(text)) <= 42 else f"{quote(text)} is not an RFC 3339 instant; shorten it"


def _not_amounts(value: Any) -> str | None:
    if not isinstance(value, dict):
        return f"{show(value)} is not an object; map each asset to its quantity"
    for asset, amount in value.items():
        if wrong := _not_a_name(asset):
            return f"an asset {wrong}"
        if wrong := _not_an_amount(amount):
            return f"of {quote(asset)}, {wrong}"
    return None


def _not_texts(value: Any) -> str | None:
    if not isinstance(value, list):
        return f"{show(value)} is not a list; write [...]"
    return next((wrong for item in value if (wrong := _not_text(item))), None)


def _not_names(value: Any) -> str | None:
    if not isinstance(value, list):
        return f"{show(value)} is not a list; write [...]"
    if len(value) > MOST_NAMES:
        return f"lists {len(value)} names, more than {MOST_NAMES}; name what mattered"
    for place, item in enumerate(value, 1):
        if wrong := _not_a_name(item):
            return f"name {place} of {len(value)}: {wrong}"
    return None


def _not_a_day(value: Any) -> str | None:
    if not isinstance(value, str) or isinstance(value, Number):
        return f'{show(value)} is not a day; write it as "2026-03-01"'
    if not DAY_NAME.fullmatch(value) or not _is_in_the_calendar(value):
        return f'{quote(value)} is not a day; write it as "2026-03-01"'
    return None


def _is_in_the_calendar(day: str) -> bool:
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return True


_not_an_amount = _ranged(lambda value: value >= 0, "is negative; write 0 or more")

CHECKS: Final[dict[str, Callable[[Any], str | None]]] = {
    "type": lambda _: None,
    "name": _not_a_name,
    "agent": _not_an_agent,
    "at": _not_an_instant,
    "instant": _not_a_moment,
    "integer": _not_an_integer,
    "count": _not_a_count,
    "text": _not_text,
    "texts": _not_texts,
    "names": _not_names,
    "day": _not_a_day,
    "reference": _not_a_reference,
    "number": _not_a_number,
    "positive": _ranged(lambda value: value > 0, "must be above 0"),
    "nonzero": _ranged(lambda value: value != 0, "must not be 0"),
    "amount": _not_an_amount,
    "amounts": _not_amounts,
    "share": _json_number(_ranged(lambda value: 0 <= value <= 1, "must lie between 0 and 1")),
    "valence": _json_number(_ranged(lambda value: -1 <= value <= 1, "must lie between -1 and 1")),
    "map": lambda value: (
        None if isinstance(value, dict) else f"{show(value)} is not an object; write {{...}}"
    ),
    "flag": lambda value: None if isinstance(value, bool) else f"{show(value)} must be true or false",
    "any": lambda _: None,
}
