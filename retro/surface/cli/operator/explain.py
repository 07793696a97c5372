"""`retro explain`: where a figure of a stored review comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from retro.surface.cli.context import call
from retro.surface.cli.screen import After

if TYPE_CHECKING:
    from retro.present.page.blocks import Page

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("explain")(explain)


def explain(
    review: Annotated[
        str, typer.Argument(metavar="REVIEW", help="as `retro reviews` lists it; ID@1 names a revision")
    ],
    figure: Annotated[
        str | None, typer.Argument(metavar="FIGURE", help="such as pnl.total; without it, which there are")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=10_000, help="at most so many lines")
    ] = 100,
    after: After = None,
) -> None:
    """Say where a figure of a stored review comes from: definition, inputs, and the journal's lines.

    Example: retro explain my-agent.weekly.2026-W47 pnl.total
    """
    from dataclasses import asdict

    from retro.app.questions.reviews import stored
    from retro.app.questions.screens import explain as questions
    from retro.present.page.screens.explanation import figures_page, page_of_explanation

    if figure is None:
        figures = questions.figures_of(stored(call.store, review).document)
        if call.json:
            call.out_json([asdict(row) for row in figures])
        else:
            _show(figures_page(review, figures))
        return
    explanation = questions.explain(call.store, review, figure, after=after, limit=limit)
    if call.json:
        call.out_json(explanation.document())
        return
    _show(page_of_explanation(explanation))
    if explanation.next is not None:
        call.say(
            f"{len(explanation.lines)} of {explanation.count:,} events; to go on, add: --after {explanation.next}"
        )


def _show(page: Page) -> None:
    from retro.present.screen import plain_page
    from retro.present.text.page import text_of

    call.out(text_of(plain_page(page), colour=call.colour))
