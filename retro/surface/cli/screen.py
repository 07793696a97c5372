"""Lists, in every format: at a terminal rows within 80 columns, coloured; a progress line, and nothing of it in a pipe.

Of a long list a page, and where it goes on: `--limit`, `--after` and `--newest`.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, TypeVar

import typer

from retro.app.questions.bounds import ListBounds, rows_of
from retro.surface.cli.context import call
from retro.surface.cli.pages import write_out, write_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from retro.app.questions.bounds import ListPart
    from retro.app.questions.lists.filters import FilteredList
    from retro.present.page.blocks import Page
    from retro.store.conditions import Selection

__all__ = [
    "WIDTH",
    "After",
    "Limit",
    "Newest",
    "RowList",
    "Where",
    "counter",
    "list_text",
    "print_list",
    "print_rows",
    "screen_rows",
    "selected",
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


def list_text(page: Page) -> str:
    """What a page lists, without its headline: rows of 80 columns, or of a wider terminal, for a person or a `grep`."""
    from retro.present.screen import plain_page
    from retro.present.text.page import block_lines
    from retro.present.widths import paint

    width = _width()
    blocks = [block for section in plain_page(page).sections for block in section.blocks]
    lines = [row for block in blocks for row in block_lines(block, width)]
    return paint(lines, width, colour=call.colour)


def _width() -> int:
    """80 columns, so that what is printed into a file is the same everywhere; a terminal may have more."""
    if sys.stdout is None or not sys.stdout.isatty():
        return WIDTH
    return min(max(WIDTH, get_terminal_size().columns), _WIDEST)


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


@dataclass(frozen=True, slots=True)
class RowList(Generic[T]):
    """A list that is read part by part, and how its rows are shown.

    `cursor_of` names the place of a row, `document_of` is its JSON, `page` has rows on a page, `text` (default: what the
    page lists) prints them at a terminal; `count` says how many there are in all, of what is said by `what`.
    """

    what: str
    read: Callable[[ListBounds], ListPart[T]]
    count: Callable[[], int]
    cursor_of: Callable[[T], str]
    document_of: Callable[[T], Any]
    page: Callable[[Sequence[T]], Page]
    text: Callable[[Sequence[T]], str] | None = None


def print_list(
    rows: RowList[T], bounds: ListBounds, form: str, output: Path | None, nothing: Callable[[], str]
) -> None:
    """Print a list in a format, or write it into a file; as JSON row by row. `nothing` says why there are no rows."""
    from retro.present.json_parts import data_as_json

    is_json = call.json or form == "json"
    if is_json and output is None:
        print_rows(
            rows.read,
            bounds,
            rows.cursor_of,
            lambda read: call.out_json_rows(rows.document_of(row) for row in read),
        )
        return
    listed = (
        screen_rows(rows.read, bounds, rows.count, rows.what)
        if form == "text" and output is None
        else list(rows_of(rows.read, bounds))
    )
    if is_json:
        write_out(data_as_json([rows.document_of(row) for row in listed]), output)
    elif form != "text":
        write_page(rows.page(listed), form, output)
    elif listed:
        write_out(list_text(rows.page(listed)) if rows.text is None else rows.text(listed), output)
    else:
        call.say(nothing())


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
