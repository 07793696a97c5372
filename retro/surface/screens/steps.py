"""Where one goes from a screen by one key: plain links, each with its key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.app.questions import reviews as review_questions
from retro.errors import UnknownError
from retro.present.links import address_of, segment
from retro.present.references import (
    AgentReference,
    ExplanationReference,
    ReviewReference,
    RulesReference,
    ScreenReference,
)
from retro.present.screen import KeyHelp, ScreenStep
from retro.report import RetrospectiveReport

if TYPE_CHECKING:
    from retro.app.questions.reviews import Stored
    from retro.report import PositionRetrospective
    from retro.store.database import Store

__all__ = ["KEYS", "earlier_of_kind", "life_steps", "list_steps", "review_steps"]

KEYS: Final = (
    KeyHelp("j k, arrows", "the next line, the line before"),
    KeyHelp("Enter", "open what is marked; on a position the reasoning at its entry"),
    KeyHelp("Esc", "back to where this belongs"),
    KeyHelp("d", "what differs from the review before"),
    KeyHelp("h", "the rules, one by one"),
    KeyHelp("p", "positions; on a position what was predicted at its entry"),
    KeyHelp("r", "the retrospective of what is marked; read anew what has changed"),
    KeyHelp("e", "where a figure comes from"),
    KeyHelp("[ ]", "the period before, the period after"),
    KeyHelp("x, X", "pick a life, lay those picked over each other"),
    KeyHelp(". m", "what can be done here; mark Today as seen: each asks once more"),
    KeyHelp("y", "copy the address and the command"),
    KeyHelp("g t, g r ...", "Today, reviews, positions, proposals, service"),
    KeyHelp("/", "narrow a list; elsewhere search"),
    KeyHelp("-", "the screen before; on a chart the whole of it"),
    KeyHelp("← →", "on a chart: the point before, the next point"),
    KeyHelp("c C b 0 $", "on a path: checkpoints, best exit, entry, exit"),
    KeyHelp("+", "on a path: closer; a mouse marks a part of it"),
    KeyHelp("?", "this list"),
)
"""What the keys do, on every screen alike."""


def review_steps(store: Store, stored: Stored) -> tuple[ScreenStep, ...]:
    """From a review of a period: what differs, the rules, the positions, the periods beside it; none from other reviews."""
    review, document = stored.review, stored.document
    if not isinstance(document, RetrospectiveReport):
        return life_steps(document, review.id)
    before, after = review_questions.neighbours(store, review)
    steps = []
    if before is not None:
        steps.append(ScreenStep("d", "Diff from last review", f"/diff/{segment(review.id)}"))
    steps.append(ScreenStep("h", "Heuristic detail", address_of(RulesReference(review.agent))))
    here = "#positions" if document.positions else ""
    lists = address_of(ScreenReference("positions", (("agent", review.agent),)))
    steps.append(ScreenStep("p", "Position detail", here or lists))
    steps += [
        ScreenStep(key, title, address_of(ReviewReference(other.id)))
        for key, title, other in (("[", "The one before", before), ("]", "The next one", after))
        if other is not None
    ]
    return (*steps, _figures(review.id))


def _figures(review: str) -> ScreenStep:
    return ScreenStep("e", "Where the figures come from", address_of(ExplanationReference(review)))


def life_steps(position: PositionRetrospective, review: str) -> tuple[ScreenStep, ...]:
    """From a position's review: why it was entered, what was predicted then, where each figure comes from."""
    steps = []
    if position.entry_reasoning:
        steps.append(ScreenStep("Enter", "View entry reasoning", "#reasoning"))
    if position.entry_predictions:
        steps.append(ScreenStep("p", "View predictions", "#predictions"))
    return (*steps, _figures(review))


def list_steps(agent: str) -> tuple[ScreenStep, ...]:
    """From a list of one agent."""
    return (
        ScreenStep("h", "Heuristic detail", address_of(RulesReference(agent))),
        ScreenStep("p", "Positions", address_of(ScreenReference("positions", (("agent", agent),)))),
        ScreenStep("a", "All about it", address_of(AgentReference(agent))),
    )


def earlier_of_kind(store: Store, name: str) -> str:
    """The id of the review before one, of its agent and kind; `UnknownError` where it is the first."""
    before, _ = review_questions.neighbours(store, review_questions.stored(store, name).review)
    if before is None:
        raise UnknownError(f"{name} is the first of its kind; there is nothing before it to hold against it")
    return before.id
