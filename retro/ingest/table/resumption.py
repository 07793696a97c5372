"""A table that another program writes on, read on from where it was left, also when it was cut short or rotated away.

What is kept of a reading is the place it came to, what the file is known by, and where its source stands: what is open,
what the next row of the last instant follows. So a grown file costs what was added, a new file under the old name
goes on with what the one before it left open, and any split of the rows tells what the whole tells.

A table of a database is read on in the same way, by the numbers of its rows; where one that was read is another now, it is
read whole.

Rows that are legs of a trade, round trips that are written again when they end, chains, dates whose order the file itself
decides, documents and packed files are read whole.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any, Final

import msgspec

from retro.errors import InputError
from retro.ingest.growth import (
    KnownFile,
    LogReading,
    Stretch,
    known_file,
    last_newline,
    newlines,
    unread_from,
)
from retro.ingest.rows import sqlite
from retro.ingest.rows.csv import UNENDED
from retro.ingest.rows.sqlite import Filling
from retro.ingest.source import WIDE_MARKS
from retro.ingest.table.instants import has_one_order
from retro.ingest.table.maps import mapping_of, shipped_for
from retro.ingest.table.reader import TableReader, TableStanding, read
from retro.ingest.table.stamps import RowsBehindError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from retro.ingest.table import maps
    from retro.ingest.table.grammar.tables import TableMap
    from retro.model import Batch

__all__ = ["readings"]

_WRITTEN: Final = 60 * 10**9
"""For so long after a file was written a last line without a newline waits for its end (ns)."""
_UNREAD: Final = KnownFile(0, "")
_FIRST_NUMBER: Final = -(1 << 63)
"""What SQLite numbers no row before."""
_PACKED: Final = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", *WIDE_MARKS)


class _Place(msgspec.Struct):
    """How far a file was read, in bytes and lines, and by which rules.

    `is_rotated`: what came before its first row was read from another file.
    """

    file: KnownFile
    lines: int
    rules: str
    is_rotated: bool
    standing: TableStanding | None


def readings(
    path: Path, place: Mapping[str, Any], *, agent: str | None, zone: str | None, map: str | None, now: int  # noqa: A002
) -> Iterator[LogReading]:  # fmt: skip
    """The readings that a file is owed since it was left at `place`, to be made one after the other.

    The first may be of the file that was there before, under the name it was rotated to.
    """
    mapping = None if path.is_dir() else mapping_of(map) if map is not None else shipped_for(path)
    is_database = mapping is not None and mapping.rules.source.format == "sqlite"
    source = None
    if mapping is not None and _grows(mapping.rules) and not _is_packed(path):
        kind = _GrowingDatabase if is_database else _GrowingTable
        source = kind(path, mapping, agent=agent, zone=zone, now=now)
    before = source.known(place) if source is not None else None
    if source is None or not source.can_be_read_on:
        yield LogReading(read([path], agent=agent, zone=zone, now=now, map=map), False, {})
        return
    if before is not None:
        lies_at, goes_on = source.unread_from(before.file)
        if not goes_on:
            if lies_at is not None:
                remainder = LogReading(iter(()), True, place)
                remainder.batches = source.batches(lies_at, before, remainder)
                yield remainder
                before = source.known(remainder.place) or before
            is_rotated = before.standing is not None
            before = _Place(_UNREAD, 0, before.rules, is_rotated, before.standing)
    reading = LogReading(iter(()), before is not None and before.file.offset > 0, place)
    reading.batches = source.batches(path, before, reading)
    yield reading


def _grows(rules: TableMap) -> bool:
    """Whether rows that are added at the end leave what the others say as it is."""
    source = rules.source
    return (
        (source.format in {"csv", "jsonl"} or (source.format == "sqlite" and source.table is not None))
        and source.order != "newest_first"
        and source.chain is None
        and not source.encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32", "utf16", "utf32"))
        and rules.legs is None
        and not rules.join
        and rules.position.by != "row"
        and has_one_order(rules.time)
    )


def _is_packed(path: Path) -> bool:
    """Whether its bytes are no lines of one byte a letter."""
    try:
        with path.open("rb") as file:
            return file.read(8).startswith(_PACKED)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


class _GrowingTable:
    """A file of one mapping that another program writes on."""

    def __init__(
        self, path: Path, mapping: maps.Mapping, *, agent: str | None, zone: str | None, now: int
    ) -> None:
        self._path, self._mapping = path, mapping
        self._agent, self._zone, self._now = agent, zone, now
        self._rules = hashlib.sha256(repr(mapping).encode()).hexdigest()[:32]
        self.can_be_read_on = True
        """Whether its rows have a place that stays."""

    def known(self, place: Mapping[str, Any]) -> _Place | None:
        """What was kept; None where nothing was, or by other rules."""
        try:
            known = msgspec.convert(place, _Place) if place else None
        except msgspec.ValidationError:  # kept by another version
            return None
        return known if known is not None and known.rules == self._rules else None

    def batches(self, path: Path, before: _Place | None, reading: LogReading) -> Iterator[Batch]:
        """What the new rows tell; from the start where they turn out to lie before what was read."""
        try:
            yield from self._stretch_batches(path, before, reading)
        except RowsBehindError:
            yield from self._stretch_batches(path, None, reading)

    def _stretch_batches(self, path: Path, before: _Place | None, reading: LogReading) -> Iterator[Batch]:
        standing = before.standing if before is not None else None
        is_rotated = before is not None and before.is_rotated
        stretch, known, lines, reading.is_waiting = self._unread(path, before)
        place = _Place(known, lines, self._rules, is_rotated, standing)
        is_torn = False
        if stretch.end > stretch.start:
            reader = TableReader(
                self._mapping, [path], stretch=stretch, standing=standing,
                is_rotated=place.is_rotated, agent=self._agent, zone=self._zone, now=self._now,
            )  # fmt: skip
            for batch in reader.batches():
                is_torn |= any(fault.reason == UNENDED for fault in batch.faults)
                yield batch
            place.standing = reader.standing()
        if not is_torn:  # else its last row may be half written: it is read again with what follows
            runs_back = place.standing is not None and place.standing.rows.run < 0
            reading.place = {} if runs_back else msgspec.to_builtins(place)

    def unread_from(self, known: KnownFile) -> tuple[Path | None, bool]:
        """Where what was read lies now, and whether the source goes on with it (`growth.unread_from`)."""
        return unread_from(self._path, known)

    def _unread(self, path: Path, before: _Place | None) -> tuple[Stretch, KnownFile, int, bool]:
        """What is new; what the file is known by after it, how many lines it has then, and whether one is being written."""
        start, lines = (before.file.offset, before.lines) if before is not None else (0, 0)
        with path.open("rb") as file:
            end, is_waiting = last_newline(file, start), False
            status = os.fstat(file.fileno())
            if end < status.st_size:
                # an export may have no newline at its end, which a line being written has not yet
                is_waiting = abs(self._now * 1000 - status.st_mtime_ns) < _WRITTEN
                end = end if is_waiting else status.st_size
            stretch = Stretch(start, end, lines)
            return stretch, known_file(file, end), lines + newlines(file, start, end), is_waiting


class _GrowingDatabase(_GrowingTable):
    """A table of a database. It is read on while no row that was read has changed since; else from its start."""

    _filling = Filling(0, 0, "")

    def known(self, place: Mapping[str, Any]) -> _Place | None:
        """What was kept; None where nothing was, by other rules, or of rows that are no longer so."""
        known = super().known(place)
        until = known.file.offset if known is not None else 0
        fillings = sqlite.fillings(str(self._path), self._mapping.rules.source.table or "", until)
        if fillings is None:
            self.can_be_read_on = False
            return None
        unchanged, self._filling = fillings
        return known if known is not None and known.file == _known_rows(unchanged) else None

    def unread_from(self, known: KnownFile) -> tuple[Path | None, bool]:  # noqa: ARG002  looked at by `known`
        """A database is not rotated, and goes on with what was read of it."""
        return self._path, True

    def _unread(self, path: Path, before: _Place | None) -> tuple[Stretch, KnownFile, int, bool]:  # noqa: ARG002  there is one
        known, rows = (before.file, before.lines) if before is not None else (_UNREAD, 0)
        start = known.offset or _FIRST_NUMBER
        return Stretch(start, self._filling.last, rows), _known_rows(self._filling), self._filling.rows, False


def _known_rows(filling: Filling) -> KnownFile:
    return KnownFile(filling.last, filling.digest)
