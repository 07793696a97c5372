"""What the facts of a bot's source span: agents, pairs, and the days on which each pair was held."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from retro.periods import DAY

if TYPE_CHECKING:
    from retro.ingest.freqtrade.trades import Trade
    from retro.model import EventRow

__all__ = ["AFTER", "BEFORE", "PairTraded", "Span"]

BEFORE: Final = DAY
AFTER: Final = 31 * DAY
"""Marks are taken from this long before the first entry to this long after the last exit; of what is open, to now."""


@dataclass(slots=True)
class PairTraded:
    """How a pair was traded: its timeframes, the UTC days (counted from the epoch) on which some of it was held."""

    timeframes: set[str] = field(default_factory=set)
    days: set[int] = field(default_factory=set)
    spot: bool = False
    futures: bool = False
    settled_name: str = ""
    """Its name as a future: freqtrade once left out the currency it is settled in, the stake."""
    open_since: int | None = None
    """Since which of those days it is held; None when it is not."""

    def add(self, trade: Trade, first: int, last: int, *, is_open: bool) -> None:
        """Take in a trade of it that was held from one instant to another, or is."""
        self.timeframes.add(trade.timeframe)
        self.days.update(range(first // DAY, last // DAY + 1))
        if ":" in trade.pair or trade.mode == "FUTURES":
            self.futures = True
            self.settled_name = trade.pair if ":" in trade.pair else f"{trade.pair}:{trade.stake}"
        else:
            self.spot = True
        if is_open:
            self.open_since = min(first // DAY, first // DAY if self.open_since is None else self.open_since)

    def days_until(self, end: int) -> set[int]:
        """The days on which some of it was held, what is open up to an instant."""
        return self.days | set(() if self.open_since is None else range(self.open_since, end // DAY + 1))


@dataclass(slots=True)
class Span:
    """What the facts so far span: agents with their base currency, pairs and how they were traded, first and last."""

    agents: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    pairs: dict[str, PairTraded] = field(default_factory=dict)
    first: int | None = None
    last: int = 0
    touched: int = 0
    exchanges: set[str] = field(default_factory=set)
    unfilled: int = 0
    """Trades of which nothing was ever filled."""

    def add(self, trade: Trade, rows: list[EventRow], origin: str) -> None:
        """Take in a trade, those of its facts that are told, and what tells them."""
        self.touched = max(self.touched, trade.touched)
        if not rows:
            return
        self.agents[rows[0].agent] = trade.stake
        self.origins[rows[0].agent] = origin
        self.exchanges |= {trade.exchange} - {""}
        times = [row.at for row in rows]
        first, last = min(times), max(times)
        self.first = first if self.first is None else min(self.first, first)
        self.last = max(self.last, last)
        pair = self.pairs.setdefault(trade.pair, PairTraded())
        pair.add(trade, first, last, is_open=rows[-1].type != "exit")

    def window(self, pair: str, as_of: int | None, now: int) -> tuple[int, int]:
        """From when to when marks of a pair are wanted."""
        last = self.last
        if any(other.open_since is not None for other in self.pairs.values()):
            last = max(last, self.horizon(as_of))
        held = as_of is None and self.pairs[pair].open_since is not None
        return (self.first or 0) - BEFORE, now if held else min(last + AFTER, now)

    def horizon(self, as_of: int | None) -> int:
        """How far the source was seen."""
        return self.touched if as_of is None else as_of
