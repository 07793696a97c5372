"""A row of a foreign table, and how rows of cells get the names of their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["GridRow", "Row", "distinct", "named"]


@dataclass(frozen=True, slots=True)
class Row:
    """A row by the names of its columns; `line` is where a person finds it, counted from 1.

    A cell is text where the table has text alone (CSV, HTML, spreadsheets), and whatever JSON has elsewhere.
    """

    line: int
    cells: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class GridRow:
    """A row by the places of its cells, "" where there is none; `title` is what an HTML row says on hovering, or hides."""

    line: int
    cells: tuple[str, ...]
    title: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """Its cells that hold something."""
        return tuple(cell for cell in self.cells if cell)


def named(grid: Iterable[GridRow], *, skip_lines: int = 0, section: str | None = None) -> Iterator[Row]:
    """Rows under a header.

    The header is the first row with a cell after `skip_lines` rows, or after the row whose only cell is `section`; a
    section ends at the next row with a single cell in its first column. A name that stands twice is `Time`, then
    `Time.2`; rows without any cell are left out.
    """
    header: tuple[str, ...] = ()
    is_open = section is None
    for row in grid:
        texts = row.texts
        if row.line <= skip_lines or not texts:
            continue
        if section is not None and len(texts) == 1 and row.cells[0]:
            if is_open and header:
                return
            is_open = texts[0].rstrip(":").strip() == section.rstrip(":").strip()
        elif is_open and not header:
            header = distinct(row.cells)
        elif is_open:
            yield Row(row.line, {name: cell for name, cell in zip(header, row.cells, strict=False) if name})


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Names of columns of which none stands twice: `Time`, then `Time.2`; blank ones stay blank."""
    counts: dict[str, int] = {}
    unique: set[str] = set()
    columns = []
    for name in names:
        column = name
        while column and column in unique:
            counts[name] = counts.get(name, 1) + 1
            column = f"{name}.{counts[name]}"
        unique.add(column)
        columns.append(column)
    return tuple(columns)
