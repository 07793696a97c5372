"""What the replay of a position notes of each event: what was booked, what moved, what a fill opened or closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from retro.model import Decision, Position

__all__ = ["Booking", "Closing", "Effect", "OpeningFill", "Retelling", "SignedFill"]


class Booking(NamedTuple):
    """An amount booked to a component of the attribution; costs, losses and IL as positive magnitudes."""

    at: int
    component: str
    amount: float


class Effect(NamedTuple):
    """What an event did to the wallet: `quantity` of `asset` received (> 0) or given (< 0), worth `value`.

    `sold`: it came out of a position (> 0; < 0: went into one) and was taken as sold, which an effect of its own settles;
    the wallet only remembers that it may have stayed. Its `value` is 0.
    """

    at: int
    asset: str
    quantity: float
    value: float
    sold: bool = False


class SignedFill(NamedTuple):
    """A fill as told: `quantity` bought (> 0) or sold (< 0), price, fee and the price asked for in base currency."""

    at: int
    quantity: float
    price: float
    fee: float
    requested: float | None = None


class OpeningFill(NamedTuple):
    """A fill that enlarged the position: price in base currency per unit."""

    at: int
    quantity: float
    price: float
    fee: float
    tag: int


class Closing(NamedTuple):
    """A fill or removal that shrank the position, and what it realised net of its own fee; `sign` -1: it shrank a short."""

    at: int
    quantity: float
    price: float
    fee: float
    realized: float
    sign: float = 1.0


class Retelling(NamedTuple):
    """What a decision or a position said before its agent corrected it, and the clock by which the correction came."""

    told_at: int
    fact: Decision | Position
