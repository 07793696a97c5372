"""The stops of a path in words: what a table of them says, and a cursor that goes along them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from retro.figures import duration, moment, money_of
from retro.present.page.blocks import tone_of
from retro.present.path import path_stops

if TYPE_CHECKING:
    from retro.present.page.blocks import PathChart, Tone

__all__ = ["StopRow", "stop_rows"]


class StopRow(NamedTuple):
    """A stop of a path: its instant, and in words when that was, how long after the entry, the PnL, which moment it is.

    `seconds` since the entry and `amount` are where it is drawn.
    """

    at: str
    moment: str
    after: str
    pnl: str
    tone: Tone
    kind: str
    name: str
    seconds: float
    amount: float


def stop_rows(block: PathChart) -> list[StopRow]:
    """One for each point of the part that is drawn, in order of time."""
    start, end = block.window or (0.0, float("inf"))
    stops = [stop for stop in path_stops(block.position) if start <= stop.seconds <= end]
    money = money_of(block.unit, [stop.pnl for stop in stops])
    return [
        StopRow(
            stop.at,
            moment(stop.at),
            duration(stop.seconds),
            money.change(stop.pnl),
            tone_of(stop.pnl),
            stop.kind,
            stop.name,
            stop.seconds,
            stop.pnl,
        )
        for stop in stops
    ]
