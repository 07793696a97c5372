"""Closed spot and perp positions as trades that could have begun at any other moment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING

from retro.evaluate.audit.bets import since_of
from retro.evaluate.audit.citations import every_item

if TYPE_CHECKING:
    from retro.accounting.movements import Closing, OpeningFill
    from retro.evaluate.audit.rules import AuditRules
    from retro.evaluate.position.life import PositionPath
    from retro.evaluate.position.summary import PositionSummary

__all__ = ["ClosedTrade", "cited_trade", "closed_trade"]


@dataclass(frozen=True, slots=True)
class ClosedTrade:
    """What a twin has in common with its position, what the position made, and the heuristics its entry rests on.

    Instants and `duration` in microseconds, `side` +1 long or -1 short; `notional`, what was put in, and `pnl` in base
    currency; `fee_rate` all fees as a share of all that was bought and sold; `day` the owner's day of the entry, which
    like `cites` only a `cited_trade` has.
    """

    position: str
    instrument: str
    opened_at: int
    closed_at: int
    side: float
    notional: float
    fee_rate: float
    pnl: float
    day: int = 0
    cites: tuple[str, ...] = ()

    @property
    def duration(self) -> int:
        """How long it was held."""
        return self.closed_at - self.opened_at


def closed_trade(life: PositionPath) -> ClosedTrade | None:
    """A believed spot or perp position that fills opened and closed. None for any other."""
    track = life.track
    if track.position.kind not in {"spot", "perp"} or not track.is_fill_based:
        return None
    if not (life.closed and life.state.is_priced and track.flagged_at is None):
        return None
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
    )


def cited_trade(trade: ClosedTrade, row: PositionSummary, rules: AuditRules) -> ClosedTrade:
    """The trade with what its entry cites; `row` is what the book has of it.

    A heuristic counts where the first entry decision that cites it was made while its text stood, as in the audit.
    """
    entry, since = every_item(row, rules, rules.claims)[0], since_of(rules)
    cites = tuple(name for name in entry.cites if name not in since or entry.cited_at(name) >= since[name])
    return replace(trade, day=entry.day, cites=cites)
