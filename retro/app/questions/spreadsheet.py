"""Every column of an agent's positions, as `retro positions --format csv` writes them."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

from retro.app.questions.positions import overview_of
from retro.app.settlement.settle import settled_book
from retro.app.settlement.tracks import Extent, load_tracks
from retro.evaluate.position.foresight import ENTRY_ACTIONS, EXIT_ACTIONS
from retro.evaluate.position.life import Lookahead
from retro.evaluate.position.spreadsheet import SpreadsheetRow, spreadsheet_row

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.position.summary import PositionSummary
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["COLUMNS", "CellValue", "spreadsheet"]

CellValue = str | float | bool | None
_CHUNK: Final = 1000
_OVERVIEW: Final = (
    *("position_id", "agent", "kind", "instrument", "strategy", "side", "entry_at", "exit_at", "open"),
    *("final_pnl", "vs_inaction", "notional", "flags"),
)
_FIGURES: Final = tuple(field.name for field in fields(SpreadsheetRow))
COLUMNS: Final = (*_OVERVIEW, "currency", "entry_tags", "exit_tags", *_FIGURES)
"""The columns, in their order; the figures of a position that is open are empty."""


def spreadsheet(store: Store, agent: Agent, settings: AgentSettings) -> Iterator[tuple[CellValue, ...]]:
    """The agent's positions, oldest first, each with a value a column."""
    with settled_book(store, agent.name, settings) as book:
        rows = book.positions()
        for first in range(0, len(rows), _CHUNK):
            yield from _part(book, rows[first : first + _CHUNK])


def _part(book: SettledBook, rows: list[PositionSummary]) -> Iterator[tuple[CellValue, ...]]:
    now, options = book.known_until, book.settings.options
    closed = [row.position for row in rows if row.closed_at is not None]
    loaded = load_tracks(book.conn, book.name, book.settings, closed, Extent(now, now + 1, now))
    horizon = Lookahead(now + 1, now, None, options.offsets, options.use_highs_lows)
    for row in rows:
        document = overview_of(row, book.name).document()
        document["currency"] = book.settings.base_currency
        document["entry_tags"], document["exit_tags"] = _tags(row, ENTRY_ACTIONS), _tags(row, EXIT_ACTIONS)
        track = loaded.tracks.get(row.position)
        figures = None if track is None else spreadsheet_row(track, horizon, loaded.prices)
        document |= {name: None if figures is None else getattr(figures, name) for name in _FIGURES}
        yield tuple(document[name] for name in COLUMNS)


def _tags(row: PositionSummary, actions: Collection[str]) -> str:
    cites = (cite for decision in row.decisions if decision.action in actions for cite in decision.cites)
    return " | ".join(dict.fromkeys(cites))
