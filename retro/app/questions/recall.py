"""What happened in situations like this one, and how much that says to risk in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from retro.app.experience.door import memory, translate_memory_errors
from retro.app.questions.evaluators.context import AttributionQuestion, multipliers
from retro.app.questions.experience import MemoryQuestion, facts_and_settings
from retro.app.questions.library.items import FoundItems, LibrarySearch, search_items
from retro.store.facts import agents

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory import Hit, Kelly, Validation
    from retro.app.questions.experience import Experience

__all__ = ["KellyQuestion", "RecallQuestion", "ValidationQuestion", "beside", "kelly", "recall", "validate"]

_BESIDE: Final = 5
"""Texts of the library that a recall shows beside its memories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuestion(MemoryQuestion):
    """The `k` memories most like a situation; None limits nothing.

    `types` are of episode, belief, plan. `losses_first` puts every loss before the others; `loss_floor` gives losses at
    least a fifth of the places while there are any; `by_likeness` chooses them however they turned out.
    """

    context: Mapping[str, Any] = field(default_factory=dict)
    k: int = 10
    strategy: str | None = None
    symbol: str | None = None
    direction: str | None = None
    regime: str | None = None
    types: Sequence[str] = ("episode",)
    losses_first: bool = False
    loss_floor: bool = False
    by_likeness: bool = False


def recall(experience: Experience, question: RecallQuestion) -> list[Hit]:
    """Past decisions weighted by how they turned out in the end, best first.

    With `[memory] use_attribution` a memory that decisions name in `context_items` counts by how those turned out.
    """
    attributed = _attributed(experience, question) if experience.config.memory.use_attribution else None
    with experience.reading() as conn:
        return memory.recall(
            conn,
            question.agent,
            dict(question.context),
            as_of=question.as_of,
            k=question.k,
            filters=memory.Filters(question.strategy, question.symbol, question.direction, question.regime),
            types=question.types,
            losses_first=question.losses_first,
            loss_floor=question.loss_floor,
            by_likeness=question.by_likeness,
            attributed=attributed,
            settings=experience.settings(conn, question.agent),
        )


def beside(experience: Experience, question: RecallQuestion, *, now: int | None = None) -> FoundItems:
    """What the library says about such a situation, as context beside the memories; at most five texts."""
    words = [question.strategy, question.symbol, question.direction, question.regime]
    words += [f"{name} {value}" for name, value in question.context.items() if value is not None]
    text = " ".join(str(word) for word in words if word)
    if not text:
        return FoundItems(
            model="", note="say with --context, --strategy or --symbol what the library is to be asked"
        )
    asked = LibrarySearch(text=text, agent=question.agent, as_of=question.as_of, k=_BESIDE)
    return search_items(experience, asked, now=now)


def _attributed(experience: Experience, question: RecallQuestion) -> dict[str, float]:
    """Item -> its multiplier by what was known; nothing of an agent without facts."""
    with experience.reading() as conn:
        if agents.agent(conn, question.agent) is None:
            return {}
    _, settings = facts_and_settings(experience, question.agent)
    decay = experience.config.retrospective.attribution_decay
    asked = AttributionQuestion(experience.store, question.agent, settings, decay, question.as_of)
    return multipliers(asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class KellyQuestion(MemoryQuestion):
    """What share of equity to put at one R in a situation, by a strategy's or symbol's outcomes or by all."""

    context: Mapping[str, Any] = field(default_factory=dict)
    strategy: str | None = None
    symbol: str | None = None


def kelly(experience: Experience, question: KellyQuestion) -> Kelly:
    """The share, or None and why it is not known; advisory."""
    with experience.reading() as conn:
        settings = experience.settings(conn, question.agent)
        return memory.kelly(
            conn,
            question.agent,
            dict(question.context),
            as_of=question.as_of,
            filters=memory.Filters(question.strategy, question.symbol),
            settings=settings,
            marked=experience.marked(conn, question, settings),
        )


@dataclass(frozen=True, slots=True)
class ValidationQuestion:
    """Whether recall helps: trades entered from `split` on are sized by what was known before them."""

    agent: str
    split: int


def validate(experience: Experience, question: ValidationQuestion) -> Validation:
    """A replay of the agent's history against sizes that remember less; `UsageError` for too little of it."""
    with experience.reading() as conn:
        settings = experience.settings(conn, question.agent)
        episodes = memory.told_episodes(conn, question.agent)
    with translate_memory_errors():
        return memory.validate(episodes, question.split, settings=replace(settings, sharpe_weight=False))
