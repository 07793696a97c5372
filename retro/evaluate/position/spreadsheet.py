"""A closed position in one row: every figure that a spreadsheet can hold, without its path."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from retro.evaluate.position.alternatives import vs_pair
from retro.evaluate.position.costs import fees_between, slippage
from retro.evaluate.position.excursions import hindsight
from retro.evaluate.position.life import PositionPath, in_r

if TYPE_CHECKING:
    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.evaluate.position.life import Lookahead

__all__ = ["SpreadsheetRow", "spreadsheet_row"]


@dataclass(frozen=True, slots=True)
class SpreadsheetRow:
    """Money in base currency, prices per unit, `held_s` in seconds; signs as in a retrospective; None: not known."""

    venue: str
    held_s: float
    quantity: float | None
    entry_price: float | None
    exit_price: float | None
    risk: float | None
    pnl_r: float | None
    vs_pair: float | None
    mfe: float | None
    mae: float | None
    mfe_r: float | None
    mae_r: float | None
    regret: float | None
    regret_ratio: float | None
    fees: float
    funding: float
    gas: float
    slippage: float | None
    exit_reason: str | None


def spreadsheet_row(track: PositionHistory, horizon: Lookahead, prices: Prices) -> SpreadsheetRow:
    """The row of a position that was closed before the horizon's end."""
    life = PositionPath(track, horizon, prices)
    ending = hindsight(life, *life.inside())
    risk, size, end = life.risk, life.sizes, horizon.end

    def booked(component: str) -> float:
        return fsum(b.amount for b in track.bookings if b.component == component and b.at < end)

    return SpreadsheetRow(
        venue=track.position.venue,
        held_s=(life.exit_at - track.opened_at) / 1e6,
        quantity=size.quantity,
        entry_price=size.entry_price,
        exit_price=size.exit_price,
        risk=risk,
        pnl_r=in_r(life.final, risk),
        vs_pair=vs_pair(life),
        mfe=ending.mfe,
        mae=ending.mae,
        mfe_r=in_r(ending.mfe, risk),
        mae_r=in_r(ending.mae, risk),
        regret=ending.regret.regret,
        regret_ratio=ending.regret.regret_ratio,
        fees=fees_between(track, track.opened_at, end),
        funding=booked("funding"),
        gas=booked("gas_costs"),
        slippage=slippage([track], prices, track.opened_at, end).amount,
        exit_reason=track.exit_reason,
    )
