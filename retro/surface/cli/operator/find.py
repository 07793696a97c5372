"""`retro search` and `retro memory`: where something is, and all that an agent remembers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from retro.surface.cli.context import call
from retro.surface.cli.memory import AgentName, AsOf, experience_of, instant_of

if TYPE_CHECKING:
    from retro.present.page.blocks import Page

__all__ = ["add_to", "print_screen"]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.command("search")(search)
    parent.command("memory")(memory)


def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="some of a name; A to Z in either case")],
) -> None:
    """Find agents, reviews, positions and proposals by some of their names.

    Example: retro search 2026-W10
    """
    from retro.app.questions.lists.search import find
    from retro.present.page.screens.search import search_page

    results = find(call.store, text)
    if call.json:
        call.out_json([row.document() for row in results])
    elif results:
        print_screen(search_page(text, results))
    else:
        call.say(f"no agent, review, position or proposal is called {text!r}")


def memory(agent: AgentName = None, as_of: AsOf = None) -> None:
    """All that an agent remembers on one page: how it stands, habits, beliefs, markers, plans.

    Example: retro memory --agent sample --as-of 2026-03-15
    """
    from retro.app.questions.lists.overview import memory_overview
    from retro.present.page.screens.memory import memory_page

    experience = experience_of()
    name = experience.agent(agent)
    answer = memory_overview(experience, name, instant_of(as_of), now=time.time_ns() // 1000)
    if call.json:
        call.out_json(answer.document())
    else:
        print_screen(memory_page(answer.state, answer.habits, answer.beliefs, answer.markers, answer.plans))


def print_screen(page: Page) -> None:
    """The page of a screen as it stands at a terminal: what strangers wrote made plain."""
    from retro.present.screen import plain_page
    from retro.present.text.page import text_of

    call.out(text_of(plain_page(page), colour=call.colour))
