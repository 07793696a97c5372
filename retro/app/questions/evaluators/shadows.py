"""What strategies made that ran beside the real one: rules of the configuration, and what an agent told of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from retro.app.reviews.shadows import shadows_of
from retro.app.settlement.settings import shadow_rules
from retro.app.settlement.settle import settled_book
from retro.evaluate.whatif.shadows import ShadowTerms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.evaluate.whatif.shadows import ShadowStrategy
    from retro.report.evaluators.shadows import ShadowRow
    from retro.store.database import Store

__all__ = ["ShadowQuestion", "shadows"]


@dataclass(frozen=True, slots=True)
class ShadowQuestion:
    """Whose shadows; with `as_of` only what was told before that instant counts (microseconds)."""

    store: Store
    agent: str
    settings: AgentSettings
    strategies: Sequence[ShadowStrategy] = ()
    terms: ShadowTerms = field(default_factory=ShadowTerms)
    as_of: int | None = None

    @classmethod
    def of(
        cls, store: Store, agent: str, settings: AgentSettings, config: Config, as_of: int | None = None
    ) -> ShadowQuestion:
        """As the configuration says; `UsageError` for a `[[shadow]]` whose rule is none."""
        review = config.retrospective
        terms = ShadowTerms(review.shadow_min_duration_days, review.shadow_promote_threshold)
        strategies = [row for row in shadow_rules(config) if row[0] in {None, agent}]
        return cls(store, agent, settings, [strategy for _, strategy in strategies], terms, as_of)


def shadows(question: ShadowQuestion) -> list[ShadowRow]:
    """Every shadow beside the real strategy, by name. What an agent tells of one goes before a rule of that name."""
    with settled_book(question.store, question.agent, question.settings, measured=False) as book:
        return shadows_of(book, question.strategies, question.terms, question.as_of)
