"""What a person at a terminal sees: tables within 80 columns, coloured; a progress line, and nothing of it in a pipe.

Of a long list a page, and where it goes on: `--limit`, `--after` and `--newest`.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from retro.app.questions.bounds import ListBounds, rows_of
from retro.surface.cli.context import call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from memory.library.search import ItemHit
    from retro.app.questions.bounds import ListPart
    from retro.app.questions.lists.filters import FilteredList
    from retro.present.page.blocks import Table, Tone
    from retro.store.conditions import Selection

__all__ = [
    "WIDTH",
    "After",
    "Limit",
    "Newest",
    "Where",
    "counter",
    "print_findings",
    "print_items",
    "print_rows",
    "screen_rows",
    "selected",
    "show_table",
]

T = TypeVar("T")

WIDTH: Final = 80
_WIDEST: Final = 120
_SCREEN: Final = 100

Limit = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", help=f"at most so many; default: {_SCREEN} on a terminal, else all"),
]
After = Annotated[
    str | None,
    typer.Option("--after", metavar="CURSOR", help="what follows this one in the list: its id or number"),
]
Where = Annotated[
    str,
    typer.Option("--where", metavar="FILTER", help="only these, e.g. 'eth pnl<0 held>1d' (docs/screens.md)"),
]
Newest = Annotated[bool, typer.Option("--newest", help="the newest first")]


def show_table(table: Table) -> None:
    """A table of a page within 80 columns, or those of a wider terminal; an agent's words lose control characters."""
    from dataclasses import replace

    from retro.present.text.tables import table_lines
    from retro.present.widths import paint
    from retro.safe import plain_text

    rows = tuple(
        replace(row, cells=tuple(replace(cell, text=plain_text(cell.text)) for cell in row.cells))
        for row in table.rows
    )
    width = _width()
    call.out(paint(table_lines(replace(table, rows=rows), width), width, colour=call.colour))


def _width() -> int:
    """80 columns, so that what is printed into a file is the same everywhere; a terminal may have more."""
    if sys.stdout is None or not sys.stdout.isatty():
        return WIDTH
    return min(max(WIDTH, get_terminal_size().columns), _WIDEST)


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


def selected(where: str, rows: FilteredList, sort: str = "") -> Selection:
    """What was typed after --where and --sort, days being the owner's."""
    from retro.app.questions.lists.filters import owner_selection

    return owner_selection(call.config, where, rows, sort)


def screen_rows(
    read: Callable[[ListBounds], ListPart[T]], bounds: ListBounds, count: Callable[[], int], what: str
) -> Sequence[T]:
    """The rows to draw; where others follow, a word to the person of how many there are and how to go on."""
    if bounds.limit is None and not (sys.stdout is not None and sys.stdout.isatty()):
        return list(rows_of(read, bounds))
    rows, following = read(ListBounds(bounds.limit or _SCREEN, bounds.after, bounds.newest))
    if following is not None:
        call.say(f"{len(rows):,} of {count():,} {what}; to go on, add: {_go_on(following)}")
    return rows


def print_rows(
    read: Callable[[ListBounds], ListPart[T]],
    bounds: ListBounds,
    cursor_of: Callable[[T], str],
    write: Callable[[Iterable[T]], None],
) -> None:
    """Write every row within the bounds as it comes; with a limit, a word of how to go on where others follow."""
    last: list[T] = []

    def rows() -> Iterable[T]:
        for row in rows_of(read, bounds):
            last[:] = [row]
            yield row

    write(rows())
    if bounds.limit is not None and last:
        cursor = cursor_of(last[0])
        if read(ListBounds(1, cursor, bounds.newest)).rows:
            call.say(f"to go on, add: {_go_on(cursor)}")


def _go_on(cursor: str) -> str:
    import shlex

    return f"--after {shlex.quote(cursor)}"


def print_items(hits: Sequence[ItemHit]) -> None:
    """Each with its score, its text, and the parts of the score."""
    from memory import written
    from retro.safe import plain_text

    for place, hit in enumerate(hits, 1):
        parts = hit.components
        named = {
            "similarity": parts.similarity, "words": parts.lexical, "recency": parts.recency,
            "importance": parts.importance,
        }  # fmt: skip
        reasons = ", ".join(f"{name} {value:.3f}" for name, value in named.items() if value is not None)
        where = " ".join(word for word in (hit.item.collection, hit.layer, hit.item.symbol) if word)
        place_word = ", archived" if hit.archived else ""
        call.out(
            plain_text(
                f"{place:>3}. {hit.score:.3f}  {hit.item.id}  {where}  {written(hit.item.at)}{place_word}"
            )
        )
        call.out(plain_text(f"     {hit.item.text}"))
        call.out(f"     {reasons}")
