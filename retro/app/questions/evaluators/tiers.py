"""What the tiers of inference were worth, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from retro.app.reviews.tiers import tiers_of
from retro.app.settlement.settle import settled_book
from retro.evaluate.terms import TierTerms

if TYPE_CHECKING:
    from retro.app.settlement.settings import AgentSettings
    from retro.report.evaluators.tiers import TierReport
    from retro.store.database import Store

__all__ = ["TierQuestion", "tiers"]


@dataclass(frozen=True, slots=True)
class TierQuestion:
    """Whose tiers, and what was told before when (microseconds; None: all)."""

    store: Store
    agent: str
    settings: AgentSettings
    terms: TierTerms = field(default_factory=TierTerms)
    as_of: int | None = None


def tiers(question: TierQuestion) -> TierReport:
    """Accuracy, gain and price of each tier by category, and which questions another tier could take."""
    with settled_book(question.store, question.agent, question.settings, measured=False) as book:
        return tiers_of(book, question.terms, question.as_of)
