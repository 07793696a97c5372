"""What a source computed itself: a figure to hold ours against, never one that is booked."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, NamedTuple

__all__ = ["CheckSubject", "PaidPart", "SourceCheck"]

CheckSubject = Literal["realized_pnl", "balance", "holding", "equity"]
PaidPart = Literal["fees", "funding"]


class SourceCheck(NamedTuple):
    """One figure that a source states of an agent at an instant.

    `subject` is the position of a `realized_pnl`, the asset of a `balance` or `holding` (quantity after the events of
    `at`), and "" of an `equity`. With `fill` (a fill's id) the realised result is that of this one fill, by average
    cost. `net_of` names what a realised result has been reduced by already. `tolerance` is the largest difference
    that the rounding of the source explains, > 0, in the unit of `stated`; `at` is microseconds since 1970, UTC.
    `booked` is what a reader added to its facts for this figure's sake: it is left out of ours.
    """

    agent: str
    what: CheckSubject
    subject: str
    at: int
    stated: Decimal
    tolerance: Decimal
    fill: str | None = None
    net_of: tuple[PaidPart, ...] = ()
    booked: Decimal = Decimal(0)
