"""`retro search` and `retro memory`: where something is, and all that an agent remembers."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from retro.surface.cli.context import call
from retro.surface.cli.memory import AgentName, AsOf, experience_of, instant_of
from retro.surface.cli.pages import PageFormat, PageOutput, answer

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.command("search")(search)
    parent.command("memory")(memory)


def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="some of a name; A to Z in either case")],
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """Find agents, reviews, positions and proposals by some of their names.

    Example: retro search 2026-W10
    """
    from retro.app.questions.lists.search import find
    from retro.present.page.screens.search import search_page

    results = find(call.store, text)
    answer(
        [row.document() for row in results],
        lambda: search_page(text, results),
        form,
        output,
        "" if results else f"no agent, review, position or proposal is called {text!r}",
    )


def memory(
    agent: AgentName = None, as_of: AsOf = None, form: PageFormat = "text", output: PageOutput = None
) -> None:
    """All that an agent remembers on one page: how it stands, habits, beliefs, markers, plans.

    Example: retro memory --agent sample --as-of 2026-03-15
    """
    from retro.app.questions.lists.overview import memory_overview
    from retro.present.page.screens.memory import memory_page

    experience = experience_of()
    name = experience.agent(agent)
    overview = memory_overview(experience, name, instant_of(as_of), now=time.time_ns() // 1000)
    answer(
        overview.document(),
        lambda: memory_page(
            overview.state, overview.habits, overview.beliefs, overview.markers, overview.plans
        ),
        form,
        output,
    )
