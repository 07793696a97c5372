"""What positions and their fills realised as venues count it: at average cost, with and without what was paid for it."""

from __future__ import annotations

from bisect import bisect_right
from math import fsum
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from retro.accounting.fills import terms_of
from retro.accounting.prices import base_and_quote
from retro.kernels.lots import LotBook

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory

__all__ = ["FillResult", "PaidParts", "fill_results", "is_counted_at_par", "margin_basis", "paid_parts"]

_AT = attrgetter("at")


class FillResult(NamedTuple):
    """What one fill realised before fees, at average cost (0 of one that only opens), and its fee (> 0 charged).

    `basis` is what the position cost before fees that is open after it, below 0 of a short. All in base currency;
    `is_fee_priced` False: the fee was taken in an asset that nothing ever priced.
    """

    id: str
    at: int
    gross: float
    fee: float
    basis: float
    is_fee_priced: bool = True


class PaidParts(NamedTuple):
    """Of what a position made: its fees and gas (> 0 charged), and its funding (> 0 received). Base currency."""

    fees: float
    funding: float


def fill_results(track: PositionHistory, prices: Prices) -> list[FillResult]:
    """The fills of a position in the order of its replay, whatever method its lots are matched by."""
    lots, results = LotBook("average"), list[FillResult]()
    for fill in track.fills:
        instrument = fill.instrument or track.position.instrument
        terms = terms_of(fill, instrument, prices)
        gross = lots.trade(terms.quantity, terms.told_price).pnl
        asset = terms.fee_asset
        is_priced = asset is None or prices.quote(asset, fill.at) is not None
        results.append(FillResult(fill.id, fill.at, gross, terms.paid, lots.basis, is_priced))
    return results


def paid_parts(track: PositionHistory) -> PaidParts:
    """What a position's result has been reduced by, and what funding added to it."""
    gas = track.knots[-1].gas if track.knots else 0.0
    funding = fsum(booking.amount for booking in track.bookings if booking.component == "funding")
    return PaidParts(fsum([gas, *(trade.fee for trade in track.trades)]), funding)


def is_counted_at_par(track: PositionHistory, prices: Prices) -> bool:
    """Whether a unit of what the position is quoted in is a unit of the base currency: no rate comes between figures."""
    quote = base_and_quote(track.position.instrument)[1]
    return quote is None or prices.at_par(quote)


def margin_basis(results: Sequence[FillResult], at: int) -> float:
    """What an open perp has cost before fees after the events of an instant: money that never left a venue's account."""
    count = bisect_right(results, at, key=_AT)
    return results[count - 1].basis if count else 0.0
