"""An agent's closed trades beside their twins: the trades, and all that is known of their instruments by K."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from retro.app.settlement.audit import seed_of_life
from retro.app.settlement.price_lines import MarkReach, load_marks
from retro.app.settlement.tracks import Extent, load_tracks
from retro.evaluate.luck.trades import closed_trade
from retro.evaluate.luck.twins import past_of, spreads_of
from retro.evaluate.position.life import Lookahead, PositionPath

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from retro.accounting.prices import Prices
    from retro.app.settlement.book import SettledBook
    from retro.evaluate.luck.trades import ClosedTrade
    from retro.report.evaluators.luck import TwinSpread

__all__ = ["closed_trades", "compare_with_twins", "known_marks"]

_CHUNK: Final = 4000
"""Positions replayed together."""


def closed_trades(book: SettledBook, names: Sequence[str], until: int) -> Iterator[ClosedTrade]:
    """Those of some positions that were spot or perp trades and closed by an instant."""
    horizon = Lookahead(until + 1, until, until, book.settings.options.offsets)
    extent = Extent(until, until + 1, until, until)
    for first in range(0, len(names), _CHUNK):
        loaded = load_tracks(book.life, book.settings, names[first : first + _CHUNK], extent)
        for track in loaded.tracks.values():
            trade = closed_trade(PositionPath(track, horizon, loaded.prices))
            if trade is not None:
                yield trade


def known_marks(book: SettledBook, instruments: Sequence[str], until: int) -> Prices:
    """All marks of some instruments up to an instant."""
    return load_marks(book.life, book.settings, instruments, MarkReach(0, until, until))


def compare_with_twins(book: SettledBook, names: Sequence[str]) -> dict[str, TwinSpread]:
    """Of those of some positions that were closed trades by K what their twins made, by position.

    The marks of one instrument are in memory at a time.
    """
    until, seed, instrument = book.known_until, seed_of_life(book.name), attrgetter("instrument")
    trades = sorted(closed_trades(book, names, until), key=instrument)
    spreads: dict[str, TwinSpread] = {}
    for symbol, group in groupby(trades, key=instrument):
        line = past_of(known_marks(book, [symbol], until), symbol, until)
        spreads |= spreads_of([*group], line, seed)
    return spreads
