"""Items: one text each with what is said about it, and how they are read and written.

An item is identified by (agent, id). It never changes: another status or wording is a version of its own
(`version_of`). Source of the fields: docs/library.md.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import msgspec

from memory.errors import DamagedError, RefusedError
from memory.fields import FieldReaders, identity, is_agent, name, number, read_fields, required_instant
from memory.instants import written
from memory.json_lines import JsonObject, read_lines
from memory.library.layers.preset import LAYERS

Scalar = str | int | float | bool
MetadataValue = Scalar | list[Scalar] | dict[str, Scalar | list[Scalar]]

SHARED: Final = ""
"""The agent of items that belong to nobody: everybody sees them. JSON says null."""
COLLECTIONS: Final = (
    "research_findings",
    "strategy_library",
    "lessons_learned",
    "market_regimes",
    "backtest_results",
    "tool_definitions",
    "hypotheses",
)
"""The collections there are from the start; any other name makes one."""
STATUSES: Final = ("draft", "tested", "approved", "deprecated")
"""What a strategy can be."""
LARGEST_TEXT: Final = 65_536
"""Bytes of a text."""
_MOST_KEYS: Final = 200
_MOST_PARENTS: Final = 1000
_LARGEST_NUMBER: Final = 1e15
_LARGEST_METADATA: Final = 65_536
_UNSTORABLE: Final = re.compile(r"[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class LibraryItem:
    """One text. `importance` and `confidence` as they were told; `parents` are ids of what the text rests on.

    A parent may be an item that is told later, or something else that has an id: an experiment, an episode, a review.
    `metadata` holds plain values, lists of them, or one level of map; a key that is null is left out.
    """

    id: str
    agent: str
    at: int
    text: str
    collection: str
    symbol: str | None = None
    layer: str | None = None
    importance: float | None = None
    metadata: dict[str, MetadataValue] = field(default_factory=dict)
    parents: tuple[str, ...] = ()
    version_of: str | None = None
    session: str | None = None
    confidence: float | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True)
class ItemFault:
    """A line that could not be used: where it stood and why."""

    where: str
    line: int | None
    reason: str


FIELDS: Final = tuple(item.name for item in fields(LibraryItem))
_TOLD: Final = tuple(name for name in FIELDS if name not in ("agent", "text"))
_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_DECODER: Final = msgspec.json.Decoder(LibraryItem)


def document(item: LibraryItem) -> str:
    """The canonical JSON of everything but agent and text: equal items have equal documents."""
    return _ENCODER.encode({name: getattr(item, name) for name in _TOLD}).decode("utf-8")


def from_document(agent: str, plain: str, text: str) -> LibraryItem:
    """The item that a stored document and text hold; raises `DamagedError` when it can no longer be read."""
    try:
        values = msgspec.json.decode(plain) | {"agent": agent, "text": text}
        return msgspec.convert(values, LibraryItem)
    except (msgspec.MsgspecError, UnicodeError, TypeError) as error:
        raise DamagedError(f"a stored item cannot be read: {error}") from error


def content_of(plain: str, text: str) -> bytes:
    """The digest of what was told, 16 bytes: by it the same item is known when its text lies in the archive."""
    digest = hashlib.blake2b(plain.encode("utf-8"), digest_size=16)
    digest.update(b"\0" + text.encode("utf-8"))
    return digest.digest()


def item_as_json(item: LibraryItem) -> JsonObject:
    """The item as JSON-ready values under the contract's names: `at` as RFC 3339, a shared one's agent null."""
    values = {name: getattr(item, name) for name in FIELDS}
    return values | {"at": written(item.at), "agent": item.agent or None, "parents": list(item.parents)}


def item_of(raw: Mapping[str, Any]) -> LibraryItem:
    """Read one told item; raises `RefusedError` naming the field. Fields we do not know join its metadata."""
    values = dict(read_fields(raw, _READERS))
    strangers = {key: value for key, value in raw.items() if key not in FIELDS}
    values["metadata"] = _metadata(raw.get("metadata"), strangers)
    item = LibraryItem(**values)
    if item.id in item.parents or item.id == item.version_of:
        raise RefusedError("parents: an item cannot rest on itself")
    if item.collection == "strategy_library" and item.status not in (*STATUSES, None):
        raise RefusedError(f"status: a strategy is one of {', '.join(STATUSES)}")
    return item


def verified(item: LibraryItem) -> LibraryItem:
    """The same item, held to what a told one is held to; raises `RefusedError` naming the field."""
    raw = {name: getattr(item, name) for name in FIELDS}
    written(item.at)
    return replace(item_of(raw | {"at": 0}), at=item.at)


def read_items(lines: Iterable[bytes | str], where: str = "-") -> Iterator[LibraryItem | ItemFault]:
    """Read JSON Lines: each line's item, or its fault (`line` counts from 1). Blank lines are skipped."""
    return read_lines(lines, item_of, lambda line, reason: ItemFault(where, line, reason))


def _metadata(stated: object, strangers: Mapping[str, Any]) -> dict[str, MetadataValue]:
    if stated is not None and not isinstance(stated, Mapping):
        raise RefusedError("metadata: must be an object")
    metadata = dict(stated or {})
    for key, value in strangers.items():
        if key in metadata:
            raise RefusedError(f"{key}: stands in metadata too")
        metadata[key] = value
    metadata = {
        _key(key): _value(f"metadata.{key}", value) for key, value in metadata.items() if value is not None
    }
    if len(metadata) > _MOST_KEYS or len(_ENCODER.encode(metadata)) > _LARGEST_METADATA:
        raise RefusedError(f"metadata: at most {_MOST_KEYS} keys and {_LARGEST_METADATA} bytes")
    return metadata


def _value(name: str, value: object) -> MetadataValue:
    if isinstance(value, Mapping):
        return {_key(key): _flat(f"{name}.{key}", part) for key, part in value.items() if part is not None}
    flat: MetadataValue = _flat(name, value)
    return flat


def _flat(name: str, value: object) -> Scalar | list[Scalar]:
    if isinstance(value, list | tuple):
        return [_scalar(name, part) for part in value]
    return _scalar(name, value)


def _scalar(name: str, value: object) -> Scalar:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        if not abs(value) <= _LARGEST_NUMBER:
            raise RefusedError(f"{name}: must be finite and at most {_LARGEST_NUMBER:g} in size")
        return int(value) if float(value).is_integer() else value
    if isinstance(value, str):
        if _UNSTORABLE.search(value):
            raise RefusedError(f"{name}: holds a character that cannot be stored")
        return value
    raise RefusedError(f"{name}: must be text, a number, true, false, a list of them or one level of map")


def _key(value: object) -> str:
    key = name(value)
    if key is None:
        raise RefusedError("metadata: a key must not be empty")
    return key


def _agent(value: object) -> str:
    if value is None or value == SHARED:
        return SHARED
    if not is_agent(value):
        raise RefusedError("must be 1 to 64 of A-Za-z0-9._-, or null for an item everybody sees")
    return str(value)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise RefusedError("must be text that is not empty")
    if _UNSTORABLE.search(value):
        raise RefusedError("holds a character that cannot be stored")
    size = len(value.encode("utf-8"))
    if size > LARGEST_TEXT:
        raise RefusedError(f"has {size:,} bytes; at most {LARGEST_TEXT:,}")
    return value


def _layer(value: object) -> str | None:
    if value is not None and value not in LAYERS:
        raise RefusedError(f"must be one of {', '.join(LAYERS)}")
    return name(value)


def _parents(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or len(value) > _MOST_PARENTS:
        raise RefusedError(f"must be a list of at most {_MOST_PARENTS} ids")
    return tuple(sorted({identity(part) for part in value}))


_READERS: Final[FieldReaders] = {
    "id": identity,
    "agent": _agent,
    "at": required_instant,
    "text": _text,
    "collection": identity,
    "symbol": name,
    "layer": _layer,
    "importance": number(0.0, 1e9),
    "parents": _parents,
    "version_of": name,
    "session": name,
    "confidence": number(0.0, 1.0),
    "status": name,
}
