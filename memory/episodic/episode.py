"""Episodes: one resolved decision each, deliberate inaction included, and how they are read and written.

An episode is identified by (agent, id). `at` is the instant its outcome was known; `held_for_s` counts back from it
to the entry. What a later review found out is never written into the episode: see `memory.hindsight`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import msgspec

from memory.errors import DamagedError, RefusedError
from memory.fields import FieldReaders, identity, is_agent, name, number, read_fields, required_instant
from memory.instants import written
from memory.json_lines import DEEPEST, read_lines
from memory.situation.context import DEFAULT, LARGEST, Registry, checked

_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Episode:
    """One resolved decision. Prices, size and money are the agent's own units; `pnl_r` is in units of its risk.

    `valence` (-1..1) is how it felt at the time; `more` keeps every field of the source we do not know.
    """

    id: str
    agent: str
    at: int
    strategy: str | None = None
    symbol: str | None = None
    direction: str | None = None
    entry_price: float | None = None
    size: float | None = None
    exit_price: float | None = None
    pnl: float | None = None
    pnl_r: float | None = None
    held_for_s: float | None = None
    mae: float | None = None
    confidence: float | None = None
    valence: float | None = None
    tags: tuple[str, ...] = ()
    reflection: str | None = None
    context: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def entry_at(self) -> int:
        """The instant of the decision: `at` less the holding time."""
        return self.at - round((self.held_for_s or 0.0) * 1_000_000)

    @property
    def result(self) -> float | None:
        """The outcome whose sign says won or lost: R where known, else money, else None."""
        return self.pnl_r if self.pnl_r is not None else self.pnl


@dataclass(frozen=True, slots=True)
class EpisodeFault:
    """A line that could not be used: where it stood and why."""

    where: str
    line: int | None
    reason: str


FIELDS: Final = tuple(item.name for item in fields(Episode) if item.name != "more")
_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_DECODER: Final = msgspec.json.Decoder(Episode)


def document(episode: Episode) -> str:
    """The canonical JSON text of an episode: equal episodes have equal texts."""
    return _ENCODER.encode(episode).decode("utf-8")


def from_document(text: str) -> Episode:
    """The episode a canonical text holds; raises `DamagedError` when it can no longer be read."""
    try:
        return _DECODER.decode(text)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise DamagedError(f"a stored episode cannot be read: {error}") from error


def json_values(episode: Episode) -> dict[str, Any]:
    """The episode as JSON-ready values under the contract's names, `at` as RFC 3339."""
    values = {name: getattr(episode, name) for name in FIELDS}
    return values | {"at": written(episode.at), "tags": list(episode.tags), **episode.more}


def episode_of(raw: Mapping[str, Any]) -> Episode:
    """Read one told episode; raises `RefusedError` naming the field that may not enter."""
    values = dict(read_fields(raw, _READERS))
    context = raw.get("context")
    if context is not None and not isinstance(context, Mapping):
        raise RefusedError("context: must be an object")
    values["context"] = sane("context", dict(context or {}))
    values["more"] = {key: sane(key, value) for key, value in raw.items() if key not in FIELDS}
    return Episode(**values)


def verified(episode: Episode) -> Episode:
    """The same episode, held to what a told one is held to; raises `RefusedError` naming the field."""
    raw = {name: getattr(episode, name) for name in FIELDS} | episode.more
    written(episode.at)
    return replace(episode_of(raw | {"at": 0}), at=episode.at)


def read_episodes(
    lines: Iterable[bytes | str],
    where: str = "-",
    *,
    registry: Registry = DEFAULT,
    not_after: int | None = None,
) -> Iterator[Episode | EpisodeFault]:
    """Read JSON Lines: each line's episode, or its fault (`line` counts from 1). Blank lines are skipped."""
    return read_lines(
        lines,
        lambda raw: entering(episode_of(raw), registry, not_after),
        lambda line, reason: EpisodeFault(where, line, reason),
    )


def entering(episode: Episode, registry: Registry, not_after: int | None) -> Episode:
    """The episode, if its context fits the registry and its instant is not after `not_after`; else `RefusedError`."""
    checked(registry, episode.context)
    if not_after is not None and episode.at > not_after:
        raise RefusedError("at: lies in the future")
    return episode


def sane(name: str, value: object, depth: int = 1) -> Any:
    """The value with everything in it finite, storable and at most 100 levels deep; else raises `RefusedError`."""
    if depth > DEEPEST:
        raise RefusedError(f"{name}: nested beyond {DEEPEST} levels")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _finite(value, name)
    if isinstance(value, str):
        return _text(value, name)
    if isinstance(value, Mapping):
        return {_text(str(key), name): sane(f"{name}.{key}", item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sane(name, item, depth + 1) for item in value]
    raise RefusedError(f"{name}: {type(value).__name__} is no JSON value")


def _finite(value: float, name: str) -> float:
    """The number with one text per value: whole numbers as integers while they are exact."""
    if not abs(value) <= LARGEST:
        raise RefusedError(f"{name}: must be finite and at most {LARGEST:g} in size")
    if isinstance(value, int):
        return value if abs(value) < 2**63 else float(value)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _text(value: str, name: str) -> str:
    if _SURROGATE.search(value):
        raise RefusedError(f"{name}: holds a lone surrogate")
    return value


def _agent(value: object) -> str:
    if not is_agent(value):
        raise RefusedError("must be 1 to 64 of A-Za-z0-9._-")
    return str(value)


def _tags(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(tag, str) for tag in value):
        raise RefusedError("must be a list of text")
    return tuple(_text(tag, "a tag") for tag in value)


def _prose(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise RefusedError("must be text")
    return _text(value, "text")


_READERS: Final[FieldReaders] = {
    "id": identity,
    "agent": _agent,
    "at": required_instant,
    "strategy": name,
    "symbol": name,
    "direction": name,
    "entry_price": number(0.0, LARGEST),
    "size": number(-LARGEST, LARGEST),
    "exit_price": number(0.0, LARGEST),
    "pnl": number(-LARGEST, LARGEST),
    "pnl_r": number(-LARGEST, LARGEST),
    "held_for_s": number(0.0, 1e12),
    "mae": number(-LARGEST, LARGEST),
    "confidence": number(0.0, 1.0),
    "valence": number(-1.0, 1.0),
    "tags": _tags,
    "reflection": _prose,
}
