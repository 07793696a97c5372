"""The positions of an agent, with what they made."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from retro.app.questions.bounds import ListPart, part_of
from retro.app.questions.screens.signs import BookLag, book_lag
from retro.app.settlement.book import SettledBook, listed_rows, row_at
from retro.app.settlement.settle import settled_book
from retro.errors import UnknownError
from retro.report.overviews import PositionOverview
from retro.report.today import ClosedMoney
from retro.store.books import pages
from retro.store.books.totals import totals_of
from retro.store.conditions import EVERY_ROW
from retro.store.life import LifeReader

if TYPE_CHECKING:
    from retro.app.questions.bounds import ListBounds
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.position.summary import PositionSummary
    from retro.store.conditions import Selection
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = [
    "book_part",
    "closed_money",
    "count_positions",
    "overview_of",
    "positions",
    "stored_position",
    "stored_positions",
]


def positions(
    store: Store, agent: Agent, settings: AgentSettings, bounds: ListBounds, selection: Selection = EVERY_ROW
) -> ListPart[PositionOverview]:
    """Positions of the agent in order of their entries, or as selected; the cursor is the id of one of them."""
    with settled_book(store, agent.name, settings, measured=False) as book:
        rows, following = book_part(book, bounds, selection)
    return ListPart(tuple(overview_of(row, agent.name) for row in rows), following)


def stored_positions(
    store: Store, agent: Agent, settings: AgentSettings, bounds: ListBounds, selection: Selection = EVERY_ROW
) -> tuple[ListPart[PositionOverview], BookLag | None]:
    """The same as the book has them now, and what it does not know yet: a reader settles nothing."""
    with store.read() as conn:
        book = SettledBook(LifeReader(conn, agent.name), agent, settings)
        rows, following = book_part(book, bounds, selection)
        behind = book_lag(conn, agent.name, settings)
    return ListPart(tuple(overview_of(row, agent.name) for row in rows), following), behind


def stored_position(store: Store, agent: Agent, name: str, as_of: int | None = None) -> PositionOverview:
    """One position as the book has it now, or knew it at `as_of`; `UnknownError` where it has none of that name."""
    with store.read() as conn:
        place = pages.place_of(conn, agent.name, name)
        if place is None or (as_of is not None and place.opened_at > as_of):
            raise UnknownError(
                f"agent {agent.name} has no position {name!r}; `retro positions` lists what it has"
            )
        return overview_of(row_at(conn, agent.name, place, as_of), agent.name)


def book_part(
    book: SettledBook, bounds: ListBounds, selection: Selection = EVERY_ROW
) -> ListPart[PositionSummary]:
    """The same as rows of a book that is open."""
    place = None if bounds.after is None else pages.place_of(book.conn, book.name, bounds.after)
    if bounds.after is not None and place is None:
        raise UnknownError(
            f"after: agent {book.name} has no position {bounds.after!r}; name one that `retro positions` lists"
        )
    rows = listed_rows(
        book.conn,
        book.name,
        limit=bounds.with_one_more,
        after=place,
        newest=bounds.newest,
        selection=selection,
    )
    return part_of(rows, bounds, lambda row: row.position)


def count_positions(store: Store, agent: Agent, selection: Selection = EVERY_ROW) -> int:
    """How many positions the agent's book holds, or of those how many are selected."""
    with store.read() as conn:
        return pages.count_positions(conn, agent.name, selection)


def closed_money(store: Store, agent: Agent, currency: str, selection: Selection = EVERY_ROW) -> ClosedMoney:
    """What the agent's closed positions made, or those of them that are selected, as the book has them now.

    `counted` are those with a result that is believed; without any there is no sum. Of all of them the days are added up
    that settling keeps; sums are exact before they are rounded.
    """
    with store.read() as conn:
        if selection == EVERY_ROW:
            days = totals_of(conn, agent.name)
            closed, counted = sum(day.closed for day in days), sum(day.counted for day in days)
            made, against = [day.pnl for day in days], [day.vs_inaction for day in days]
        else:
            rows = pages.results_of(conn, agent.name, selection)
            made = [pnl for pnl, _ in rows if pnl is not None]
            against = [gap for _, gap in rows if gap is not None]
            closed, counted = len(rows), len(made)
    absent = {"pnl": "none of them has a result that is believed", "against_nothing": "none of them has one"}
    return ClosedMoney(
        currency=currency,
        closed=closed,
        counted=counted,
        pnl=fsum(made) if counted else None,
        against_nothing=fsum(against) if counted and against else None,
        reasons={name: why for name, why in absent.items() if not counted or (name != "pnl" and not against)},
    )


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
