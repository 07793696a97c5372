"""What a person at a terminal sees: tables within 80 columns, coloured; a progress line, and nothing of it in a pipe."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from retro.surface.cli.context import call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from retro.present.page.blocks import Cell, Column, Tone

__all__ = ["counter", "print_findings", "print_table"]

WIDTH = 80


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], note: str = "") -> None:
    """Rows within 80 columns; an agent's words are cut and lose control characters."""
    from retro.present.page.blocks import Cell, Table, TableRow
    from retro.present.text.tables import table_lines
    from retro.present.widths import paint
    from retro.safe import plain_text

    table_rows = tuple(
        TableRow(tuple(Cell(plain_text(cell.text), cell.tone) for cell in row)) for row in rows
    )
    lines = table_lines(Table(tuple(columns), table_rows, note=note), WIDTH)
    call.out(paint(lines, WIDTH, colour=call.colour))


def print_findings(findings: Sequence[tuple[str, str, str]]) -> None:
    """State, name and detail of each finding, the details hanging in a column of their own."""
    from retro.present.widths import cells, line, pad, paint, wrap
    from retro.safe import plain_text

    tones: dict[str, Tone] = {"ok": "up", "note": "warn", "broken": "down"}
    rows = [(state, plain_text(name), plain_text(detail)) for state, name, detail in findings]
    named = min(26, max((cells(name) for _, name, _ in rows), default=0))
    start = 8 + named + 2
    lines = []
    for state, name, detail in rows:
        first, *continuation = wrap(detail, WIDTH - start)
        lines.append(line((pad(state, 8), tones[state]), pad(name, named), "  ", first))
        lines += [line(" " * start, text) for text in continuation]
    call.out(paint(lines, WIDTH, colour=call.colour))


@contextmanager
def counter(label: str, *, quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """Something to call with the number of events so far; None where nobody watches."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    with console.status(escape(label)) as status:
        yield lambda n: status.update(escape(f"{label}: {n:,} events"))
