"""Rows of delimited text: quoted cells, title lines before the header, any delimiter, any encoding that is named.

A quoted cell may run over lines, as prose does, but not for ever: one bad quote costs the lines it swallows, not the
file.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from retro.errors import InputError
from retro.ingest.rows.row import Row, distinct
from retro.ingest.source import WIDE_MARKS, magic, open_source, other_encoding, read_lines
from retro.journal import quote
from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["UNENDED", "CsvLayout", "rows", "rows_of", "titles"]

_LONGEST_CELL: Final = 1 << 20
_MOST_LINES: Final = 2_000
_TITLES: Final = 40
_DELIMITERS: Final = ",;\t|"
UNENDED: Final = "row: its quotes do not close before the file ends; correct them"
"""The fault of a row that may only be half written."""
_TORN: Final = "row: is torn (it has no newline at its end); complete it and ingest the file again"

csv.field_size_limit(_LONGEST_CELL)


class CsvLayout(NamedTuple):
    """How a text is laid out.

    `encoding` is any that Python knows; without a `delimiter` it is the one that the header has most of. The header is
    the first line after `skip_lines` that is not blank.
    """

    encoding: str = "utf-8"
    delimiter: str | None = None
    skip_lines: int = 0


def rows(path: str, layout: CsvLayout) -> Iterator[Row | Fault]:
    """The rows of a file in its order, and a fault for each that cannot be read; `InputError` without a header."""
    with open_source(path) as stream:
        yield from rows_of(stream, path, _marked(path, layout))


def rows_of(stream: BinaryIO, where: str, layout: CsvLayout, *, torn: bool = True) -> Iterator[Row | Fault]:
    """The rows of a stream. A last line without a newline is `torn` where another program writes it on."""
    lines = _texts(stream, where, layout.encoding)
    header = _header(lines, where, layout)
    if header is None:
        return
    names, delimiter = header
    width = len(names)
    for line, text, ended in _records(lines, where):
        if isinstance(text, Fault):
            yield text
            continue
        cells = _cells(text, delimiter)
        if cells is None:
            yield Fault(where, line, "row: its quotes do not close; correct them")
        elif not any(map(str.strip, cells)):
            continue
        elif (
            len(cells) == width
            and cells[width // 2].strip() == names[width // 2]
            and _names(text, delimiter)[0] == names
        ):
            continue  # programs that append to a file write its header at each of their starts
        elif len(cells) == width:
            yield Row(line, dict(zip(names, cells, strict=True)))
        elif not ended and torn:
            yield Fault(where, line, _TORN)
        elif len(cells) > width and not any(cell.strip() for cell in cells[width:]):
            yield Row(line, dict(zip(names, cells[:width], strict=True)))
        elif len(cells) < width and len(cells) >= max(2, width // 2):
            # spreadsheets leave out empty cells at the end of a row
            yield Row(line, dict(zip(names, [*cells, *[""] * (width - len(cells))], strict=True)))
        else:
            yield Fault(where, line, f"row: has {len(cells)} cells where the header has {width}; correct it")


def titles(path: str, layout: CsvLayout) -> list[tuple[int, tuple[str, ...]]]:
    """The first lines that are not blank, 40 at most, as headers: how many lines stand before each, and its cells."""
    with open_source(path) as stream:
        layout = _marked(path, layout)
        texts = (entry for entry in _texts(stream, path, layout.encoding) if entry[0] > layout.skip_lines)
        return [
            (number - 1, _names(text, layout.delimiter)[0])
            for number, text, _ in islice(texts, _TITLES)
            if not isinstance(text, Fault) and text.strip() and "\0" not in text
        ]


def _marked(path: str, layout: CsvLayout) -> CsvLayout:
    """The layout with the encoding that the first bytes of the file name, where they name one."""
    is_wide = path != "-" and magic(path).startswith(WIDE_MARKS)
    return (
        layout._replace(encoding="utf-16")
        if is_wide and _codec(layout.encoding, path).name == "utf-8"
        else layout
    )


_Line = tuple[int, "str | Fault", bool]


def _texts(stream: BinaryIO, where: str, encoding: str) -> Iterator[_Line]:
    """Lines with their numbers, decoded; a line that is no text is a fault. The last says whether it has ended."""
    codec = _codec(encoding, where)
    if codec.name.startswith(("utf-16", "utf-32")):
        yield from _wide_texts(stream, codec.name)
        return
    first = "utf-8-sig" if codec.name == "utf-8" else codec.name
    for part in read_lines(stream):
        if part.first == 1 and (wrong := other_encoding(part.texts[0])):
            name = wrong.partition(" is ")[2].partition(";")[0]
            raise InputError(f'{where}: {wrong}, or say encoding = "{name.lower()}" in the mapping')
        for number, raw in enumerate(part.texts, part.first):
            if part.fault:
                yield number, Fault(where, number, part.fault), True
                continue
            if number == 1 and b"\r" in raw.rstrip(b"\r"):
                raise InputError(
                    f"{where}: its lines end in carriage returns alone; save it with line feeds (LF or CRLF)"
                )
            try:
                text = raw.decode(first if number == 1 else codec.name)
            except UnicodeDecodeError as error:
                reason = f"byte {error.start + 1} (0x{raw[error.start]:02x}) is not {encoding}"
                yield (
                    number,
                    Fault(where, number, f'row: {reason}; name the encoding = "..." in the mapping'),
                    True,
                )
                continue
            yield number, text.rstrip("\r"), part.ended


def _wide_texts(stream: BinaryIO, encoding: str) -> Iterator[_Line]:
    """Lines of UTF-16 or UTF-32, whose newlines are no single bytes."""
    text = io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline=None)
    number = 0
    while line := text.readline(_LONGEST_CELL):
        number += 1
        yield number, line.rstrip("\r\n"), line.endswith("\n")
    text.detach()


def _codec(encoding: str, where: str) -> codecs.CodecInfo:
    try:
        return codecs.lookup(encoding)
    except LookupError:
        raise InputError(
            f"{where}: no encoding is named {quote(encoding)}; try utf-8, utf-16 or cp1252"
        ) from None


def _header(lines: Iterator[_Line], where: str, layout: CsvLayout) -> tuple[tuple[str, ...], str] | None:
    for number, text, _ in lines:
        if number <= layout.skip_lines:
            continue
        if isinstance(text, Fault):
            raise InputError(f"{where}: line {number}: {text.reason}")
        if not text.strip():
            continue
        if "\0" in text:
            raise InputError(f"{where}: line {number} holds zero bytes; it is no delimited text")
        return _names(text, layout.delimiter)
    return None


def _names(text: str, delimiter: str | None) -> tuple[tuple[str, ...], str]:
    if delimiter is None:
        delimiter = max(_DELIMITERS, key=text.count)
    cells = enumerate(_cells(text, delimiter) or [text], 1)
    return distinct(cell.strip().strip("\ufeff") or f"column {n}" for n, cell in cells), delimiter


def _records(lines: Iterator[_Line], where: str) -> Iterator[_Line]:
    """Lines put together where a quoted cell runs over several; where one never closes, only its first line is lost."""
    queue: deque[_Line] = deque()
    while (first := queue.popleft() if queue else next(lines, None)) is not None:
        line, text, ended = first
        if isinstance(text, Fault) or text.count('"') % 2 == 0:
            if text:
                yield first
            continue
        following: list[_Line] = []
        parts, size, is_closed, reason = (
            [text],
            len(text),
            False,
            "row: its quotes do not close; correct them",
        )
        while len(following) < _MOST_LINES and size <= _LONGEST_CELL and not is_closed:
            after = queue.popleft() if queue else next(lines, None)
            if after is None:
                reason = UNENDED
                break
            following.append(after)
            if isinstance(after[1], Fault):
                break
            parts.append(after[1])
            size += len(after[1])
            is_closed = after[1].count('"') % 2 == 1
        if is_closed:
            yield line, "\n".join(parts), following[-1][2]
        else:
            yield line, Fault(where, line, reason), ended
            queue.extendleft(reversed(following))


def _cells(text: str, delimiter: str) -> list[str] | None:
    if '"' not in text:
        return text.split(delimiter)
    try:
        return next(csv.reader(io.StringIO(text), delimiter=delimiter, strict=True), [])
    except csv.Error:
        return None
