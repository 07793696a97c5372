"""When two lines tell the same event: JSON values, decimals and instants by value, the order of keys aside. Pure."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Final

import msgspec

from retro.model import FACT_TYPES, decode
from retro.periods import parse_instant

__all__ = ["differences"]

_UNTYPED: Final = {"context", "source"}
"""Fields of free form: their numbers are told apart from texts, as in fields nobody knows."""
_MISSING: Final = object()


def differences(old: tuple[int, str], new: tuple[int, str]) -> list[str]:
    """The fields in which two (instant, line) of the same type differ, in order of name; none when they say the same."""
    if old == new:
        return []
    old_fields, new_fields = _content(*old), _content(*new)
    return sorted(
        name
        for name in old_fields.keys() | new_fields.keys()
        if old_fields.get(name, _MISSING) != new_fields.get(name, _MISSING)
    )


def _content(at: int, body: str) -> dict[str, Any]:
    raw = json.loads(body, parse_float=Decimal, parse_int=Decimal)
    fact = decode(body, at)
    content = {name: _free(value) for name, value in raw.items()}
    for field in msgspec.structs.fields(FACT_TYPES[raw["type"]]):  # known and absent is as good as null
        content[field.name] = content.get(field.name) if field.name in _UNTYPED else getattr(fact, field.name)
    if "target_at" in content:
        content["target_at"] = _instant(content["target_at"])
    return content


def _free(value: Any) -> Any:
    """A JSON value in a form whose equality is that of JSON: `true` is not 1, though Python says so."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, dict):
        return {name: _free(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_free(inner) for inner in value]
    return value


def _instant(value: str | int | None) -> str | int | None:
    if isinstance(value, int):
        return value * 1000
    try:
        return value if value is None else parse_instant(value)
    except ValueError:
        return value
