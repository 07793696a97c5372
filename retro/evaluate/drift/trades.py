"""Positions that fills opened, as trades that can be held against those of another agent of the same strategy."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Final, Literal

from retro.accounting.order import natural_key
from retro.evaluate.position.foresight import cites_of

if TYPE_CHECKING:
    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory

__all__ = ["OPEN", "ComparedTrade", "compared_trade"]

OPEN: Final = "open"
"""The exit reason of what is still held."""
_DUST: Final = 1e-9
"""Of the quantity put in: a rest below that is rounding, not a position."""
_NOISE: Final = 1e-12
"""Of the money that moved: less than that is what sums in another order leave."""


@dataclass(frozen=True, slots=True)
class ComparedTrade:
    """A trade as sums over all its fills, however many entries and exits it had. Money in base currency.

    `sign` +1 long, -1 short; `quantity` what was put in, `cost` at what it was entered, `proceeds` at what it left, what
    is still held at its mark; `fees` with gas, `funding` with whatever else came in (> 0) while it was held. What it
    made is sign x (proceeds - cost) - fees + funding. `unfit` says why it can be in no sum, "" where it can.
    """

    name: str
    instrument: str
    sign: float
    tag: str
    opened_at: int
    closed_at: int | None
    quantity: float
    cost: float
    proceeds: float
    fees: float
    funding: float
    exit_reason: str
    unfit: str = ""
    unsure: tuple[str, ...] = ()
    """The assets in which it paid or received something whose price is old, or 0 because nobody told one."""

    @property
    def pnl(self) -> float:
        """What it made, net."""
        return fsum((self.sign * self.proceeds, -self.sign * self.cost, -self.fees, self.funding))

    @property
    def side(self) -> Literal["long", "short"]:
        """Long or short, in words."""
        return "long" if self.sign > 0 else "short"

    @property
    def order(self) -> tuple[int, tuple[str, ...], str]:
        """Sort key: by entry, then by id, whatever order they were told in."""
        return (self.opened_at, natural_key(self.name), self.name)

    def is_held(self, at: int) -> bool:
        """Whether it was held just after an instant."""
        return self.opened_at <= at and (self.closed_at is None or self.closed_at > at)


def compared_trade(track: PositionHistory, now: int, prices: Prices) -> ComparedTrade | None:
    """A position as it stood at an instant, by the marks until then; None where no fill put anything into it."""
    sign = track.sign
    entries = [trade for trade in track.trades if trade.quantity * sign > 0]
    exits = [trade for trade in track.trades if trade.quantity * sign < 0]
    quantity = fsum(abs(trade.quantity) for trade in entries)
    if not (track.is_fill_based and quantity):
        return None
    state = track.state(now + 1, now, prices)
    cost = fsum(abs(trade.quantity) * trade.price for trade in entries)
    proceeds = fsum(abs(trade.quantity) * trade.price for trade in exits)
    knot = track.knot_before(now + 1)
    fees = fsum([*(trade.fee for trade in track.trades), 0.0 if knot is None else knot.gas])
    funding = fsum(booking.amount for booking in track.bookings if booking.component == "funding")
    # what the sums do not say: what a rest was worth, or interest and the like of what has left
    unexplained = fsum((state.pnl, -sign * proceeds, sign * cost, fees, -funding))
    remainder = quantity - fsum(abs(trade.quantity) for trade in exits)
    if abs(remainder) > _DUST * quantity:
        proceeds += sign * unexplained
    else:
        funding += unexplained if abs(unexplained) > _NOISE * (cost + proceeds) else 0.0
    closed = track.closed_at if track.closed_at is not None and track.closed_at <= now else None
    return ComparedTrade(
        name=track.position.position,
        instrument=track.position.instrument,
        sign=sign,
        tag=_tag(track),
        opened_at=track.opened_at,
        closed_at=closed,
        quantity=quantity,
        cost=cost,
        proceeds=proceeds,
        fees=fees,
        funding=funding,
        exit_reason=OPEN if closed is None else (track.exit_reason or ""),
        unfit=_unfit(track, is_priced=state.is_priced),
        unsure=tuple(sorted(track.unreliable - {track.position.instrument})),
    )


def _unfit(track: PositionHistory, *, is_priced: bool) -> str:
    if not (track.is_quoted and is_priced):
        return "no mark says what it was worth"
    return "its fills are not believed" if track.flagged_at is not None else ""


def _tag(track: PositionHistory) -> str:
    """What its first entry decision cites; "" where it cites nothing."""
    entry = next((decision for decision in track.decisions if decision.action == "enter"), None)
    return "" if entry is None else ", ".join(cites_of(entry))
