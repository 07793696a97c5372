"""What a service hands to itself when it starts anew: its configuration as it was read, in memory that only it can see.

A configuration file that was broken meanwhile is thus nobody's trouble, and to wait needs only a few of its values,
not the model that checks them.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retro.config import Config

__all__ = [
    "IdleConfig",
    "IdleService",
    "IdleSource",
    "handed_over",
    "needs_of",
    "plain",
    "received",
    "restored",
    "stamp_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleSource:
    """A `[[source]]`, whole: a service that waits and one that works must see the same source under the same key."""

    kind: str
    path: Path
    candles: Path | None
    agent: str | None
    capital: Decimal | None
    instrument: str | None
    zone: str | None
    map: str | None
    timeframe: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleService:
    """`[service]`, whole."""

    knock_seconds: float
    lease_seconds: float
    catch_up: str
    ping_url: str | None
    max_attempts: int
    keep_daily_reviews: int | None
    keep_documents: int | None
    dormant_weeks: int


@dataclass(frozen=True, slots=True)
class IdleConfig:
    """The part of a configuration that waiting needs."""

    url: str
    service: IdleService
    sources: tuple[IdleSource, ...]


def needs_of(configuration: dict[str, Any]) -> IdleConfig:
    """From a configuration as plain data.

    A key that the tables here do not have is a TypeError at the first start, not an option that is lost at the
    second.
    """
    sources = tuple(IdleSource(**_typed(source)) for source in configuration["source"])
    return IdleConfig(configuration["store"]["url"], IdleService(**configuration["service"]), sources)


def _typed(source: dict[str, Any]) -> dict[str, Any]:
    """A source's values as the model has them: JSON knows neither paths nor decimals."""
    makers = {"path": Path, "candles": Path, "capital": Decimal}
    return {
        key: makers[key](value) if key in makers and value is not None else value
        for key, value in source.items()
    }


def handed_over(configuration: dict[str, Any]) -> int:
    """Keep plain data in memory that outlives an exec; the number of its handle."""
    handle = os.memfd_create("retro-configuration", 0)
    with os.fdopen(os.dup(handle), "wb") as file:
        file.write(json.dumps(configuration).encode())
    return handle


def received(handle: int) -> dict[str, Any]:
    """What was handed over; the memory is let go of."""
    with os.fdopen(handle, "rb") as file:
        file.seek(0)
        configuration: dict[str, Any] = json.loads(file.read())
    return configuration


def plain(config: Config) -> dict[str, Any]:
    """A configuration as plain data, with the place it was read from and what shows that its file has changed."""
    path = None if config.file is None else str(config.file)
    return {**config.model_dump(mode="json"), "_file": path, "_stamp": stamp_of(path)}


def stamp_of(path: str | None) -> list[int] | None:
    """What changes when a file does; None where there is none. Of no path: of the file that a start would find here."""
    try:
        status = os.stat(path or "config.toml")  # noqa: PTH116  a service that waits asks it at every knock
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size, status.st_ino]


def restored(configuration: dict[str, Any]) -> Config:
    """The configuration again, without a look at its file."""
    from retro.config import Config  # noqa: PLC0415  the model is heavy: only when there is work

    data = {name: value for name, value in configuration.items() if name not in {"_file", "_stamp"}}
    config = Config.model_validate(data)
    config._file = None if configuration["_file"] is None else Path(configuration["_file"])  # noqa: SLF001  as `load` does
    return config
