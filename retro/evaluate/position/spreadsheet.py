"""A closed position in one row: every figure that a spreadsheet can hold, without its path."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from retro.evaluate.position.alternatives import vs_hold, vs_pair
from retro.evaluate.position.costs import fees_between, slippage, slips_of
from retro.evaluate.position.excursions import FROM_THE_BOT
from retro.evaluate.position.life import PositionPath, in_r
from retro.evaluate.position.measures import endings_of
from retro.evaluate.position.retrospective import timing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.evaluate.position.excursions import Hindsight
    from retro.evaluate.position.life import Lookahead

__all__ = ["SpreadsheetRow", "spreadsheet_rows"]


@dataclass(frozen=True, slots=True)
class SpreadsheetRow:
    """Money in base currency, prices per unit, `held_s` in seconds; signs as in a retrospective; None: not known.

    `lower` to `liquidity` are a pool's as they were told, `funded_with` is "1.5 ETH | 100 USDC". `mfe_source` says what
    excursions rest on: "marks", or the flag of those that the bot saw itself.
    """

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
    mfe_price: float | None
    mae_price: float | None
    optimal_exit_at: str | None
    optimal_exit_pnl: float | None
    vs_hold: float | None
    vs_cash: float
    funded_with: str | None
    token0: str | None
    token1: str | None
    lower: float | None
    upper: float | None
    liquidity: float | None
    mfe_source: str | None


def spreadsheet_rows(
    tracks: Iterable[PositionHistory], horizon: Lookahead, prices: Prices
) -> list[SpreadsheetRow]:
    """The rows of positions that were closed before the horizon's end, in order."""
    lives = [PositionPath(track, horizon, prices) for track in tracks]
    return list(map(_row, lives, endings_of(lives)))


def _row(life: PositionPath, ending: Hindsight) -> SpreadsheetRow:
    track, position_fact, prices = life.track, life.track.position, life.prices
    risk, size, end = life.risk, life.sizes, life.horizon.end

    def booked(component: str) -> float:
        return fsum(b.amount for b in track.bookings if b.component == component and b.at < end)

    return SpreadsheetRow(
        venue=position_fact.venue,
        held_s=(life.exit_at - track.opened_at) / 1e6,
        quantity=size.quantity,
        entry_price=size.entry_price,
        exit_price=size.exit_price,
        risk=risk,
        pnl_r=in_r(life.final, risk),
        vs_pair=vs_pair(life),
        vs_hold=vs_hold(life),
        vs_cash=life.final,
        **timing(life, ending)._asdict(),
        fees=fees_between(track, track.opened_at, end),
        funding=booked("funding"),
        gas=booked("gas_costs"),
        slippage=slippage(slips_of(track, prices), track.opened_at, end).amount,
        exit_reason=track.exit_reason,
        funded_with=_amounts(position_fact.funded_with),
        token0=position_fact.token0,
        token1=position_fact.token1,
        lower=_number(position_fact.lower),
        upper=_number(position_fact.upper),
        liquidity=_number(position_fact.liquidity),
        mfe_source=None if ending.mfe is None else FROM_THE_BOT if ending.seen is not None else "marks",
    )


def _number(position_fact: Decimal | None) -> float | None:
    return None if position_fact is None else float(position_fact)


def _amounts(quantities: Mapping[str, Decimal] | None) -> str | None:
    return (
        " | ".join(f"{quantities[asset]:f} {asset}" for asset in sorted(quantities)) if quantities else None
    )
