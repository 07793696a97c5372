"""An account's records, read again from the start, or on from where they were left once the oldest of them are gone.

An answer of the API holds the newest fills, so that a file which each answer is written into forgets what its positions
were opened with. What is kept of a reading is what was open then, and how far it came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from retro.ingest.growth import LogReading
from retro.ingest.hyperliquid.reader import VenueReader, VenueStanding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from retro.model import Batch

__all__ = ["readings"]


class _Place(msgspec.Struct):
    """Where the accounts of a source stood, and the zone that its naive times were in then."""

    zone: str | None
    standing: VenueStanding


def readings(
    path: Path, place: Mapping[str, Any], *, agent: str | None, zone: str | None, now: int
) -> Iterator[LogReading]:
    """The one reading that a file or folder is owed since it was left at `place`."""
    known = _known(place)
    before = known.standing if known is not None and known.zone == zone else None
    reader = VenueReader([path], agent=agent, zone=zone, now=now, before=before)
    reading = LogReading(iter(()), False, place)
    reading.batches = _batches(reader, zone, reading)
    yield reading


def _known(place: Mapping[str, Any]) -> _Place | None:
    try:
        return msgspec.convert(place, _Place) if place else None
    except msgspec.ValidationError:  # kept by another version
        return None


def _batches(reader: VenueReader, zone: str | None, reading: LogReading) -> Iterator[Batch]:
    yield from reader.batches()
    reading.place = msgspec.to_builtins(_Place(zone, reader.standing()))
