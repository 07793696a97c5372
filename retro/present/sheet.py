"""Rows as CSV for a spreadsheet, line by line. Pure."""

from __future__ import annotations

import csv
import io
from itertools import chain
from typing import TYPE_CHECKING

from retro.safe import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["sheet_lines"]


def sheet_lines(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The line of the columns, and each row's as it comes."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in chain([head], rows):
        writer.writerow([_cell(value) for value in row])
        yield out.getvalue()
        out.seek(0)
        out.truncate()


def _cell(value: object) -> str:
    """A flag in small letters, a number to thirteen digits, a text that no spreadsheet runs as a formula."""
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    if isinstance(value, float):
        return f"{value + 0.0:.13g}"
    if isinstance(value, int):
        return str(value)
    text = plain_text(str(value))
    return f"'{text}" if text[:1] in {"=", "+", "-", "@", "\t", "\r"} else text
