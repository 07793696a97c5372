"""From the memory's own values to JSON-ready ones: instants as RFC 3339, dataclasses as objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from memory.instants import written


def is_instant(name: str) -> bool:
    """Whether a field of this name holds an instant."""
    return name in ("at", "as_of") or name.endswith("_at")


def as_document(value: object, name: str = "") -> Any:
    """The value as JSON-ready data; integers under the name of an instant become RFC 3339 text."""
    if isinstance(value, int) and not isinstance(value, bool) and is_instant(name):
        return written(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: as_document(getattr(value, item.name), item.name) for item in fields(value)}
    if isinstance(value, Mapping):
        return {key: as_document(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_document(item) for item in value]
    return value
