"""One line of JSON as an object: no key twice, no NaN, nested no deeper than a person would."""

from __future__ import annotations

import json
from typing import Any, Final

from memory.errors import RefusedError

JsonObject = dict[str, Any]

DEEPEST: Final = 100
"""Levels of nesting a value may have."""


def parsed(text: str) -> JsonObject:
    """The object a line holds; raises `RefusedError` for anything else."""
    try:
        value = json.loads(text, object_pairs_hook=_unrepeated, parse_constant=_no_constant)
    except RecursionError:
        raise RefusedError(f"nested beyond {DEEPEST} levels") from None
    except RefusedError:
        raise
    except ValueError as error:
        raise RefusedError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise RefusedError("must be a JSON object")
    return value


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RefusedError(f"repeated key: {next(key for key in keys if keys.count(key) > 1)!r}")
    return mapping


def _no_constant(name: str) -> Any:
    raise RefusedError(f"{name} is not a number")
