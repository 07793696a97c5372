"""What stands in the cells of a row: texts by column or by path, whatever format the row came in."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["Cells", "Reading", "entries_of", "has_column", "path_reading", "text_of", "value_at"]

Cells = dict[str, Any]
"""A row: texts by column; of nested formats what JSON has."""
Reading = "Callable[[Cells], str]"

_ABSENT: Final = object()
_decode: Final = msgspec.json.Decoder(float_hook=str).decode


def text_of(value: Any) -> str:
    """A cell as text without blanks around it; nothing, a list and a dictionary are empty."""
    if isinstance(value, str):
        return value.strip()
    if value is None or isinstance(value, list | dict):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def value_at(cells: Cells, path: str, parts: tuple[str, ...]) -> Any:
    """What stands in a column of that name, else at that path of keys and places; None where nothing does.

    A step into text that is JSON goes into what it says: databases keep nested values so.
    """
    value = cells.get(path, _ABSENT)
    if value is not _ABSENT:
        return value
    if len(parts) == 1:
        return None
    node: Any = cells
    for part in parts:
        if isinstance(node, str) and node[:1] in {"{", "["}:
            node = _decoded(node)
        if isinstance(node, dict):
            node = node.get(part)
        elif isinstance(node, list) and part.isascii() and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
        else:
            return None
    return node


def _decoded(text: str) -> Any:
    try:
        return _decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def path_reading(path: str) -> Callable[[Cells], str]:
    """A function that gives the text at a path."""
    parts = tuple(path.split("."))

    def reading(cells: Cells) -> str:
        value = cells.get(path)
        if value.__class__ is str:
            return str(value).strip()
        return text_of(value_at(cells, path, parts))

    return reading


def has_column(columns: Mapping[str, Any] | set[str], path: str) -> bool:
    """Whether a flat table has a column, or one that a path begins with."""
    return path in columns or path.split(".", 1)[0] in columns or path.rsplit(".", 1)[0] in columns


def entries_of(cells: Cells, paths: tuple[str, ...]) -> Iterator[Cells]:
    """The rows that nested lists and dictionaries of a row hold: each entry's fields over the row's own.

    `each` is the path an entry came from, `key` its key in a dictionary, `value` an entry that is none itself.
    """
    for path in paths:
        node = value_at(cells, path, tuple(path.split(".")))
        if isinstance(node, str):
            node = _decoded(node)
        if isinstance(node, dict):
            pairs = list(node.items())
        elif isinstance(node, list):
            pairs = [(str(place), entry) for place, entry in enumerate(node, 1)]
        else:
            continue
        for key, entry in pairs:
            fields = entry if isinstance(entry, dict) else {"value": entry}
            yield {**cells, **fields, "each": path, "key": key}
