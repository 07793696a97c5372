"""Answers of the evaluators as pages: Markdown or one self-contained HTML file, as reviews are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retro.errors import UsageError
from retro.surface.cli.context import call

if TYPE_CHECKING:
    from retro.present.page.blocks import Page

__all__ = ["PageFormat", "PageOutput", "is_page", "print_page"]


def _known_form(form: str) -> str:
    """Before anything is computed."""
    if form not in {"text", "md", "html"}:
        raise UsageError("--format takes text, md or html; --json gives the data")
    return form


PageFormat = Annotated[str, typer.Option("--format", metavar="text|md|html", callback=_known_form)]
PageOutput = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="write there instead of printing")
]


def is_page(form: str, output: Path | None) -> bool:
    """Whether a page is wanted and not the lines of a terminal, which cannot go to a file."""
    if output is not None and form == "text":
        raise UsageError("-o writes a page: say --format html or md")
    return form != "text"


def print_page(page: Page, form: str, output: Path | None) -> None:
    """Print the page in a format, or write it whole or not at all."""
    from retro.present.html import html_of
    from retro.present.markdown import markdown_of

    text = html_of(page) if form == "html" else markdown_of(page)
    if output is None:
        call.out(text)
        return
    from retro.surface.cli.files import write_whole

    write_whole(output, text)
    call.say(f"wrote {output}")
