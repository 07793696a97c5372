"""Tables of an HTML page, row by row, in constant memory: nothing of the page is run, opened or believed but its cells."""

from __future__ import annotations

import codecs
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Final

from retro.errors import InputError
from retro.ingest.rows.archive import chunks
from retro.ingest.rows.row import GridRow, Row, named
from retro.ingest.source import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["encoding_of", "grid", "rows"]

_LONGEST_TOKEN: Final = 1 << 20
_MOST_CELLS: Final = 2_000
_SILENT: Final = frozenset({"script", "style", "title"})
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class _Tables(HTMLParser):
    """Collects rows that have ended; a cell of a table inside a cell is a cell of its own row."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.ended: list[GridRow] = []
        self._cells: list[str] | None = None
        self._pieces: list[str] | None = None
        self._line = 0
        self._span = 1
        self._title = ""
        self._is_hidden = False
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self._end_row()
            self._cells, self._line, self._title = [], self.getpos()[0], ""
        elif tag in {"td", "th"} and self._cells is not None:
            self._end_cell()
            told = {name: value or "" for name, value in attrs}
            self._pieces = []
            self._span = (
                min(int(span), 100) if (span := told.get("colspan", "1")).isascii() and span.isdigit() else 1
            )
            self._is_hidden = "hidden" in told.get("class", "").split()
            self._title = self._title or told.get("title", "")
        elif tag in _SILENT:
            self._silent += 1

    def handle_endtag(self, tag: str) -> None:
        if tag in {"tr", "table"}:
            self._end_row()
        elif tag in {"td", "th"}:
            self._end_cell()
        elif tag in _SILENT:
            self._silent = max(0, self._silent - 1)

    def handle_data(self, data: str) -> None:
        if self._pieces is not None and not self._silent:
            self._pieces.append(data)

    def _end_cell(self) -> None:
        if self._pieces is None or self._cells is None:
            return
        text = " ".join("".join(self._pieces).split())
        self._pieces = None
        if self._is_hidden:
            self._title = self._title or text
            return
        if len(self._cells) + self._span > _MOST_CELLS:
            raise InputError(f"line {self._line}: a row has more than {_MOST_CELLS} cells; this is no report")
        self._cells += [text, *[""] * (self._span - 1)]

    def _end_row(self) -> None:
        self._end_cell()
        if self._cells is not None:
            self.ended.append(GridRow(self._line, tuple(self._cells), self._title))
        self._cells = None


def rows(
    path: Path, *, encoding: str | None = None, skip_lines: int = 0, section: str | None = None
) -> Iterator[Row]:
    """Rows of all its tables under a header; see `row.named`, where a line is a line of the page's text."""
    return named(grid(path, encoding), skip_lines=skip_lines, section=section)


def grid(path: Path, encoding: str | None = None) -> Iterator[GridRow]:
    """Rows of all its tables by place; a cell that spans columns is followed by empty ones.

    `encoding`: what the bytes are where the page has no byte order mark; without either they are UTF-8, else Latin-1.
    """
    parser = _Tables()
    name = encoding or encoding_of(path) or "latin-1"
    decoder = codecs.getincrementaldecoder(name)(errors="replace")
    with open_source(str(path)) as stream:
        for chunk in chunks(stream):
            _feed(parser, decoder.decode(chunk), path)
            yield from parser.ended
            parser.ended.clear()


def _feed(parser: _Tables, text: str, path: Path) -> None:
    try:
        parser.feed(text)
    except (InputError, AssertionError) as error:
        raise InputError(f"{path}: {error}") from None
    if len(parser.rawdata) > _LONGEST_TOKEN:
        raise InputError(f"{path}: one piece of markup is longer than 1 MiB; this is no report")


def encoding_of(path: Path) -> str | None:
    """What a page's bytes say they are: by a byte order mark, by zeros at every second place, by being sound UTF-8.

    None where they are none of these: bytes of a code page, which no file names by itself.
    """
    with open_source(str(path)) as stream:
        decoder = codecs.getincrementaldecoder("utf-8")()
        pieces = chunks(stream)
        head = next(pieces, b"")
        for mark, name in _MARKS:
            if head.startswith(mark):
                return name
        if head[1:200:2].count(0) > 60:
            return "utf-16-le"
        try:
            decoder.decode(head)
            for piece in pieces:
                decoder.decode(piece)
        except UnicodeDecodeError:
            return None
    return "utf-8"
