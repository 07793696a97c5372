"""Mappings: those of a person, read from a TOML file, and those that are part of the house."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ValidationError

from retro.config.faults import faults_of
from retro.errors import ConfigError, InputError, UsageError
from retro.ingest.sample import sample_of
from retro.ingest.table.files import fits
from retro.ingest.table.grammar.tables import TableMap
from retro.ingest.table.grammar.verbs import TextVerbs
from retro.ingest.table.headers import headers_of
from retro.ingest.table.readings import columns_of
from retro.journal import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.ingest.sample import SourceSample

__all__ = ["Mapping", "mapping_of", "parsed", "shipped", "shipped_for", "shipped_like"]

_LARGEST: Final = 1 << 20
_ROW_IDENTITY: Final = ("instrument", "side", "quantity", "price")


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping by name. `prefix` begins the ids of its events and is the agent's name where nobody says one.

    `needs` are the columns that it names, of each tuple one has to be there; `identity` those that name a row that has
    no id, where not all of its cells do.
    """

    name: str
    rules: TableMap
    prefix: str
    needs: tuple[tuple[str, ...], ...]
    identity: tuple[str, ...]


def mapping_of(name: str) -> Mapping:
    """A mapping by the path of its file, else by its name among those that are shipped.

    `ConfigError` lists every fault of a file; `UsageError` where there is neither.
    """
    if name in shipped():
        return _shipped(name)
    path = Path(name)
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        near = difflib.get_close_matches(name, shipped(), n=1)
        nearest = f"did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"--map {quote(name)} is neither a file nor a mapping of ours; {nearest}There are {', '.join(shipped())}"
        ) from None
    except (OSError, ValueError) as error:
        raise ConfigError(name, [f"cannot be read: {getattr(error, 'strerror', None) or error}"]) from None
    if len(content) > _LARGEST:
        raise ConfigError(name, ["is larger than 1 MB; that is no mapping"])
    return parsed(content, path.stem, str(path))


def parsed(content: bytes, name: str, place: str) -> Mapping:
    """The mapping in a file's bytes; `ConfigError` lists every fault with its line, key and what is expected."""
    try:
        text = content.decode("utf-8-sig")
        data = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(place, [f"line {line}: is not UTF-8 text; save the file as UTF-8"]) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(place, [f"is not TOML: {error}"]) from None
    try:
        rules = TableMap.model_validate(data)
    except ValidationError as error:
        faults = faults_of(data, text, error.errors(include_url=False), {}, TableMap)
        raise ConfigError(place, [fault.removeprefix(": ") for fault in faults]) from None
    prefix = rules.position.prefix or name
    return Mapping(name, rules, prefix[:20], tuple(_needs(rules)), _identity(rules))


def _needs(model: BaseModel) -> Iterator[tuple[str, ...]]:
    """The columns that the tables of a mapping name, filters and nested rows left out."""
    for name in type(model).model_fields:
        value = getattr(model, name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, TextVerbs):
                yield from columns_of(part)
            if isinstance(part, BaseModel) and not getattr(part, "each", ()):
                yield from _needs(part)


def _identity(rules: TableMap) -> tuple[str, ...]:
    """Of round trips without an id their entry alone: what is open today has an exit tomorrow."""
    if rules.position.by != "row" or rules.fill is None:
        return ()
    if rules.fill.id:
        return rules.fill.id
    names = list(rules.time.column)
    for field in _ROW_IDENTITY:
        verbs = getattr(rules.fill, field)
        if verbs is not None:
            names += [name for need in columns_of(verbs) for name in need]
    return tuple(dict.fromkeys(names))


# shipped ones


@cache
def shipped() -> tuple[str, ...]:
    """The names of the mappings that are part of the house, sorted."""
    entries = files("retro.ingest").joinpath("mappings").iterdir()
    return tuple(
        sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml"))
    )


@cache
def _shipped(name: str) -> Mapping:
    content = files("retro.ingest").joinpath("mappings", f"{name}.toml").read_bytes()
    return parsed(content, name, f"{name}.toml")


def shipped_like(sample: SourceSample) -> list[str]:
    """The shipped mappings whose columns a file has, those with most columns first."""
    ranked = []
    for name in shipped():
        source = _shipped(name).rules.source
        if source.match and any(fits(header, source.match) for header in headers_of(sample, source)):
            ranked.append((-len(source.match), name))
    return [name for _, name in sorted(ranked)]


def shipped_for(path: Path) -> Mapping:
    """The shipped mapping whose columns a file has; `InputError` where there is none."""
    names = shipped_like(sample_of(path))
    if not names:
        raise InputError(
            f"{path} has the columns of no mapping of ours; write one with retro map {path}, and name it: --map MAP.toml"
        )
    return _shipped(names[0])
