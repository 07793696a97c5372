"""What strategies made that ran beside the real one: rules of the configuration, and what an agent told of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retro.app.reviews.shadows import shadows_of
from retro.app.settlement.settle import settled_book
from retro.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.whatif.rule import ShadowStrategy
    from retro.report.evaluators.shadows import ShadowRow
    from retro.store.database import Store

__all__ = ["ShadowQuestion", "shadows"]


@dataclass(frozen=True, slots=True)
class ShadowQuestion:
    """Whose shadows; with `as_of` only what was told before that instant counts (microseconds).

    `strategies` run in place of those of the settings, which the book has settled.
    """

    store: Store
    agent: str
    settings: AgentSettings
    as_of: int | None = None
    strategies: Sequence[ShadowStrategy] | None = None


def shadows(question: ShadowQuestion) -> list[ShadowRow]:
    """Every shadow beside the real strategy, by name; `UsageError` for a `[[shadow]]` of the agent whose rule is none."""
    settings = question.settings
    if settings.shadow_faults:
        raise UsageError("; ".join(settings.shadow_faults))
    with settled_book(question.store, question.agent, settings, measured=False) as book:
        return shadows_of(book, question.as_of, question.strategies)
