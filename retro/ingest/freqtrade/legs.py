"""What a freqtrade trade's filled orders amount to: quantities that net to zero, and the profit its row states.

freqtrade's own arithmetic: an exit earns quantity x price less `fee_close`; its entries cost their average price plus
`fee_open` (shorts: the signs turned); funding is added. Only what was sold counts: a fee taken in the coin, and dust,
stay behind unsold. So the entries of a closed trade shrink to the quantity sold, each by the part of it that average
cost leaves in the dust; those of an open trade shrink to what its row still holds, which is what the bot will sell,
so that its entries read the same after it has closed.

Source: freqtrade's documentation ("Backtesting", "Leverage"), and the rows of real databases.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.ingest.freqtrade.trades import ZERO, Leg, Trade

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Legs", "SettledLegs", "profit", "settled"]

Legs = tuple[Leg, ...]
"""Entries, then exits, each in the order of time."""

NOISE: Final = Decimal("1e-12")
"""Relative differences of quantities up to here come from binary floating point, not from the exchange."""
DUST: Final = Decimal("0.02")
"""An open trade whose row lies further than this below its orders is half updated, not short of dust."""
_DIGITS: Final = Context(prec=15)
"""What a double keeps; shrunk quantities are cut to it so that they do not depend on how they were summed."""


class SettledLegs(NamedTuple):
    """A trade's legs with their fees, and what did not fit: "" or a sentence.

    `stated` is the result that the row states and that says something of the legs; None where it does not. `booked` is
    what the last leg's fee was changed by to come to it, `tolerance` what rounding explains; in the stake currency.
    """

    legs: Legs
    misfit: str = ""
    stated: Decimal | None = None
    booked: Decimal = ZERO
    tolerance: Decimal = ZERO


def settled(trade: Trade) -> SettledLegs:
    """The trade's legs, settled.

    A closed trade's legs come to the profit its row states. Where no reading of its orders does, the difference is
    booked as a fee of the last exit, and the sentence names it.
    """
    readings = [_charged(trade, legs) for legs in _readings(trade)]
    legs = readings[0]
    if trade.open or trade.profit is None or not legs:
        return SettledLegs(legs)
    allowed = Decimal("1e-6") + NOISE * 1000 * sum((leg.quantity * leg.price for leg in legs), ZERO)
    for reading in readings:
        gap = trade.profit - profit(trade, reading)
        if abs(gap) <= allowed:
            # freqtrade rounds to eight digits: booked too, or a trade it calls even could pass for a win
            return SettledLegs(_fee_of_exit(reading, gap), "", trade.profit, gap, allowed)
    computed_profit = profit(trade, legs)
    gap = trade.profit - computed_profit
    if trade.realized and abs(trade.realized - computed_profit) <= allowed:
        # freqtrade states the last leg alone when dust keeps a trade from reaching zero
        return SettledLegs(legs, "", trade.realized, ZERO, allowed)
    if trade.mode == "MARGIN" and gap < 0:
        # interest on what was borrowed, which nothing but the row's result tells: so it says nothing of the legs
        return SettledLegs(_funded(legs, gap))
    misfit = (
        f"its orders come to {computed_profit:.8f} {trade.stake}, its row says {trade.profit:.8f}: the row is believed, "
        "and the difference is booked as a fee of the exit"
    )
    return SettledLegs(_fee_of_exit(legs, gap), misfit, trade.profit, gap, allowed)


def profit(trade: Trade, legs: Legs) -> Decimal:
    """What the legs made: out less in, less fees, plus funding; in the stake currency."""
    money = ZERO
    for leg in legs:
        value = leg.quantity * leg.price
        money += (value if leg.entry == trade.short else -value) - leg.fee + leg.funding
    return money


def _readings(trade: Trade) -> Iterator[Legs]:
    """The ways to read the trade, the most trusted first."""
    legs = trade.legs
    if trade.open or not legs:
        yield _trimmed(legs, trade.amount)
        return
    remainder = _remainder(legs)
    closing: Legs = ()
    if remainder > 0 and trade.close_rate and trade.close_at is not None:
        exit_leg = Leg("exit", entry=False, quantity=remainder, price=trade.close_rate, at=trade.close_at)
        closing = (replace(exit_leg, requested=trade.close_requested),)
    if all(leg.entry for leg in legs):
        if not closing:
            raise ValueError("it is closed, but neither its orders nor its row say when and at what price")
        legs, closing = legs + closing, ()
    for candidate in (legs, legs + closing) if closing else (legs,):
        whole = _netted(candidate)
        funding = sum((leg.funding for leg in whole), ZERO)
        if funding:
            yield whole
        yield _funded(whole, trade.funding - funding)
        if not funding and trade.funding:
            yield whole


def _remainder(legs: Legs) -> Decimal:
    """What the entries took in and the exits have not given back."""
    return sum((leg.quantity if leg.entry else -leg.quantity for leg in legs), ZERO)


def _trimmed(legs: Legs, amount: Decimal) -> Legs:
    """An open trade's legs, the entries shrunk to what the row says is held when that is short of dust only."""
    remainder = _remainder(legs)
    if amount and NOISE * remainder < remainder - amount <= DUST * remainder:
        return _in_order(_shrunk(legs, remainder - amount))
    return _in_order(legs)


def _netted(legs: Legs) -> Legs:
    """A closed trade's legs, the entries shrunk to the quantity sold; the last exit takes what rounding leaves."""
    remainder = _remainder(legs)
    if abs(remainder) > NOISE * sum((leg.quantity for leg in legs), ZERO):
        legs = _shrunk(legs, remainder)
    legs = _in_order(legs)
    return (*legs[:-1], replace(legs[-1], quantity=legs[-1].quantity + _remainder(legs)))


def _shrunk(legs: Legs, dust: Decimal) -> Legs:
    """The legs with `dust` taken out of the entries, each by its share of what average cost says is left."""
    parts = [ZERO] * len(legs)
    pool = bought = ZERO
    for number, leg in enumerate(legs):
        if leg.entry:
            parts[number] = leg.quantity
            pool += leg.quantity
            bought += leg.quantity
        elif pool > 0:
            parts = [part * (1 - leg.quantity / pool) for part in parts]
            pool -= leg.quantity
        else:
            pool -= leg.quantity
    if abs(sum(parts, ZERO) - pool) > NOISE * bought or not pool:
        parts, pool = [leg.quantity if leg.entry else ZERO for leg in legs], bought
    quantities = [
        _DIGITS.plus(leg.quantity - part * dust / pool) if leg.entry else leg.quantity
        for leg, part in zip(legs, parts, strict=True)
    ]
    if min(quantities) <= 0:
        raise ValueError("its orders sell what they never bought")
    return tuple(replace(leg, quantity=quantity) for leg, quantity in zip(legs, quantities, strict=True))


def _in_order(legs: Legs) -> Legs:
    return tuple(sorted(legs, key=lambda leg: (not leg.entry, leg.at)))


def _charged(trade: Trade, legs: Legs) -> Legs:
    return tuple(
        replace(leg, fee=leg.quantity * leg.price * (trade.fee_open if leg.entry else trade.fee_close))
        for leg in legs
    )


def _funded(legs: Legs, amount: Decimal) -> Legs:
    return (*legs[:-1], replace(legs[-1], funding=legs[-1].funding + amount))


def _fee_of_exit(legs: Legs, gap: Decimal) -> Legs:
    return (*legs[:-1], replace(legs[-1], fee=legs[-1].fee - gap))
