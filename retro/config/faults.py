"""What is wrong with a configuration, said so that it can be mended: line, key, what is expected."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from datetime import date, time
from typing import TYPE_CHECKING, Any, Final, get_args

from pydantic import BaseModel

from retro.config.tables import Config
from retro.secret import FORGE_TOKEN, MODEL_KEY, NOTIFY_URLS, SECRETS, SMTP_PASSWORD, is_secret_name, redact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic_core import ErrorDetails

__all__ = ["faults_of", "secrets_in"]

KeyPath = tuple[str | int, ...]

_SECRET_OF: Final = {
    "llm": MODEL_KEY,
    "mail": SMTP_PASSWORD,
    "playbook": FORGE_TOKEN,
    "notify": NOTIFY_URLS,
}
_SECRET_KEY: Final = re.compile(r"(?i)passw|passphrase|secret|token|api_?key|credential")
_MAY_CARRY_ONE: Final = {("store", "url"), ("service", "ping_url")}  # no secret of ours would replace it
_NAMES_OF_SECRETS: Final = ("mcp", "tokens")
_REPLACED: Final = (
    (re.compile(r"^Value error, "), ""),
    (re.compile(r"^Input should be a valid (?:dictionary or instance of \w+|dictionary)"), "must be a table"),
    (re.compile(r"^Input should be a valid (?:tuple|list)"), "must be a list"),
    (re.compile(r"^Input should be a valid string"), "must be text in quotes"),
    (re.compile(r"^Input should be a valid boolean"), "must be true or false"),
    (re.compile(r"^Input should be a valid integer"), "must be a whole number"),
    (re.compile(r"^Input should be a valid (?:number|decimal)"), "must be a number"),
    (re.compile(r"^Input should be an instance of Decimal"), "must be an amount such as 1000 or 250.50"),
    (
        re.compile(r"^Input should be an instance of Path|^Input is not a valid path"),
        "must be a path in quotes",
    ),
    (re.compile(r"^Input should be "), "must be "),
    (re.compile(r"^String should have "), "must have "),
)


def faults_of(
    data: Mapping[str, Any],
    text: str,
    errors: Sequence[ErrorDetails],
    secrets: Mapping[KeyPath, str],
    root: type[BaseModel] = Config,
) -> list[str]:
    """One sentence a fault, in the order of the file, which is a `root`; a secret is named by its key only."""
    lines = _key_lines(text)
    reasons = dict(secrets)
    for error in errors:
        path = tuple(part for part in error["loc"] if part != "[key]")
        reasons.setdefault(path, _sentence(path, error, data, root))
    placed = [(_line(path, lines), _spelled(path), reason) for path, reason in reasons.items()]
    placed.sort(key=lambda fault: fault[0] or 0)
    return [f"line {line}: {key}: {reason}" if line else f"{key}: {reason}" for line, key, reason in placed]


def secrets_in(data: Mapping[str, Any]) -> dict[KeyPath, str]:
    """The places where a secret stands in the file, each with the place where it belongs."""
    reasons = {}
    for path, value in _leaves(data):
        texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
        key = next((part for part in reversed(path) if isinstance(part, str)), "")
        if path[:2] == _NAMES_OF_SECRETS:
            if any(not is_secret_name(text) for text in texts):
                reasons[path] = (
                    "must be the name of a secret, in capitals, such as RETRO_MCP_HARBOR_4;"
                    " the token itself does not belong in this file"
                )
            continue
        by_key = texts and _SECRET_KEY.search(key) and key not in _names(path[:-1])
        if by_key or (path[:2] not in _MAY_CARRY_ONE and any(redact(text) != text for text in texts)):
            name = _SECRET_OF.get(str(path[0])) or next(
                (s for s in SECRETS if s.endswith(key.upper())), "NAME"
            )
            reasons[path] = (
                f"a secret does not belong in this file; give it as ${name}, as a file named by ${name}_FILE "
                f"or as $CREDENTIALS_DIRECTORY/{name.lower()}"
            )
    return reasons


def _sentence(path: KeyPath, error: ErrorDetails, data: Mapping[str, Any], root: type[BaseModel]) -> str:
    if error["type"] == "extra_forbidden":
        return f"unknown {'table' if isinstance(error['input'], dict) else 'key'}; {_nearest(path, root)}"
    if error["type"] == "missing":
        model = _model_at(path[:-1], root)
        return f"is missing: {model.model_fields[str(path[-1])].description if model else 'it is needed'}"
    if path in {("source",), ("shadow",)} and error["type"] == "tuple_type":
        return f"must be written as [[{path[0]}]], one such table for each {path[0]}"
    message = error["msg"]
    for pattern, replacement in _REPLACED:
        message = pattern.sub(replacement, message)
    given = error["input"]
    if isinstance(given, dict | list | tuple) or not _is_present(path, data) or repr(given) in message:
        return message
    return f"{message}, not {_value_text(given)}"


def _nearest(path: KeyPath, root: type[BaseModel]) -> str:
    """The nearest known key: in the same table, else nearly the same name in another, else the best there is."""
    names, key = _names(path[:-1], root), str(path[-1])
    if near := difflib.get_close_matches(key, names, n=1):
        return f"did you mean {near[0]}?"
    elsewhere = {
        name: f"{table}.{name}"
        for table, field in root.model_fields.items()
        if (model := _table_in(field.annotation))
        for name in model.model_fields
    }
    if near := difflib.get_close_matches(key, elsewhere, n=1, cutoff=0.8):
        return f"did you mean {elsewhere[near[0]]}?"
    return f"the nearest known one is {difflib.get_close_matches(key, names, n=1, cutoff=0.0)[0]}"


def _model_at(path: KeyPath, root: type[BaseModel] = Config) -> type[BaseModel] | None:
    """The table a key path leads to; the name of an agent and the place of a source lead into their table."""
    annotation: Any = root
    for part in path:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            field = annotation.model_fields.get(str(part))
            annotation = field.annotation if field else None
        else:
            annotation = _table_in(annotation)
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _table_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((table for inner in get_args(annotation) if (table := _table_in(inner))), None)


def _names(path: KeyPath, root: type[BaseModel] = Config) -> list[str]:
    model = _model_at(path, root)
    return list(model.model_fields) if model else []


def _is_present(path: KeyPath, data: Any) -> bool:
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _value_text(value: object) -> str:
    if isinstance(value, date | time):
        return value.isoformat()
    text = json.dumps(redact(value), ensure_ascii=True, default=str)
    return text if len(text) <= 60 else text[:57] + '..."'


def _spelled(path: KeyPath) -> str:
    """A key path as people write it; places in a list count from 1."""
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _line(path: KeyPath, lines: Mapping[KeyPath, int]) -> int | None:
    """The line of the key, else of the nearest thing around it; of a list of tables, that of its first."""
    places = (place for n in range(len(path), 0, -1) for place in (path[:n], (*path[:n], 0)))
    return next((lines[place] for place in places if place in lines), None)


def _key_lines(text: str) -> dict[KeyPath, int]:
    """The line of every key: statement by statement, each parsed alone, since tomllib keeps no positions."""
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    pending, first = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        if not pending:
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            first = number
        pending += line + "\n"
        try:
            statement = tomllib.loads(pending)
        except ValueError:  # it goes on in the next line
            continue
        header = pending.lstrip().startswith("[")
        if header:
            table = _table_path(statement, lines)
            lines.setdefault(table, first)
        else:
            for path, _ in _leaves(statement):
                for n in range(1, len(path) + 1):
                    lines.setdefault(table + path[:n], first)
        pending = ""
    return lines


def _table_path(header: Any, lines: Mapping[KeyPath, int]) -> KeyPath:
    path: KeyPath = ()
    while header:
        if isinstance(header, list):  # [[source]]: the next one that has no line yet
            place = 0
            while (*path, place) in lines:
                place += 1
            path, header = (*path, place), header[0]
        else:
            key, header = next(iter(header.items()))
            path = (*path, key)
    return path


def _leaves(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Every key that holds a value rather than tables, with its path."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        for place, item in enumerate(value):
            yield from _leaves(item, (*path, place))
    elif path:
        yield path, value
