"""Closed spot and perp positions as trades that could have begun at any other moment."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from retro.evaluate.audit.bets import since_of
from retro.evaluate.audit.citations import every_item

if TYPE_CHECKING:
    from retro.accounting.movements import Closing, OpeningFill
    from retro.evaluate.audit.citations import AuditRules
    from retro.evaluate.position.life import PositionPath
    from retro.evaluate.position.summary import PositionSummary

__all__ = ["ClosedTrade", "closed_trade"]


@dataclass(frozen=True, slots=True)
class ClosedTrade:
    """What a twin has in common with its position, what the position made, and the heuristics its entry rests on.

    Instants and `duration` in microseconds, `side` +1 long or -1 short; `notional`, what was put in, and `pnl` in base
    currency; `fee_rate` all fees as a share of all that was bought and sold; `day` the owner's day of the entry.
    """

    position: str
    instrument: str
    opened_at: int
    closed_at: int
    side: float
    notional: float
    fee_rate: float
    pnl: float
    day: int
    cites: tuple[str, ...]

    @property
    def duration(self) -> int:
        """How long it was held."""
        return self.closed_at - self.opened_at


def closed_trade(life: PositionPath, row: PositionSummary, rules: AuditRules) -> ClosedTrade | None:
    """A believed position that fills opened and closed; `row` is what the book has of its citations. None for any other.

    A heuristic counts where the first entry decision that cites it was made while its text stood, as in the audit.
    """
    track = life.track
    if not (track.is_fill_based and life.closed and life.state.is_priced and track.flagged_at is None):
        return None
    entry, since = every_item(row, rules, rules.claims)[0], since_of(rules)
    fills: list[OpeningFill | Closing] = [*track.openings, *track.closings]
    traded = fsum(fill.quantity * fill.price for fill in fills)
    return ClosedTrade(
        position=track.position.position,
        instrument=track.position.instrument,
        opened_at=track.opened_at,
        closed_at=life.exit_at,
        side=track.sign,
        notional=life.sizes.notional or 0.0,
        fee_rate=fsum(fill.fee for fill in fills) / traded if traded else 0.0,
        pnl=life.final,
        day=entry.day,
        cites=tuple(name for name in entry.cites if name not in since or entry.cited_at(name) >= since[name]),
    )
