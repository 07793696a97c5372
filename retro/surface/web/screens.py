"""The screens there are: one table that routes, ways and help are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from retro.errors import UnknownError
from retro.surface.web import answers

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.surface.web.answers import Answer, House
    from retro.surface.web.routes import Request

__all__ = ["SCREENS", "Screen", "answer"]


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen: the first part of its address, its title and key, the question it answers, and who answers it.

    `names` is how many names its address has; `listed`: it stands among the ways that every screen shows.
    """

    name: str
    title: str
    key: str
    question: str
    ask: Callable[[House, Request], Answer]
    names: int = 0
    listed: bool = False


SCREENS: Final = (
    Screen(
        "today", "Today", "t", "Is everybody alive, and does anything want me?", answers.today, listed=True
    ),
    Screen("reviews", "Reviews", "r", "What was made, and what is owed?", answers.reviews, listed=True),
    Screen("r", "A review", "", "What did a period come to?", answers.review, 1),
    Screen("diff", "Two reviews", "d", "What differs between two reviews?", answers.difference, 1),
    Screen("positions", "Positions", "p", "What did each position make?", answers.positions, listed=True),
    Screen(
        "p", "A position", "", "How did a position go, and what was best in hindsight?", answers.position, 2
    ),
    Screen("a", "An agent", "", "How does an agent stand?", answers.agent, 1),
    Screen("rules", "Rules", "h", "Which rules made or lost money, and how sure is that?", answers.rules, 1),
    Screen("rules", "A rule", "", "What is one rule worth?", answers.rule, 2),
    Screen("proposals", "Proposals", "o", "What is proposed to a playbook?", answers.proposals, listed=True),
    Screen("service", "Service", "s", "What works, and what does not?", answers.service, listed=True),
)
"""Every screen there is."""

_BY_ADDRESS: Final = {(screen.name, screen.names): screen for screen in SCREENS}


def answer(house: House, request: Request) -> Answer:
    """The answer to a request; `UnknownError` where there is no such screen, or nothing of that name."""
    screen = _BY_ADDRESS.get((request.screen, len(request.names)))
    if screen is None:
        raise UnknownError("there is no such screen")
    return screen.ask(house, request)
