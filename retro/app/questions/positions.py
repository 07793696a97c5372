"""The positions of an agent, with what they made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retro.app.questions.bounds import ListPart, part_of
from retro.app.settlement.book import listed_rows
from retro.app.settlement.settle import settled_book
from retro.errors import UnknownError
from retro.periods import format_instant
from retro.store.books import pages

if TYPE_CHECKING:
    from retro.app.questions.bounds import ListBounds
    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.position.summary import PositionSummary
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["PositionOverview", "book_part", "count_positions", "overview_of", "positions"]


@dataclass(frozen=True, slots=True)
class PositionOverview:
    """A position: instants in microseconds, money in the agent's currency; figures are None while it is open.

    `spark` is its way in 24 bytes, from 0, its `mae`, to 255, its `mfe`.
    """

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
    mfe: float | None
    mae: float | None
    regret: float | None
    spark: bytes | None

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


def positions(
    store: Store, agent: Agent, settings: AgentSettings, bounds: ListBounds
) -> ListPart[PositionOverview]:
    """Positions of the agent in order of their entries; the cursor is the id of one of them."""
    with settled_book(store, agent.name, settings, measured=False) as book:
        rows, following = book_part(book, bounds)
    return ListPart(tuple(overview_of(row, agent.name) for row in rows), following)


def book_part(book: SettledBook, bounds: ListBounds) -> ListPart[PositionSummary]:
    """The same as rows of a book that is open."""
    place = None if bounds.after is None else pages.place_of(book.conn, book.name, bounds.after)
    if bounds.after is not None and place is None:
        raise UnknownError(
            f"after: agent {book.name} has no position {bounds.after!r}; name one that `retro positions` lists"
        )
    rows = listed_rows(book.conn, book.name, limit=bounds.with_one_more, after=place, newest=bounds.newest)
    return part_of(rows, bounds, lambda row: row.position)


def count_positions(store: Store, agent: Agent) -> int:
    """How many positions the agent's book holds."""
    with store.read() as conn:
        return pages.count_positions(conn, agent.name)


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
        mfe=row.mfe,
        mae=row.mae,
        regret=row.regret,
        spark=row.spark,
    )
