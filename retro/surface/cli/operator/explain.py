"""`retro explain`: where a figure of a stored review comes from."""

from __future__ import annotations

from typing import Annotated

import typer

from retro.surface.cli.context import call
from retro.surface.cli.pages import PageFormat, PageOutput, answer
from retro.surface.cli.screen import After

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
    form: PageFormat = "text",
    output: PageOutput = None,
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
        answer([asdict(row) for row in figures], lambda: figures_page(review, figures), form, output)
        return
    explanation = questions.explain(call.store, review, figure, after=after, limit=limit)
    currency = call.settings(call.agent(stored(call.store, review).review.agent)).base_currency
    answer(explanation.document(), lambda: page_of_explanation(explanation, currency), form, output)
    if explanation.next is not None and not call.json:
        call.say(
            f"{len(explanation.lines)} of {explanation.count:,} events; to go on, add: --after {explanation.next}"
        )
