"""Rows with their instant, name and agent, in the order of their time."""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

import msgspec

from retro.errors import UsageError
from retro.ingest.row_ids import RowIds
from retro.ingest.table.cells import entries_of, path_reading, text_of
from retro.ingest.table.executions import Item
from retro.ingest.table.files import rows_of
from retro.ingest.table.instants import Instants, decided
from retro.ingest.table.joins import Joins
from retro.ingest.table.order import FileRuns, TimedRow, in_order, straight
from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from retro.ingest.growth import Stretch
    from retro.ingest.rows.row import Row
    from retro.ingest.table.cells import Cells
    from retro.ingest.table.maps import Mapping
    from retro.ingest.table.numerals import Numerals
    from retro.ingest.table.readings import Readings

__all__ = ["ReadSoFar", "RowStamps", "RowsBehindError"]

_NO_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")
_UNTITLED: Final = re.compile(r"column \d+|Unnamed: \d+").fullmatch
_encode: Final = msgspec.json.Encoder(order="sorted").encode


class ReadSoFar(msgspec.Struct):
    """How far the rows of a source were read: what makes the next row the next one.

    `first` and `at` are the instants of its first and last rows (microseconds), `rows` counts those of the last by their
    digest, `run` and `latest` say which way the file runs (`FileRuns`).
    """

    first: int
    at: int
    rows: dict[str, int] = msgspec.field(default_factory=dict)
    run: int = 0
    latest: int = 0


class RowsBehindError(Exception):
    """Rows lie before what was read already: the file has to be read from its start."""


class RowStamps:
    """Gives the rows of files that are read together, those that count, by instant.

    `repeats` counts rows that were left out because they say again what another says. A file that is read on has a
    `stretch` of new rows, and `before` says what was read; where nothing of it can be read again (`is_rotated`: its
    beginning lies in another file) rows that come too late are faults, and those that were read are left out.
    """

    def __init__(
        self,
        mapping: Mapping,
        readings: Readings,
        numerals: Numerals,
        paths: Sequence[Path],
        *,
        agent: str | None,
        zone: str | None,
        most: int | None = None,
        stretch: Stretch | None = None,
        before: ReadSoFar | None = None,
        is_rotated: bool = False,
    ) -> None:
        self._stretch, self._before, self._is_rotated = stretch, before, is_rotated
        self.read = before
        """How far the rows were read, once all were; of one file."""
        self._ways = FileRuns({0: before.run}, {0: before.latest}) if before else FileRuns()
        self._rules = rules = mapping.rules
        self._paths, self._numerals = paths, numerals
        self._joins = Joins(rules.join) if rules.join else None
        names = {join.name for join in rules.join}
        self._needs = [
            need for need in mapping.needs if not all(path.split(".")[0] in names for path in need)
        ]
        self._beside = names
        self._where, self._most = str(paths[0]), most
        if zone is not None and rules.time.zone not in {"ask", zone}:
            raise UsageError(
                f"--zone {zone}: the mapping {mapping.name} says that its times are {rules.time.zone}; leave it out,"
                ' or write zone = "ask" in its [time]'
            )
        self._agent, self._prefix = agent, mapping.prefix
        self._time = readings.text(rules.time)
        self._zone = path_reading(rules.time.zone_column) if rules.time.zone_column else None
        self._agent_of = readings.text(rules.source.agent) if rules.source.agent is not None else None
        self._counts = readings.filter(rules.rows)
        self._identity = [path_reading(name) for name in mapping.identity]
        self._instants = Instants(decided(rules.time, self._time_texts, self._where), zone, self._where)
        self.repeats = 0
        self.overlapping = 0

    def instant(self, text: str, cells: Cells) -> int:
        """Microseconds of a time of a row; `ValueError` of what is none."""
        try:
            return self._instants.instant(text, self._zone(cells) if self._zone is not None else None)
        except ValueError as error:
            raise ValueError(f"time: {error}") from None

    def groups(self) -> Iterator[list[Item] | Fault]:
        """The rows of each instant in their order, and what could not be read."""
        entries: Iterator[TimedRow | Fault] = chain.from_iterable(
            self._entries(path, number) for number, path in enumerate(self._paths)
        )
        if self._before is not None:
            entries = self._later(entries, self._before)
        order = self._rules.source.order
        if order == "oldest_first" and len(self._paths) == 1:
            grouped = straight(entries, self._where)
        else:
            backwards = {"oldest_first": False, "newest_first": True}.get(order)
            grouped = in_order(entries, backwards=backwards, ways=self._ways)
        for group in grouped:
            if isinstance(group, Fault):
                yield group
            else:
                yield from self._named(group)

    def _later(self, entries: Iterable[TimedRow | Fault], before: ReadSoFar) -> Iterator[TimedRow | Fault]:
        """The rows that were not read already; `RowsBehindError` where all have to be read again."""
        is_added = self._stretch is not None and self._stretch.start > 0
        for entry in entries:
            if isinstance(entry, Fault) or entry.at >= before.at:
                yield entry
            elif not self._is_rotated if is_added else entry.at <= before.first:
                raise RowsBehindError
            elif is_added:
                reason = "time: is before that of rows which were read already; it is left out"
                yield Fault(self._where, entry.line, reason)
            else:
                self.overlapping += 1

    def _rows(self, path: Path) -> Iterator[Row | Fault]:
        return islice(rows_of(path, self._rules.source, self._needs, self._stretch), self._most)

    def _time_texts(self) -> Iterator[str]:
        """The dates of all rows, each run of one alike once."""
        latest = ""
        for path in self._paths:
            for row in self._rows(path):
                if (
                    not isinstance(row, Fault)
                    and (text := self._time(dict(row.cells)))
                    and text[:10] != latest
                ):
                    latest = text[:10]
                    yield text

    def _entries(self, path: Path, number: int) -> Iterator[TimedRow | Fault]:
        each = self._rules.rows.each
        if self._joins is not None:
            yield from self._joins.open(path)
        for row in self._rows(path):
            if isinstance(row, Fault):
                yield row
                continue
            whole = dict(row.cells) if self._joins is None else self._joins.beside(dict(row.cells))
            for cells in entries_of(whole, each) if each else (whole,):
                stamped = self._stamped(self._numerals.unglued(cells), str(path), number, row.line)
                if stamped is not None:
                    yield stamped

    def _stamped(self, cells: Cells, where: str, number: int, line: int) -> TimedRow | Fault | None:
        """A row with its instant, or why it has none; None of one that does not count."""
        if self._counts is not None and not self._counts(cells):
            return None
        text = self._time(cells)
        if not text:
            is_blank = not any(text_of(value) for name, value in cells.items() if not _UNTITLED(name))
            return None if is_blank else Fault(where, line, "time: the row has none")
        try:
            return TimedRow(self.instant(text, cells), number, line, cells)
        except ValueError as error:
            return Fault(where, line, str(error))

    def _named(self, group: list[TimedRow]) -> Iterator[list[Item] | Fault]:
        """The rows of one instant with their names: what they hold, and the how-many-eth such row of their file."""
        identical = self._rules.source.identical
        at, ids, seen = group[0].at, self._ids(group[0].at), self._seen(group[0].at)
        homes: dict[str, int] = {}
        items = []
        for entry in group:
            name = ids.setdefault(entry.file, RowIds()).of(self._texts(entry.cells))
            _, _, repeated = name.partition("-")
            if homes.setdefault(name, entry.file) != entry.file:
                self.repeats += 1  # two exports overlap
                continue
            if seen and int(repeated or 1) <= seen.get(name.partition("-")[0], 0):
                self.overlapping += 1
                continue
            if repeated and identical == "same":
                self.repeats += 1
                continue
            if repeated and identical == "fault":
                yield Fault(
                    self._where, entry.line, "row: says word for word what another one says; delete one"
                )
                continue
            items.append(Item(entry.at, entry.line, name, self._whose(entry.cells), entry.cells))
        self._note(at, ids.get(0), seen)
        if items:
            yield items

    def _ids(self, at: int) -> dict[int, RowIds]:
        """The names of an instant's rows, by file: where rows of it were read from this very file, those follow them."""
        is_added = self._before is not None and at == self._before.at and not self.overlapping
        return {0: RowIds(self._before.rows)} if is_added and self._before is not None else {}

    def _seen(self, at: int) -> dict[str, int]:
        """The rows of an instant that were read already, where a file begins anew and tells of them again."""
        is_told = self._before is not None and at == self._before.at and self.overlapping
        return self._before.rows if is_told and self._before is not None else {}

    def _note(self, at: int, ids: RowIds | None, seen: dict[str, int]) -> None:
        rows = dict(ids.occurrences) if ids is not None else {}
        rows |= {name: max(count, rows.get(name, 0)) for name, count in seen.items()}
        first = self.read.first if self.read is not None else at
        run, latest = self._ways.runs.get(0, 0), self._ways.latest.get(0, at)
        self.read = ReadSoFar(first, at, rows, run, latest)

    def _texts(self, cells: Cells) -> list[str]:
        if self._identity:
            return [reading(cells) for reading in self._identity]
        # what is joined to a row may come later, and a column without a title counts the rows of its file: no part of a name
        cells = {
            name: value for name, value in cells.items() if not (name in self._beside or _UNTITLED(name))
        }
        if self._rules.source.format in {"json", "jsonl"}:
            return [_encode(cells).decode()]
        return list(map(str, cells.values()))

    def _whose(self, cells: Cells) -> str:
        if self._agent is not None:
            return self._agent
        name = self._agent_of(cells) if self._agent_of is not None else ""
        return _NO_NAME.sub("-", name).strip("-")[:64] or self._prefix
