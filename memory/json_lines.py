"""Lines of JSON as objects: no key twice, no NaN, nested no deeper than a person would."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memory.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

JsonObject = dict[str, Any]
_Value = TypeVar("_Value")
_Fault = TypeVar("_Fault")

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


def read_lines(
    lines: Iterable[bytes | str],
    read: Callable[[JsonObject], _Value],
    fault: Callable[[int, str], _Fault],
) -> Iterator[_Value | _Fault]:
    """What `read` makes of each line's object, or `fault` of its number (from 1) and why not. Blank lines are skipped."""
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode("utf-8") if isinstance(line, bytes) else line
            if number == 1:
                text = text.removeprefix("\ufeff")
            if text.strip():
                yield read(parsed(text))
        except UnicodeDecodeError:
            yield fault(number, "not UTF-8")
        except RefusedError as error:
            yield fault(number, str(error))


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RefusedError(f"repeated key: {next(key for key in keys if keys.count(key) > 1)!r}")
    return mapping


def _no_constant(name: str) -> Any:
    raise RefusedError(f"{name} is not a number")
