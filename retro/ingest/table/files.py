"""The rows of a file as its mapping says to read it, and whether it is the file that the mapping is for."""

from __future__ import annotations

import difflib
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, BinaryIO, cast

from retro.errors import InputError
from retro.ingest.growth import FileStretch
from retro.ingest.rows import csv, json, sqlite
from retro.journal import quote
from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from retro.ingest.growth import Stretch
    from retro.ingest.rows.row import Row
    from retro.ingest.table.grammar.tables import SourceMap

__all__ = ["fits", "rows_of"]


def fits(columns: Collection[str], match: Sequence[str]) -> bool:
    """Whether a header has every column that a mapping is known by; `a|b` is either."""
    return all(any(name in columns for name in entry.split("|")) for entry in match)


def rows_of(
    path: Path, source: SourceMap, needs: Sequence[tuple[str, ...]], stretch: Stretch | None = None
) -> Iterator[Row | Fault]:
    """The rows of a file, of a table that is written on those of a `stretch` of it.

    `InputError` where it is another kind of file than `match`, or else `needs`, says.
    """
    wanted = [tuple(entry.split("|")) for entry in source.match] or list(needs)
    if source.format == "csv":
        layout = csv.CsvLayout(source.encoding, source.delimiter, source.skip_lines)
        headers = csv.titles(str(path), layout)
        if not headers:
            if path.stat().st_size:
                raise InputError(f"{path} has no header: none of its first lines is delimited text")
            return
        place = next((before for before, names in headers if _lacking(names, wanted) is None), None)
        if place is None:
            _, names = max(headers, key=lambda header: _shared(header[1], wanted))
            raise InputError(_refusal(path, names, wanted))
        layout = layout._replace(skip_lines=place)
        if stretch is None:
            yield from csv.rows(str(path), layout)
        else:
            yield from _new_rows(path, layout, stretch)
        return
    found_rows = _nested(path, source, stretch)
    ahead = list(islice(found_rows, 1))
    for first in ahead:
        if not isinstance(first, Fault) and source.match and _lacking(list(first.cells), wanted) is not None:
            raise InputError(_refusal(path, list(first.cells), wanted))
    yield from chain(ahead, found_rows)


def _new_rows(path: Path, layout: csv.CsvLayout, stretch: Stretch) -> Iterator[Row | Fault]:
    """The rows of a stretch of delimited text, under the header that the file begins with."""
    with path.open("rb") as file:
        for _ in range(layout.skip_lines + 1):
            file.readline()
        header = file.tell()
        is_ahead = stretch.start >= header
        start, before = (stretch.start, stretch.lines - layout.skip_lines - 1) if is_ahead else (header, 0)
        stream = FileStretch(file, start, stretch.end, header=header)
        yield from _numbered(csv.rows_of(cast("BinaryIO", stream), str(path), layout), before)


def _new_lines(path: Path, stretch: Stretch) -> Iterator[Row | Fault]:
    with path.open("rb") as file:
        stream = FileStretch(file, stretch.start, stretch.end)
        yield from _numbered(json.line_rows_of(cast("BinaryIO", stream), str(path)), stretch.lines)


def _numbered(rows: Iterator[Row | Fault], before: int) -> Iterator[Row | Fault]:
    """Rows with their numbers in the whole file."""
    for row in rows:
        yield replace(row, line=(row.line or 0) + before) if before else row


def _nested(path: Path, source: SourceMap, stretch: Stretch | None) -> Iterator[Row | Fault]:
    match source.format:
        case "jsonl":
            yield from json.line_rows(str(path)) if stretch is None else _new_lines(path, stretch)
        case "json":
            yield from json.rows(str(path), source.path)
        case "sqlite":
            if source.table is None:
                raise InputError(f'{path}: the mapping names no table; write table = "..." in [source]')
            yield from sqlite.rows(str(path), source.table, stretch)
        case "xml":
            from retro.ingest.rows import xml  # noqa: PLC0415 - of no use to other formats

            yield from xml.rows(path, source.element or "Trade")
        case "xlsx":
            from retro.ingest.rows import xlsx  # noqa: PLC0415 - of no use to other formats

            yield from xlsx.rows(path, None, skip_lines=source.skip_lines, section=source.section)
        case _:
            from retro.ingest.rows import html  # noqa: PLC0415 - of no use to other formats
            from retro.ingest.rows.row import named  # noqa: PLC0415 - of no use to other formats

            yield from named(html.grid(path), skip_lines=source.skip_lines, section=source.section)


def _shared(names: Sequence[str], wanted: Sequence[tuple[str, ...]]) -> int:
    return sum(any(name in names for name in entry) for entry in wanted)


def _lacking(names: Sequence[str], wanted: Sequence[tuple[str, ...]]) -> str | None:
    """The first column that is wanted and not there, whole or as what a path begins with."""
    for entry in wanted:
        if not any(_has(names, name) for name in entry):
            return entry[0]
    return None


def _has(names: Sequence[str], path: str) -> bool:
    return path in names or path.split(".", 1)[0] in names or path.rsplit(".", 1)[0] in names


def _refusal(path: Path, names: Sequence[str], wanted: Sequence[tuple[str, ...]]) -> str:
    lacking = _lacking(names, wanted) or ""
    near = difflib.get_close_matches(lacking, names, n=1, cutoff=0.0)
    nearest = f"; the nearest is {quote(near[0])}" if near else ""
    return (
        f"{path}: its header is not the mapping's: it has no column {quote(lacking)}{nearest}."
        " Correct the columns in the mapping, or write one for this file: retro map FILE"
    )
