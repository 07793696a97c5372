"""What identifies a source, and what shows that it has changed."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from retro.ingest.registry import ADAPTERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

__all__ = ["Fingerprinted", "key_of", "signature_of"]


class Fingerprinted(Protocol):
    """What a source says of itself: a `[[source]]` as configured, or as a waiting service has it."""

    @property
    def kind(self) -> str:
        """The reader that reads it."""
        ...

    @property
    def path(self) -> Path:
        """Where it lies."""
        ...

    @property
    def candles(self) -> Path | None:
        """Where its candles lie."""
        ...

    @property
    def agent(self) -> str | None:
        """Whose it is."""
        ...

    @property
    def capital(self) -> Decimal | None:
        """What that agent began with."""
        ...

    @property
    def instrument(self) -> str | None:
        """Of what its marks are, where it is one file of them."""
        ...

    @property
    def timeframe(self) -> str | None:
        """How long its candles are."""
        ...

    @property
    def zone(self) -> str | None:
        """Which zone its times are in, where they have none."""
        ...

    @property
    def map(self) -> str | None:
        """The mapping it is read by, where it is a table."""
        ...


def key_of(source: Fingerprinted, host: str) -> str:
    """The identity of a source: what it is, where it lies, on which machine, and whose it is."""
    identity = [host, source.kind, str(source.path), str(source.candles), source.agent, str(source.capital)]
    if source.instrument is not None:
        identity += [source.instrument, source.timeframe]
    if source.zone is not None:
        identity.append(source.zone)
    if source.map is not None:
        identity.append(source.map)
    return hashlib.sha256(repr(identity).encode()).hexdigest()[:32]


def signature_of(source: Fingerprinted) -> str:
    """What changes when a source does: a digest of size and date of its files, a database's journals and candles."""
    adapter = ADAPTERS[source.kind]
    if adapter.growth in {"log", "auto"} and source.path.is_dir():
        return hashlib.sha256(repr([*_tree(source.path)]).encode()).hexdigest()
    stamps = [stamp for end in adapter.beside for stamp in _stamps(Path(f"{source.path}{end}"))]
    if adapter.twins:
        pattern = adapter.twins.format(escape(source.path.stem))
        stamps += [stamp for twin in sorted(source.path.parent.glob(pattern)) for stamp in _stamps(twin)]
    if source.candles is not None:
        stamps += _stamps(source.candles)
    if source.map is not None and source.map.endswith(".toml"):
        stamps += _stamps(Path(source.map))
    return hashlib.sha256(repr(stamps).encode()).hexdigest()


def _tree(folder: Path) -> Iterator[list[Any]]:
    """Every file of a folder and of the folders in it; links to folders are not followed."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            with suppress(OSError):
                status = path.stat()
                yield [str(path), status.st_size, status.st_mtime_ns]


def _stamps(path: Path) -> Iterator[list[Any]]:
    try:
        if path.is_dir():
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
            for entry in entries:
                if entry.is_dir() and entry.name == "futures":
                    yield from _stamps(Path(entry.path))
                elif entry.is_file():
                    status = entry.stat()
                    yield [entry.name, status.st_size, status.st_mtime_ns]
            return
        status = path.stat()
    except OSError as error:
        yield [path.name, error.errno]
        return
    yield [path.name, status.st_size, status.st_mtime_ns, status.st_ino]
