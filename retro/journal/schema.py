"""The journal's JSON Schema, made from the same tables that reading checks by.

It says what a schema can say of one line. What it cannot (time beyond the ingest clock, `lower` below `upper`, a key
given twice) the reader says.
"""

from __future__ import annotations

from typing import Any, Final

from retro.journal.fields import FIELDS, REQUIRED
from retro.journal.values import AGENT_NAME, DAY_NAME, LARGEST, LONGEST_NAME, MOST_NAMES

__all__ = ["schema"]

_Schema = dict[str, Any]

_UNSIGNED: Final = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NAME: Final = {
    "type": "string",
    "minLength": 1,
    "maxLength": LONGEST_NAME,
    "pattern": r"^[^\u0000-\u001f\u007f-\u009f]*$",
}
_MOMENT: Final = {
    "description": "RFC 3339 with offset, or Unix milliseconds",
    "anyOf": [{"type": "string", "format": "date-time", "maxLength": 40}, {"type": "integer"}],
}


def _decimal(pattern: str, **limits: float) -> _Schema:
    """A number, or the same as digits in quotes."""
    return {
        "anyOf": [
            {"type": "number", "minimum": -LARGEST, "maximum": LARGEST, **limits},
            {"type": "string", "pattern": f"^{pattern}$"},
        ]
    }


_AMOUNT: Final = _decimal(rf"\+?{_UNSIGNED}", minimum=0)

_OF_CHECK: Final[dict[str, _Schema]] = {
    "name": _NAME,
    "agent": {"type": "string", "pattern": f"^{AGENT_NAME.pattern}$"},
    "at": _MOMENT,
    "instant": _MOMENT,
    "integer": {"type": "integer"},
    "count": {"type": "integer", "minimum": 0},
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "names": {"type": "array", "items": _NAME, "maxItems": MOST_NAMES},
    "day": {"type": "string", "format": "date", "pattern": f"^{DAY_NAME.pattern}$"},
    "reference": {"type": ["string", "integer"]},
    "number": _decimal(rf"[+-]?{_UNSIGNED}"),
    "positive": _decimal(rf"\+?{_UNSIGNED}", exclusiveMinimum=0),
    "nonzero": {**_decimal(rf"[+-]?{_UNSIGNED}"), "not": {"const": 0}},
    "amount": _AMOUNT,
    "amounts": {"type": "object", "propertyNames": _NAME, "additionalProperties": _AMOUNT},
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "valence": {"type": "number", "minimum": -1, "maximum": 1},
    "map": {"type": "object"},
    "flag": {"type": "boolean"},
    "any": {},
}


def _all_present(*names: str) -> _Schema:
    """All of these fields are there; a null counts as absent."""
    return {"required": [*names], "properties": {name: {"not": {"type": "null"}} for name in names}}


def _when(name: str, *words: str) -> _Schema:
    return {"required": [name], "properties": {name: {"enum": [*words]}}}


_TOGETHER: Final[dict[str, _Schema]] = {
    "position": {"if": _when("kind", "lp"), "then": _all_present("token0", "token1")},
    "flow": {
        "allOf": [
            {"if": _when("kind", "deposit", "withdrawal"), "then": _all_present("position")},
            {"if": _all_present("kept"), "then": _when("kind", "withdrawal")},
        ]
    },
    "mark": {"oneOf": [_all_present("instrument"), _all_present("asset")]},
    "cost": {
        "oneOf": [
            {
                "allOf": [
                    _all_present("amount"),
                    {"not": {"anyOf": [_all_present("asset"), _all_present("quantity")]}},
                ]
            },
            {"allOf": [_all_present("asset", "quantity"), {"not": _all_present("amount")}]},
        ]
    },
    "resolution": {"anyOf": [_all_present("actual"), _all_present("correct")]},
    "equity": {"anyOf": [_all_present("value"), _all_present("balances")]},
}


def schema() -> _Schema:
    """The JSON Schema of one line of a journal."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One line of a journal",
        "description": "One event of an agent's life. Fields that are not named here are kept.",
        "type": "object",
        "oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in FIELDS],
        "$defs": {kind: _event(kind) for kind in FIELDS},
    }


def _event(kind: str) -> _Schema:
    needed = ["type", *REQUIRED[kind]]
    fields = {
        name: {"const": kind} if name == "type" else _field(check, needed=name in needed)
        for name, check in FIELDS[kind].items()
    }
    return {"type": "object", "properties": fields, "required": needed, **_TOGETHER.get(kind, {})}


def _field(check: str | tuple[str, ...], *, needed: bool) -> _Schema:
    """What a field holds; one that may be left out may be null as well."""
    field_schema: _Schema = {"enum": [*check]} if isinstance(check, tuple) else _OF_CHECK[check]
    return field_schema if needed or not field_schema else {"anyOf": [field_schema, {"type": "null"}]}
