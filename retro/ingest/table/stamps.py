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
from retro.ingest.table.order import TimedRow, in_order, straight
from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from retro.ingest.rows.row import Row
    from retro.ingest.table.cells import Cells
    from retro.ingest.table.maps import Mapping
    from retro.ingest.table.numerals import Numerals
    from retro.ingest.table.readings import Readings

__all__ = ["RowStamps"]

_NO_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")
_encode: Final = msgspec.json.Encoder(order="sorted").encode


class RowStamps:
    """Gives the rows of files that are read together, those that count, by instant.

    `repeats` counts rows that were left out because they say again what another says.
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
    ) -> None:
        self._rules = rules = mapping.rules
        self._needs, self._paths, self._numerals = mapping.needs, paths, numerals
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

    def instant(self, text: str, cells: Cells) -> int:
        """Microseconds of a time of a row; `ValueError` of what is none."""
        try:
            return self._instants.instant(text, self._zone(cells) if self._zone is not None else None)
        except ValueError as error:
            raise ValueError(f"time: {error}") from None

    def groups(self) -> Iterator[list[Item] | Fault]:
        """The rows of each instant in their order, and what could not be read."""
        entries = chain.from_iterable(self._entries(path, number) for number, path in enumerate(self._paths))
        order = self._rules.source.order
        if order == "oldest_first" and len(self._paths) == 1:
            grouped = straight(entries, self._where)
        else:
            grouped = in_order(entries, backwards={"oldest_first": False, "newest_first": True}.get(order))
        for group in grouped:
            if isinstance(group, Fault):
                yield group
            else:
                yield from self._named(group)

    def _rows(self, path: Path) -> Iterator[Row | Fault]:
        return islice(rows_of(path, self._rules.source, self._needs), self._most)

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
        for row in self._rows(path):
            if isinstance(row, Fault):
                yield row
                continue
            for cells in entries_of(dict(row.cells), each) if each else (dict(row.cells),):
                stamped = self._stamped(self._numerals.unglued(cells), str(path), number, row.line)
                if stamped is not None:
                    yield stamped

    def _stamped(self, cells: Cells, where: str, number: int, line: int) -> TimedRow | Fault | None:
        """A row with its instant, or why it has none; None of one that does not count."""
        if self._counts is not None and not self._counts(cells):
            return None
        text = self._time(cells)
        if not text:
            is_blank = not any(text_of(value) for value in cells.values())
            return None if is_blank else Fault(where, line, "time: the row has none")
        try:
            return TimedRow(self.instant(text, cells), number, line, cells)
        except ValueError as error:
            return Fault(where, line, str(error))

    def _named(self, group: list[TimedRow]) -> Iterator[list[Item] | Fault]:
        """The rows of one instant with their names: what they hold, and the how-many-eth such row of their file."""
        identical = self._rules.source.identical
        ids: dict[int, RowIds] = {}
        homes: dict[str, int] = {}
        items = []
        for entry in group:
            name = ids.setdefault(entry.file, RowIds()).of(self._texts(entry.cells))
            _, _, repeated = name.partition("-")
            if homes.setdefault(name, entry.file) != entry.file:
                self.repeats += 1  # two exports overlap
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
        if items:
            yield items

    def _texts(self, cells: Cells) -> list[str]:
        if self._identity:
            return [reading(cells) for reading in self._identity]
        if self._rules.source.format in {"json", "jsonl"}:
            return [_encode(cells).decode()]
        return list(map(str, cells.values()))

    def _whose(self, cells: Cells) -> str:
        if self._agent is not None:
            return self._agent
        name = self._agent_of(cells) if self._agent_of is not None else ""
        return _NO_NAME.sub("-", name).strip("-")[:64] or self._prefix
