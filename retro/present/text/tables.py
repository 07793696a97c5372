"""Tables for a terminal: columns as wide as they need, texts cut and spare columns dropped where the page is narrow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from retro.present.page.blocks import Cell
from retro.present.text.drawings import spark_line
from retro.present.widths import TextSpan, cells, cut, line, pad, words, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.blocks import Column, Table, TableRow
    from retro.present.widths import Line

__all__ = ["heading_lines", "row_lines", "table_lines", "widest_cells"]

_GAP: Final = 2
_INDENT: Final = 2
_FEW_OF: Final = 5  # one row in so many may take two lines for its figures


def table_lines(table: Table, width: int) -> list[Line]:
    """The table as lines of at most `width` columns; `~` before a faint row."""
    if not table.rows:
        return []
    table = replace(table, rows=tuple(map(_with_sparks, table.rows)))
    column_indices, widths = _layout(table, width - _INDENT)
    columns = [table.columns[i] for i in column_indices]
    lines = _heading(columns, widths)
    lines += [
        row_line for row in table.rows for row_line in _row(row, column_indices, columns, widths, width)
    ]
    if table.omitted:
        lines.append(line("  ", (f"and {table.omitted:,} more", "faint")))
    if table.note:
        lines += [line("  ", (text, "faint")) for text in wrap(table.note, width - _INDENT)]
    return lines


def _with_sparks(row: TableRow) -> TableRow:
    """A row whose ways are drawn as text."""
    if all(cell.spark is None for cell in row.cells):
        return row
    drawn = (cell if cell.spark is None else replace(cell, text=spark_line(cell.spark)) for cell in row.cells)
    return replace(row, cells=tuple(drawn))


def _layout(table: Table, room: int) -> tuple[list[int], list[int]]:
    """Which columns stay, and how wide each is: as wide as all rows need, or all but a few whose figures are wide.

    Those few take two lines, so that the names of the others keep theirs.
    """
    rows = [row for row in table.rows if not row.heads]
    layout = _layout_of(table, table.rows, room)
    broken = _broken(rows, *layout, table.columns)
    few = max(1, len(rows) // _FEW_OF)
    if len(broken) <= few or not _names(table.columns):
        return layout
    wide = sorted(rows, key=lambda row: _figures_width(row, table.columns))[-few:]
    other = _layout_of(table, [row for row in table.rows if row not in wide], room)
    return (
        other
        if len(other[0]) >= len(layout[0]) and len(_broken(rows, *other, table.columns)) < len(broken)
        else layout
    )


def _layout_of(table: Table, rows: Sequence[TableRow], room: int) -> tuple[list[int], list[int]]:
    return _chosen(table.columns, widest_cells(table.columns, rows), room)


def _chosen(columns: Sequence[Column], widest: Sequence[int], room: int) -> tuple[list[int], list[int]]:
    """Which of the columns have room, and how wide each is; `widest`: what each asks for."""
    natural = [min(room, width) for width in widest]
    column_indices = list(range(len(columns)))
    while True:
        widths = _fitted([natural[i] for i in column_indices], [columns[i].cut for i in column_indices], room)
        spare = max(column_indices, key=lambda i: columns[i].spare)
        if sum(widths) + _GAP * (len(column_indices) - 1) <= room or not columns[spare].spare:
            return column_indices, widths
        column_indices.remove(spare)


def widest_cells(columns: Sequence[Column], rows: Sequence[TableRow]) -> list[int]:
    """How wide each column would like to be: as its title, and as the widest cell of it."""
    drawn = [_with_sparks(row) for row in rows]
    return [
        max(_title_width(column), *(cells(row.cells[i].text) for row in drawn), 1)
        for i, column in enumerate(columns)
    ]


def heading_lines(columns: Sequence[Column], widest: Sequence[int], width: int) -> list[Line]:
    """The titles over the rows that `row_lines` draws."""
    column_indices, widths = _chosen(columns, widest, width - _INDENT)
    return _heading([columns[i] for i in column_indices], widths)


def row_lines(
    columns: Sequence[Column], widest: Sequence[int], rows: Sequence[TableRow], width: int
) -> list[Line]:
    """Rows of a list that is longer than a screen: one line each, in columns that the rows not drawn now may share.

    A name too wide for its column is cut, for it stands whole where its row leads to.
    """
    column_indices, widths = _chosen(columns, widest, width - _INDENT)
    lines = []
    for row in map(_with_sparks, rows):
        spans: list[TextSpan] = []
        for k, (i, room) in enumerate(zip(column_indices, widths, strict=True)):
            cell = row.cells[i] if i < len(row.cells) else Cell("")
            text = pad(cell.text, room, right=columns[i].right)
            gap = " " * (_GAP if k else _INDENT)
            spans += line(gap, (text, "faint" if row.faint else cell.tone, cell.ref))
        lines.append(tuple(spans))
    return lines


def _figures_width(row: TableRow, columns: Sequence[Column]) -> int:
    return sum(cells(cell.text) for cell, column in zip(row.cells, columns, strict=True) if not column.cut)


def _broken(
    rows: Sequence[TableRow], column_indices: Sequence[int], widths: Sequence[int], columns: Sequence[Column]
) -> list[TableRow]:
    """The rows that do not fit on one line."""
    shown = [columns[i] for i in column_indices]
    return [row for row in rows if _breaks([row.cells[i] for i in column_indices], shown, widths)]


def _breaks(row_cells: Sequence[Cell], columns: Sequence[Column], widths: Sequence[int]) -> bool:
    names = _names(columns)
    return any(
        cells(cell.text) > width
        for k, (cell, column, width) in enumerate(zip(row_cells, columns, widths, strict=True))
        if k < names or not column.cut
    )


def _names(columns: Sequence[Column]) -> int:
    """How many columns at the left name a row."""
    return next((k for k, column in enumerate(columns) if not column.cut), 0)


def _title_width(column: Column) -> int:
    """What a title asks for: a text column has it on one line, a number's may take two."""
    if column.cut or " " not in column.title:
        return cells(column.title)
    widest = max(map(cells, words(column.title)))
    return next(width for width in range(widest, 200) if len(wrap(column.title, width)) <= 2)


def _fitted(widths: list[int], least: list[int], room: int) -> list[int]:
    """Cut the widest text column by one until all fit or none can give more."""
    fitted = list(widths)
    while sum(fitted) + _GAP * (len(fitted) - 1) > room:
        free = [i for i, width in enumerate(fitted) if least[i] and width > least[i]]
        if not free:
            break
        fitted[max(free, key=lambda i: fitted[i])] -= 1
    return fitted


def _heading(columns: Sequence[Column], widths: Sequence[int]) -> list[Line]:
    """Titles over as many lines as the longest needs, standing on the bottom one."""
    titles = [wrap(column.title, width) for column, width in zip(columns, widths, strict=True)]
    height = max(map(len, titles))
    stacked = [[""] * (height - len(title)) + title for title in titles]
    return [
        line(" " * _INDENT, (_joined([title[k] for title in stacked], columns, widths), "faint"))
        for k in range(height)
    ]


def _joined(texts: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    return (" " * _GAP).join(
        pad(text, width, right=column.right)
        for text, column, width in zip(texts, columns, widths, strict=True)
    )


def _row(
    row: TableRow, column_indices: Sequence[int], columns: Sequence[Column], widths: Sequence[int], room: int
) -> list[Line]:
    """The row; names that their columns are too narrow for stand above it, so that rows can be told apart."""
    if row.heads:
        return [line("  ", (row.cells[0].text, "strong"))]
    row_cells = [row.cells[i] for i in column_indices]
    mark = TextSpan("~ " if row.faint else " " * _INDENT, "faint")
    lines: list[Line] = []
    names = _names(columns)
    if names and _breaks(row_cells, columns, widths):
        places = zip(row_cells[:names], widths, strict=False)
        name_text = (" " * _GAP).join(cell.text + " " * (width - cells(cell.text)) for cell, width in places)
        first = row_cells[0]
        tone = "faint" if row.faint else first.tone
        lines = [line(mark, (cut(name_text, room - _INDENT), tone, first.ref))]
        mark, row_cells[:names] = TextSpan(" " * _INDENT, "faint"), [Cell("")] * names
        widths = _widened(row_cells, columns, widths, names)
    spans: list[TextSpan] = [mark]
    for k, (cell, column, width) in enumerate(zip(row_cells, columns, widths, strict=True)):
        text = pad(cell.text, width, right=column.right)
        spans += line(" " * _GAP if k else "", (text, "faint" if row.faint else cell.tone, cell.ref))
    return [*lines, tuple(spans)]


def _widened(
    row_cells: Sequence[Cell], columns: Sequence[Column], widths: Sequence[int], names: int
) -> list[int]:
    """The widths of a row whose names stand above it: its figures take of their room what they need."""
    wide = [
        width if k < names or column.cut else max(width, cells(cell.text))
        for k, (cell, column, width) in enumerate(zip(row_cells, columns, widths, strict=True))
    ]
    lack = sum(wide) - sum(widths)
    for k in range(names):
        given = min(wide[k], lack)
        wide[k] -= given
        lack -= given
    return wide
