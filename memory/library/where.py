"""Filters on what is said about an item: `confidence>=.7`, `source=10-K`, with the type the item has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from memory.errors import RefusedError

__all__ = ["ItemCondition", "condition_of", "matches", "stated"]

_FORM: Final = re.compile(r"([^=!<>]+)(=|!=|<=|>=|<|>)(.*)", re.DOTALL)
_FIELDS: Final = (
    "collection",
    "symbol",
    "layer",
    "importance",
    "session",
    "confidence",
    "status",
    "version_of",
)
_ORDERS: Final = {"=": (0,), "!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}


@dataclass(frozen=True, slots=True)
class ItemCondition:
    """`key` of the metadata (`a.b` inside a map) or a field of the item, how to compare it, and with what."""

    key: str
    sign: str
    value: str


def condition_of(text: str) -> ItemCondition:
    """What somebody typed after --where; raises `RefusedError` for anything else."""
    match = _FORM.fullmatch(text)
    if match is None or not match[1].strip():
        raise RefusedError(f"{text!r} is no condition; say KEY=VALUE, or with !=, <, <=, >, >=")
    return ItemCondition(match[1].strip(), match[2], match[3].strip())


def stated(document: str, key: str) -> object:
    """What a stored document says under a key; None where it says nothing."""
    said = msgspec.json.decode(document)
    metadata = said.get("metadata", {})
    if key in metadata:
        return metadata[key]
    outer, _, inner = key.partition(".")
    if inner and isinstance(metadata.get(outer), dict):
        return metadata[outer].get(inner)
    return said.get(key) if key in _FIELDS else None


def matches(condition: ItemCondition, value: Any) -> bool:
    """Whether an item that says `value` under the key meets the condition.

    One that says nothing, or something of a type that the condition's value is not, is only unlike it (`!=`). Of a list,
    any part may meet it; unlike are all of them.
    """
    if isinstance(value, list):
        parts = [matches(condition, part) for part in value]
        return all(parts) if condition.sign == "!=" else any(parts)
    wanted = _typed(condition.value, value)
    if wanted is None:
        return condition.sign == "!="
    order = (value > wanted) - (value < wanted)
    return order in _ORDERS[condition.sign]


def _typed(text: str, value: object) -> Any:
    """The text as a value of the type of `value`; None where it is none."""
    if isinstance(value, bool):
        return {"true": True, "false": False}.get(text.lower())
    if isinstance(value, int | float):
        try:
            return float(text)
        except ValueError:
            return None
    return text if isinstance(value, str) else None
