"""YAML text to JSON-ready data and back. Only plain data come out: no dates, no objects, nothing not finite."""

from __future__ import annotations

import math
import re
from typing import Any, Final

import yaml

from memory.errors import DamagedError, RefusedError

_DEEPEST: Final = 50
_LARGEST: Final = 200_000
"""More values than any record holds: aliases that unfold without end stop here."""
_WIDTH: Final = 100

_Reader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loader(_Reader):  # type: ignore[misc]  # which of the two it is depends on the machine
    """The safe loader, except that what looks like a time stays the text somebody wrote."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


_BREAKS: Final = re.compile("[\n\r\x85\u2028\u2029]")


class Dumper(yaml.SafeDumper):
    """The safe dumper, except that text with breaks of any kind is written on one logical line, with escapes."""


def _text(dumper: Dumper, value: str) -> yaml.ScalarNode:
    style = '"' if _BREAKS.search(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


Dumper.add_representer(str, _text)


def read(text: str) -> Any:
    """The data of a YAML text; raises `DamagedError` with the line that cannot be read."""
    try:
        _refuse_depth(text)
        return _plain(yaml.load(text, Loader=Loader), [0], 0)  # noqa: S506  it derives from the safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        last = text.rstrip().count("\n")  # an end that is missing is missed behind the last line
        where = f"line {min(mark.line, last) + 1}: " if mark is not None else ""
        raise DamagedError(f"{where}{error.problem or 'not YAML'}") from None
    except yaml.YAMLError as error:
        raise DamagedError(f"not YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise DamagedError("nested too deeply") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise DamagedError(f"a value cannot be read: {error}") from None


def _refuse_depth(text: str) -> None:
    """Look at the events before anything recurses over them: the C library would overflow the stack."""
    depth = 0
    for event in yaml.parse(text, Loader=Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise DamagedError("nested too deeply")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _plain(value: Any, count: list[int], depth: int) -> Any:
    count[0] += 1
    if depth > _DEEPEST or count[0] > _LARGEST:
        raise DamagedError("nested too deeply" if depth > _DEEPEST else "holds more values than a record can")
    if isinstance(value, float):
        return value if math.isfinite(value) else None  # what is no number is missing, not 0
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(item, count, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, count, depth + 1) for item in value]
    raise DamagedError(f"holds a {type(value).__name__}, which is no plain value")


def storable(value: Any, name: str = "record", depth: int = 0) -> Any:
    """The value as it may be written; raises `RefusedError` for what is not finite, not plain or too deep."""
    if depth > _DEEPEST:
        raise RefusedError(f"{name}: nested beyond {_DEEPEST} levels")
    if isinstance(value, float) and not math.isfinite(value):
        raise RefusedError(f"{name}: must be finite")
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # half a character cannot be written
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict):
        return {str(key): storable(item, f"{name}.{key}", depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item, name, depth + 1) for item in value]
    raise RefusedError(f"{name}: {type(value).__name__} is no plain value")


def block(value: Any, indent: int = 0) -> str:
    """The value as lines of YAML in the order of its keys, each indented; ends with a newline."""
    text: str = yaml.dump(
        value,
        Dumper=Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=_WIDTH,
    )
    lines = text.removesuffix("...\n").removesuffix("\n").split("\n")
    return "".join(f"{' ' * indent}{line}\n" if line else "\n" for line in lines)


def scalar(key: str, value: Any, column: int) -> str:
    """A single value as `block` would write it behind this key, standing at this column; it may take several lines."""

    def written(content: Any) -> str:
        nested: Any = {key: content}
        for _ in range(column // 2):  # each list moves it two columns to the right
            nested = [nested]
        return block(nested).removesuffix("\n")

    return written(value)[len(written(0)) - 1 :]


def inline(value: Any) -> str:
    """The value on one line, as it may stand anywhere in a YAML text."""
    text: str = yaml.dump(
        [value],
        Dumper=Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=True,
        width=math.inf,
    )
    return text.strip()[1:-1]
