"""The positions of an agent, with what they made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retro.app.settlement.settle import settled_book
from retro.periods import format_instant

if TYPE_CHECKING:
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.position.summary import PositionSummary
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["PositionOverview", "overview_of", "positions"]


@dataclass(frozen=True, slots=True)
class PositionOverview:
    """A position: instants in microseconds, money in the agent's currency; figures are None while it is open."""

    name: str
    agent: str
    kind: str
    instrument: str
    strategy: str
    side: str | None
    opened_at: int
    closed_at: int | None
    final_pnl: float | None
    vs_inaction: float | None
    notional: float | None
    implausible: bool
    ruling: str | None

    @property
    def open(self) -> bool:
        """Whether it still is."""
        return self.closed_at is None

    def document(self) -> dict[str, Any]:
        """What `retro positions --json` prints of it; the first columns of its CSV."""
        ruling = self.ruling or ""
        flags = (("open", self.open), ("implausible", self.implausible), (ruling, bool(ruling)))
        return {
            "position_id": self.name,
            "agent": self.agent,
            "kind": self.kind,
            "instrument": self.instrument,
            "strategy": self.strategy,
            "side": self.side,
            "entry_at": format_instant(self.opened_at),
            "exit_at": None if self.closed_at is None else format_instant(self.closed_at),
            "open": self.open,
            "final_pnl": self.final_pnl,
            "vs_inaction": self.vs_inaction,
            "notional": self.notional,
            "flags": ",".join(flag for flag, on in flags if on),
        }


def positions(store: Store, agent: Agent, settings: AgentSettings) -> list[PositionOverview]:
    """The agent's positions, oldest first."""
    with settled_book(store, agent.name, settings) as book:
        rows = book.positions()
    return [overview_of(row, agent.name) for row in rows]


def overview_of(row: PositionSummary, agent: str) -> PositionOverview:
    """A row of the book as it is listed."""
    return PositionOverview(
        name=row.position,
        agent=agent,
        kind=row.kind,
        instrument=row.instrument,
        strategy=row.strategy,
        side=row.side,
        opened_at=row.opened_at,
        closed_at=row.closed_at,
        final_pnl=row.final_pnl,
        vs_inaction=row.vs_inaction,
        notional=row.notional,
        implausible=row.flagged_at is not None,
        ruling=row.ruling,
    )
