"""The screens there are: one table that routes, palette, help and documents are made of."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

from retro.errors import UnknownError

if TYPE_CHECKING:
    from retro.surface.screens.answer import Answer
    from retro.surface.screens.house import House
    from retro.surface.screens.routes import Request

__all__ = ["MOST_BESIDE", "SCREENS", "Screen", "answer", "screen_of_request"]


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen: the first part of its address, its title and key, the question it answers, and who answers it.

    `names` is how many names its address has; `listed`: it stands among the ways that every screen shows; `rows`: it is
    a list, read part by part. `place` is the module beside this one and the function that answers; it is imported by who
    asks, so that nobody waits for screens that he does not see.
    """

    name: str
    title: str
    key: str
    question: str
    place: str
    names: int = 0
    listed: bool = False
    rows: bool = False

    def ask(self, house: House, request: Request) -> Answer:
        """What the screen answers to a request."""
        module, _, function = self.place.partition(":")
        answer: Answer = getattr(import_module(f"retro.surface.screens.{module}"), function)(house, request)
        return answer


SCREENS: Final = (
    Screen(
        "today", "Today", "t", "Is it alive, what came in, and what wants me?", "mornings:today", listed=True
    ),
    Screen(
        "fleet", "Agents", "f", "Who wants me, and what did the week come to?", "agents:fleet", listed=True
    ),
    Screen(
        "reviews",
        "Reviews",
        "r",
        "What was made, and what is owed?",
        "reviews:reviews",
        listed=True,
        rows=True,
    ),
    Screen("r", "A review", "", "What did a period come to?", "reviews:review", 1),
    Screen("r", "A figure", "", "Where does a figure come from?", "explanations:explanation", 2),
    Screen("diff", "Two reviews", "d", "What differs between two reviews?", "reviews:difference", 1),
    Screen(
        "positions",
        "Positions",
        "p",
        "What did each position make?",
        "lives:positions",
        listed=True,
        rows=True,
    ),
    Screen(
        "p", "A position", "", "How did a position go, and what was best in hindsight?", "lives:position", 2
    ),
    Screen("a", "An agent", "", "How does an agent stand?", "agents:agent", 1),
    Screen("rules", "Rules", "h", "Which rules made or lost money, and how sure is that?", "rules:rules", 1),
    Screen("rules", "A rule", "", "What is one rule worth?", "rules:rule", 2),
    Screen("ripening", "Ripening", "c", "When will what be known?", "mornings:ripening", listed=True),
    Screen(
        "proposals",
        "Proposals",
        "o",
        "What is proposed to a playbook?",
        "rules:proposals",
        listed=True,
        rows=True,
    ),
    Screen("proposals", "A proposal", "", "What would it change, and on what evidence?", "rules:proposal", 1),
    Screen(
        "memory", "Memory", "m", "What does an agent remember, and how does it stand?", "memory:memory", 1
    ),
    Screen("memory", "Recall", "", "What happened in situations like this one?", "memory:recall", 2),
    Screen("service", "Service", "s", "What works, and what does not?", "agents:service", listed=True),
    Screen("search", "Search", "/", "Where is it?", "memory:search", listed=True),
)
"""Every screen there is."""

MOST_BESIDE: Final = 5
"""Lives that are laid over one: more lines are not told apart."""

_BY_ADDRESS: Final = {(screen.name, screen.names): screen for screen in SCREENS}


def answer(house: House, request: Request) -> Answer:
    """The answer to a request; `UnknownError` where there is no such screen, or nothing of that name."""
    return screen_of_request(request).ask(house, request)


def screen_of_request(request: Request) -> Screen:
    """The screen that a request asks for; `UnknownError` where there is no such screen."""
    screen = _BY_ADDRESS.get((request.screen, len(request.names)))
    if screen is None:
        raise UnknownError("there is no such screen")
    return screen
