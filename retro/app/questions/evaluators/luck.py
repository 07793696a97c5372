"""How much of an agent's results was being there, and how much was choosing when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retro.app.settlement.audit import seed_of_life
from retro.app.settlement.settle import settled_book
from retro.app.settlement.twins import closed_trades, known_marks
from retro.evaluate.luck.answer import LuckKnowledge, luck_of
from retro.evaluate.luck.trades import cited_trade

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.accounting.prices import Prices
    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.luck.trades import ClosedTrade
    from retro.report.evaluators.luck import LuckReport
    from retro.store.database import Store

__all__ = ["LuckQuestion", "luck"]


@dataclass(frozen=True, slots=True)
class LuckQuestion:
    """Whose results, and by what was told before when (microseconds; None: all of it)."""

    store: Store
    agent: str
    settings: AgentSettings
    as_of: int | None = None


def luck(question: LuckQuestion) -> LuckReport:
    """Every closed spot and perp position beside its twins on the marks that were known."""
    settings = question.settings
    with settled_book(question.store, question.agent, settings, measured=False) as book:
        until = book.known_at(question.as_of)

        def prices_of(instruments: Sequence[str]) -> Prices:
            return known_marks(book, instruments, until)

        knowledge = LuckKnowledge(until, until if question.as_of is None else question.as_of)
        zone = settings.options.rules.zone
        return luck_of(_trades(book, until), prices_of, knowledge, zone, seed_of_life(book.name))


def _trades(book: SettledBook, now: int) -> list[ClosedTrade]:
    closed = {
        row.position: row
        for row in book.positions_known(now)
        if row.closed_at is not None and row.kind in {"spot", "perp"}
    }
    rules = book.settings.options.rules
    return [
        cited_trade(trade, closed[trade.position], rules) for trade in closed_trades(book, [*closed], now)
    ]
