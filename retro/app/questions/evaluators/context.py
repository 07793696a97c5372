"""What was in front of an agent when it decided, and how those decisions turned out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retro.app.settlement.audit import seed_of_life
from retro.app.settlement.settle import settled_book
from retro.evaluate.claims.context import context_items, item_multipliers
from retro.evaluate.claims.signals import signals_of
from retro.model import Decision
from retro.periods import FOREVER
from retro.store.books.claims import claims_of
from retro.store.facts import events

if TYPE_CHECKING:
    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.claims.signals import DecisionSignal
    from retro.report.evaluators.context import ContextItem
    from retro.store.database import Store

__all__ = ["AttributionQuestion", "attribution", "multipliers", "signals_before"]


@dataclass(frozen=True, slots=True)
class AttributionQuestion:
    """Whose decisions, and what was told before when (microseconds; None: all).

    `decay` is what a decision's weight keeps with each later one that turned out.
    """

    store: Store
    agent: str
    settings: AgentSettings
    decay: float = 0.995
    as_of: int | None = None


def attribution(question: AttributionQuestion) -> list[ContextItem]:
    """One row an item that stood in front of a decision that has turned out, best first."""
    settings = question.settings
    with settled_book(question.store, question.agent, settings, measured=False) as book:
        signals = signals_before(book, question.as_of)
    return context_items(signals, question.decay, settings.zone, seed_of_life(question.agent))


def multipliers(question: AttributionQuestion) -> dict[str, float]:
    """Item -> what recall makes of it."""
    with settled_book(question.store, question.agent, question.settings, measured=False) as book:
        return item_multipliers(signals_before(book, question.as_of), question.decay)


def signals_before(book: SettledBook, as_of: int | None) -> list[DecisionSignal]:
    """How each decision turned out of which that was known before an instant, in the order in which they did."""
    before = FOREVER if as_of is None else as_of
    rows = book.positions_known(before - 1)
    return signals_of(
        events.between(book.conn, book.name, -FOREVER, before, types=[Decision]),
        claims_of(book.conn, book.name),
        {row.position: row for row in rows},
        book.settings.options.rules.entry_outcome,
        before,
    )
