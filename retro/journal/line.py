"""One line of a journal: is it an event, and if not, why."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import msgspec

from retro.journal.fields import FIELDS, REQUIRED
from retro.journal.rules import RULES
from retro.journal.values import CONTROL, Number, quote, show, why_no_instant, wrong_with
from retro.model import EventRow, decode
from retro.periods import DAY, format_instant, parse_instant

__all__ = ["Event", "EventLine", "RejectedError", "check", "instant", "parse"]

_DEEPEST: Final = 100


class RejectedError(ValueError):
    """This line is no event; the text says why."""


class Event(NamedTuple):
    """A line that is an event: its row for the store, and the names of fields nobody knows."""

    row: EventRow
    unknown: tuple[str, ...]


class EventLine(NamedTuple):
    """A line that is an event, read as JSON: its type, its fields with numbers as written, its instant."""

    kind: str
    fields: dict[str, Any]
    at: int


def check(text: str, now: int) -> Event:
    """The event a line tells, whole; `RejectedError` where it tells none. `now`: the ingest clock, microseconds."""
    kind, fields, at = parse(text, now)
    try:
        decode(text, at)
    except (msgspec.MsgspecError, ArithmeticError, ValueError, RecursionError) as error:
        raise RejectedError(f"{kind}: cannot be read back ({quote(str(error))}); write it simpler") from None
    position = fields.get("position") if "position" in FIELDS[kind] else None
    row = EventRow(fields["agent"], kind, fields["id"], at, position, text)
    return Event(row, tuple(name for name in fields if name not in FIELDS[kind]))


def parse(text: str, now: int) -> EventLine:
    """The same by the standard library alone, for the writer; what it lets through reads back."""
    fields = _structure(text)
    kind = _kind(fields)
    field_rules = FIELDS[kind]
    for name in REQUIRED[kind]:
        if fields.get(name) is None:
            raise RejectedError(f"{name}: is missing; every {kind} needs one")
    for name, rule in field_rules.items():
        value = fields.get(name)
        if value is not None and (wrong := wrong_with(value, rule)):
            raise RejectedError(f"{name}: {wrong}")
    if kind in RULES and (
        wrong := RULES[kind](SimpleNamespace(**{name: fields.get(name) for name in field_rules}))
    ):
        raise RejectedError(wrong)
    at = instant(int(fields["at"]) if isinstance(fields["at"], Number) else fields["at"], now)
    return EventLine(kind, fields, at)


def instant(value: str | int, now: int) -> int:
    """Microseconds of an event's `at`, between 1970 and `now` + 1 day; `RejectedError` otherwise."""
    if isinstance(value, int):
        at, quoted = value * 1000, str(value)[:40]
    else:
        at, quoted = _parsed(value), quote(value)
    if at < 0:
        raise RejectedError(f"at: {quoted} lies before 1970; use RFC 3339 or Unix milliseconds")
    if at > now + DAY:
        late = f"at: {quoted} lies more than a day after {format_instant(now)}"
        raise RejectedError(f"{late}; use RFC 3339 or Unix milliseconds")
    return at


def _parsed(text: str) -> int:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise RejectedError(f"at: {why_no_instant(text, error)}") from None


def _structure(text: str) -> dict[str, Any]:
    """The line as one object: no key twice, nothing too deep, every number finite, every string real text."""
    if text.count("[") + text.count("{") > _DEEPEST and _depth(text) > _DEEPEST:
        raise RejectedError(f"line: nests deeper than {_DEEPEST} levels; flatten it")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise RejectedError(
            f"line: is not JSON ({error.msg.lower()} at character {error.pos + 1}); one object a line"
        ) from None
    except RecursionError:
        raise RejectedError(f"line: nests deeper than {_DEEPEST} levels; flatten it") from None
    if not isinstance(value, dict):
        raise RejectedError(f"line: {show(value)} is not an object; write {{...}}, one a line")
    if "\\u" in text:
        _refuse_half_characters(value)
    return value


_STRINGS_AND_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]')


def _depth(text: str) -> int:
    deepest = depth = 0
    for match in _STRINGS_AND_BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        deepest = max(deepest, depth)
    return deepest


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        key = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise RejectedError(f"{_label(key)}: is given twice; keep one")
    for key, value in pairs:
        _refuse_infinite(key, value)
    return fields


def _refuse_infinite(key: str, value: Any) -> None:
    if isinstance(value, float) or (isinstance(value, Number) and math.isinf(float(value))):
        raise RejectedError(
            f"{_label(key)}: {str(value)[:40]} is not finite as float64; correct or leave it out"
        )
    if isinstance(value, list):
        for item in value:
            _refuse_infinite(key, item)


def _label(key: str) -> str:
    return key if len(key) <= 40 and key.isascii() and key.isidentifier() else quote(key)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_float=Number, parse_int=Number, parse_constant=float
)


def _refuse_half_characters(value: dict[str, Any]) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise RejectedError(
            "line: an escape names half a character (a lone surrogate); write it whole"
        ) from None


def _kind(fields: dict[str, Any]) -> str:
    kind = fields.get("type")
    if any(map(CONTROL.search, fields)):
        raise RejectedError("line: a field's name holds a control character; rename it")
    if kind is None:
        raise RejectedError(f"type: is missing; use one of {', '.join(FIELDS)}")
    if isinstance(kind, Number) or not isinstance(kind, str) or kind not in FIELDS:
        raise RejectedError(f"type: {show(kind)} is unknown; use one of {', '.join(FIELDS)}")
    return kind
