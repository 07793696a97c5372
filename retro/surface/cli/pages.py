"""Answers as pages: on the terminal, as JSON, Markdown or one self-contained HTML file, as reviews are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retro.errors import UsageError
from retro.surface.cli.context import call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from retro.present.page.blocks import Page

__all__ = ["PageFormat", "PageOutput", "answer", "write_out", "write_page", "write_parts"]


def _known_form(form: str) -> str:
    """Before anything is computed."""
    if form not in {"text", "json", "md", "html"}:
        raise UsageError("--format takes text, json, md or html")
    return form


PageFormat = Annotated[str, typer.Option("--format", metavar="text|json|md|html", callback=_known_form)]
PageOutput = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="write there instead of printing")
]


def answer(
    document: Any, page: Callable[[], Page], form: str, output: Path | None, nothing: str = ""
) -> None:
    """Print an answer, or write it whole or not at all: its document as JSON, else its page in a format.

    `page` is made where it is drawn. Where there is `nothing` to show, a person at a terminal is told so, and of what
    to do; a file says it too.
    """
    if call.json or form == "json":
        from retro.present.json_parts import data_as_json

        write_out(data_as_json(document), output)
    elif nothing and form == "text":
        call.say(nothing)
    else:
        write_page(_absence(nothing) if nothing else page(), form, output)


def write_page(page: Page, form: str, output: Path | None) -> None:
    """Print a page as text, Markdown or HTML, or write it into a file."""
    write_out(_drawn(page, form, colour=output is None and call.colour), output)


def _absence(why: str) -> Page:
    from retro.present.page.blocks import absence_page

    return absence_page("Nothing to show", f"{why[:1].upper()}{why[1:]}.")


def _drawn(page: Page, form: str, *, colour: bool) -> str:
    """The page in a format, without what would move a terminal's cursor."""
    from retro.present.html import html_of
    from retro.present.markdown import markdown_of
    from retro.present.screen import plain_page
    from retro.present.text.page import text_of

    page = plain_page(page)
    if form == "text":
        return text_of(page, colour=colour)
    return html_of(page) if form == "html" else markdown_of(page)


def write_out(text: str, output: Path | None) -> None:
    """Print a text, or write it into a file that appears whole or not at all."""
    if output is None:
        call.out(text)
        return
    from retro.surface.cli.files import write_whole

    write_whole(output, text)
    call.say(f"wrote {output}")


def write_parts(parts: Iterable[str], output: Path | None) -> None:
    """Print a text part by part as it comes, or write it into a file whole."""
    if output is None:
        call.out_parts(parts)
    else:
        write_out("".join(parts), output)
