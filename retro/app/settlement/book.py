"""The settled book as reviews read it: how far it is known, where a period opens, its rows."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import msgspec

from retro.evaluate.audit.citations import entry_day
from retro.evaluate.position.summary import Cited, PositionSummary
from retro.model import External
from retro.periods import FOREVER
from retro.store.books import positions
from retro.store.books.outcomes import outcomes_until

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.audit.history import History
    from retro.model import Fact
    from retro.store.facts.agents import Agent


__all__ = [
    "WALLET_TYPES",
    "WalletOpening",
    "history_of",
    "is_stale",
    "known_until",
    "opening_of",
    "read_rows",
]


WALLET_TYPES: Final = ("flow", "cost", "external", "equity")


_CITATIONS: Final = msgspec.json.Decoder(dict[str, list[Any]])


class WalletOpening(msgspec.Struct, frozen=True):
    """How an agent's wallet began, at its first event.

    `given` are assets and quantities (decimal text) that opened it: the first stated balances, a configured capital,
    or what the first equity statement shows beyond the events. `baseline` is the first statement's discrepancy.
    """

    birth: int
    capital_known: bool
    given: list[tuple[str, str]]
    baseline: float

    def facts(self, agent: str) -> list[Fact]:
        """The opening as money from the owner, before everything else of that instant."""
        return [
            External(id="", agent=agent, at=self.birth, asset=asset, quantity=Decimal(quantity))
            for asset, quantity in self.given
            if Decimal(quantity)
        ]


def known_until(agent: Agent) -> int:
    """K: the last instant of the agent's own events, or until when its source was read."""
    return max(agent.last_at or 0, agent.as_of or 0)


def is_stale(conn: Connection, agent: str, settings: AgentSettings) -> bool:
    """Whether the book has to be settled before it is read."""
    book = positions.book_of(conn, agent)
    return book is None or book[0] is not None or book[1] != settings.fingerprint


def opening_of(conn: Connection, agent: str) -> WalletOpening:
    """How the settled book says the agent's equity began."""
    book = positions.book_of(conn, agent)
    return msgspec.convert(book[2] if book else {}, WalletOpening)


def history_of(conn: Connection, agent: str, settings: AgentSettings, before: int) -> History:
    """Everything that resolved before an instant, for the cumulative side of the audit."""
    latest = None if before >= FOREVER else entry_day(before, settings.options.rules)
    return outcomes_until(conn, agent, latest).before(before)


def read_rows(
    conn: Connection, agent: str, *, opened_before: int, since: int | None = None
) -> list[PositionSummary]:
    """The book's positions opened before an instant, oldest first; with `since` those open or resolved since then."""
    rows = []
    for row in positions.positions(conn, agent, opened_before=opened_before, alive_at=since):
        citations = _CITATIONS.decode(row.told)
        rows.append(
            PositionSummary(
                position=row.position,
                kind=row.kind,
                instrument=row.instrument,
                strategy=row.strategy,
                side=row.side,
                opened_at=row.opened_at,
                closed_at=row.closed_at,
                flagged_at=row.flagged_at,
                final_pnl=row.final_pnl,
                vs_inaction=row.vs_inaction,
                notional=row.notional,
                risk=row.risk,
                exit_outcome=row.exit_outcome,
                exit_resolved_at=row.exit_resolved_at,
                implausible_pnl=row.implausible_pnl,
                decisions=tuple(Cited(c[0], c[1], c[2], tuple(c[3])) for c in citations["decisions"]),
                increases=tuple((tuple(cites), pnl) for cites, pnl in citations["increases"]),
            )
        )
    return rows
