"""Every column of an agent's positions, as `retro positions --format csv` writes them."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

from retro.app.questions.bounds import ListPart
from retro.app.questions.positions import book_part, overview_of
from retro.app.settlement.settle import settled_book
from retro.app.settlement.tracks import Extent, load_tracks
from retro.evaluate.position.foresight import ENTRY_ACTIONS, EXIT_ACTIONS
from retro.evaluate.position.life import Lookahead
from retro.evaluate.position.spreadsheet import SpreadsheetRow, spreadsheet_rows
from retro.store.conditions import EVERY_ROW

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from retro.app.questions.bounds import ListBounds
    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.position.summary import PositionSummary
    from retro.store.conditions import Selection
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["COLUMNS", "CellValue", "spreadsheet_part"]

CellValue = str | float | bool | None
_OVERVIEW: Final = (
    *("position_id", "agent", "kind", "instrument", "strategy", "side", "entry_at", "exit_at", "open"),
    *("final_pnl", "vs_inaction", "notional", "flags"),
)
_FIGURES: Final = tuple(field.name for field in fields(SpreadsheetRow))
COLUMNS: Final = (*_OVERVIEW, "currency", "entry_tags", "exit_tags", *_FIGURES)
"""The columns, in their order; the figures of a position that is open are empty."""


def spreadsheet_part(
    store: Store, agent: Agent, settings: AgentSettings, bounds: ListBounds, selection: Selection = EVERY_ROW
) -> ListPart[tuple[CellValue, ...]]:
    """Positions of the agent with a value a column, in order of their entries or as selected: each is replayed."""
    with settled_book(store, agent.name, settings, measured=False) as book:
        rows, following = book_part(book, bounds, selection)
        return ListPart(tuple(_cells(book, rows)), following)


def _cells(book: SettledBook, rows: Sequence[PositionSummary]) -> Iterator[tuple[CellValue, ...]]:
    now, options = book.known_until, book.settings.options
    closed = [row.position for row in rows if row.closed_at is not None]
    loaded = load_tracks(book.life, book.settings, closed, Extent(now, now + 1, now))
    horizon = Lookahead(now + 1, now, None, options.offsets, options.use_highs_lows)
    figures_of = dict(
        zip(loaded.tracks, spreadsheet_rows(loaded.tracks.values(), horizon, loaded.prices), strict=True)
    )
    for row in rows:
        document = overview_of(row, book.name).document()
        document["currency"] = book.settings.base_currency
        document["entry_tags"], document["exit_tags"] = _tags(row, ENTRY_ACTIONS), _tags(row, EXIT_ACTIONS)
        figures = figures_of.get(row.position)
        document |= {name: None if figures is None else getattr(figures, name) for name in _FIGURES}
        yield tuple(document[name] for name in COLUMNS)


def _tags(row: PositionSummary, actions: Collection[str]) -> str:
    cites = (cite for decision in row.decisions if decision.action in actions for cite in decision.cites)
    return " | ".join(dict.fromkeys(cites))
