"""A report as a stream of rows, whatever program and code page wrote it, and what its head says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Final

from retro.errors import InputError
from retro.ingest.metatrader.rows import ReportRow, is_time, row_of, summary_of
from retro.ingest.rows import html, xlsx
from retro.ingest.source import magic, open_source
from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from retro.ingest.rows.row import GridRow

__all__ = ["Report", "looks_like"]

_ZIP: Final = b"PK\x03\x04"
_ACCOUNT: Final = re.compile(r"(\d{3,20})\s*\(\s*([A-Z]{3,5})\s*,.*\)")
_LABELLED: Final = re.compile(r"[^:\uff1a]{2,30}[:\uff1a]\s*([A-Z]{3}|\d{3,20})")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_HEAD_ROWS: Final = 40
_HIGH: Final = re.compile(rb"[\x80-\xff]+")
_MOST_RUNS: Final = 1000


@dataclass(slots=True)
class Report:
    """One report. `login` and `currency` are "" where its head says neither; `written` is when it was made (server time)."""

    path: Path
    login: str = ""
    currency: str = ""
    written: datetime | None = None
    is_four: bool = False
    _encoding: str | None = field(default=None, repr=False)

    @property
    def where(self) -> str:
        """How faults name it."""
        return str(self.path)

    def look(self) -> None:
        """Read its head."""
        if magic(self.where)[:4] != _ZIP:
            self._encoding = html.encoding_of(self.path) or _code_page(self.path)
        for row in islice(self._grid(), _HEAD_ROWS):
            for cell in row.texts:
                self._read_head(cell)
            if row.cells[:1] and row.cells[0].isdigit() and len(row.cells) > 13 and is_time(row.cells[1]):
                self.is_four = True

    def rows(self) -> Iterator[ReportRow | Fault]:
        """Its events in the order of the file, a fault for each that cannot be read."""
        columns = 0
        before: GridRow | None = None
        for row in self._grid():
            texts = row.texts
            if len(texts) > 8 and not any(is_time(cell) or cell.isdigit() for cell in texts[:2]):
                columns = len(texts)
            try:
                if event := row_of(row, columns) or summary_of(row, before):
                    yield event
            except ValueError as error:
                yield Fault(self.where, row.line, f"row: {error}")
            before = row

    def _grid(self) -> Iterator[GridRow]:
        if magic(self.where)[:4] == _ZIP:
            return xlsx.grid(self.path)
        return html.grid(self.path, self._encoding)

    def _read_head(self, cell: str) -> None:
        if account := _ACCOUNT.fullmatch(cell):
            self.login, self.currency = account[1], account[2]
        elif label := _LABELLED.fullmatch(cell):
            if label[1].isdigit():
                self.login = self.login or label[1]
            else:
                self.currency = self.currency or label[1]
        elif _CURRENCY.fullmatch(cell) and not self.currency:
            self.currency = cell
        elif self.written is None and is_time(cell) and len(cell) == 16:
            self.written = datetime.strptime(cell, "%Y.%m.%d %H:%M")  # noqa: DTZ007 - server time


def looks_like(path: Path) -> bool:
    """Whether the first rows of a file are those of a report: one of them has a time and a ticket in their places."""
    try:
        report = Report(path)
        report.look()
        rows = islice(report._grid(), 400)  # noqa: SLF001 - of this class
        return any(_is_event(row.cells) for row in rows)
    except (InputError, OSError):
        return False


def _is_event(cells: tuple[str, ...]) -> bool:
    return len(cells) > 11 and (
        (is_time(cells[0]) and cells[1].isdigit()) or (cells[0].isdigit() and is_time(cells[1]))
    )


def _code_page(path: Path) -> str:
    """The code page of a terminal's report, which names none: by how its first bytes above 127 are spread.

    Accents of western names stand alone; Russian text is mostly small letters, E0..FF; Chinese is pairs of which most first
    and many second bytes are B0..D7.
    """
    runs: list[bytes] = []
    with open_source(str(path)) as stream:
        while len(runs) < _MOST_RUNS and (chunk := stream.read(1 << 16)):
            runs += _HIGH.findall(chunk)
    high = b"".join(runs)
    if not high:
        return "utf-8"
    if len(high) < 2 * len(runs):
        return "cp1252"
    small = sum(byte >= 0xE0 for byte in high)
    capital = sum(0xC0 <= byte < 0xE0 for byte in high)
    if small + capital >= 0.9 * len(high) and small > capital:
        return "cp1251"
    return "gb18030" if sum(0xB0 <= byte <= 0xD7 for byte in high) >= 0.5 * len(high) else "cp1252"
