"""What trading and running cost: fees, slippage, gas, inference and data."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from math import fsum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from retro.accounting.prices import MAX_AGE
from retro.kernels.series import fresh_for, median_gap, median_gaps_until
from retro.periods import DAY, SECOND
from retro.report import Costs, PnlAttribution

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retro.accounting.movements import SignedFill
    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.model import Cost, Decision

__all__ = ["NO_SLIPPAGE", "Slip", "Slippage", "costs", "fees_between", "slippage", "slips_of"]

NO_SLIPPAGE: Final = "no fill has a price it was asked for at, nor a fresh mark at its decision"
"""Why slippage is absent."""

_AT_ONCE: Final = 60 * SECOND
"""A mark this old is fresh however rarely an instrument is marked."""
_THROUGH: Final = 1.0 + 1e-9


def fees_between(track: PositionHistory, start: int, end: int) -> float:
    """Trading fees of the fills of a stretch of time, in base currency."""
    return fsum(trade.fee for trade in track.trades if start <= trade.at < end)


class Slippage(NamedTuple):
    """What fills cost against the prices they were meant at, + is a cost; the mean age of the marks that took, in s."""

    amount: float | None
    mark_age_s: float | None


class Slip(NamedTuple):
    """What a fill at an instant cost against the price it was meant at, + is a cost.

    `mark_age` is that of the mark it was meant at, in microseconds; None where its price was asked for.
    """

    at: int
    amount: float
    mark_age: int | None


def slips_of(track: PositionHistory, prices: Prices) -> list[Slip]:
    """Side x quantity x (fill - price asked for) of each fill of a position that can be measured, in order of time.

    Where no price was asked for, the mark at the decision stands for it, if it is as fresh as a checkpoint's must be:
    an older one would book the market's move since then as slippage.
    """
    if not track.is_fill_based or track.flagged_at is not None:
        return []
    out: list[Slip] = []
    inventory, deciding, marks = 0.0, _Deciding(track.decisions), _MarksAtDecisions(track, prices)
    for trade in track.trades:
        before, inventory = inventory, inventory + trade.quantity
        if trade.requested is not None:
            out.append(Slip(trade.at, trade.quantity * (trade.price - trade.requested), None))
            continue
        mark = marks.at(deciding.last(trade, before))
        if mark is not None:
            out.append(Slip(trade.at, trade.quantity * (trade.price - mark.price), mark.age))
    return out


def slippage(slips: Iterable[Slip], start: int, end: int) -> Slippage:
    """What the fills of a stretch of time cost; None when none of them can be measured."""
    inside = [slip for slip in slips if start <= slip.at < end]
    ages = [slip.mark_age / SECOND for slip in inside if slip.mark_age is not None]
    return Slippage(
        fsum(slip.amount for slip in inside) if inside else None, fsum(ages) / len(ages) if ages else None
    )


class _AgedMark(NamedTuple):
    """A price and how old it was, in microseconds."""

    price: float
    age: int


class _MarksAtDecisions:
    """The marks that the decisions of one position were made at."""

    def __init__(self, track: PositionHistory, prices: Prices) -> None:
        self._track = track
        self._line = prices.line(track.position.instrument)
        self._fresh_at: dict[int, float] = {}

    def at(self, decided: int | None) -> _AgedMark | None:
        """The mark a decision was made at; None where it is too old to say what was meant, or there is none."""
        i = -1 if decided is None else self._line.index(decided)
        if i < 0 or decided is None:
            return None
        age = decided - int(self._line.t[i])
        if age > MAX_AGE or (age > _AT_ONCE and age > self._fresh(decided)):
            return None
        return _AgedMark(float(self._line.price[i]), age)

    def _fresh(self, decided: int) -> float:
        """How old a mark may be at a decision: by the marks until the close, of an open position until the decision."""
        if not self._fresh_at:  # nearly every decision has a mark that is fresh whatever the others are
            closed, since = self._track.closed_at, self._track.opened_at - DAY
            instants = np.array(sorted({decision.at for decision in self._track.decisions}), dtype=np.int64)
            if closed is None:
                gaps = median_gaps_until(self._line.t, since, instants)
            else:
                gap = median_gap(self._line.t, since, closed)
                gaps = np.full(len(instants), np.nan if gap is None else gap)
            self._fresh_at = dict(zip(instants.tolist(), fresh_for(gaps, 0).tolist(), strict=True))
        return self._fresh_at[decided]


class _Deciding:
    """The instants at which something was decided, in order of time, by what it decides: to change, put in, take out."""

    def __init__(self, decisions: Iterable[Decision]) -> None:
        self._changed: list[int] = []
        self._opened: list[int] = []
        self._closed: list[int] = []
        for decision in decisions:  # in order of time: that is how a position is replayed
            if decision.action in {"enter", "increase"}:
                self._opened.append(decision.at)
            elif decision.action in {"exit", "reduce"}:
                self._closed.append(decision.at)
            elif decision.action == "adjust":
                self._changed.append(decision.at)

    def last(self, trade: SignedFill, inventory: float) -> int | None:
        """When a trade was decided: the last decision to trade that way. None for a stop that nobody decided on."""
        fits = [self._changed] if self._changed else []
        if trade.quantity * inventory >= 0 or abs(trade.quantity) > abs(inventory) * _THROUGH:
            fits.append(self._opened)
        if trade.quantity * inventory < 0:
            fits.append(self._closed)
        decided = [instants[count - 1] for instants in fits if (count := bisect_right(instants, trade.at))]
        return max(decided, default=None)


def costs(pnl: PnlAttribution, facts: Iterable[Cost], prices: Prices) -> Costs:
    """Gas, inference and data, and what each tier of inference cost."""
    tiers: dict[str, list[float]] = defaultdict(list)
    tokens_in = tokens_out = 0
    for cost in facts:
        tokens_in += cost.tokens_in or 0
        tokens_out += cost.tokens_out or 0
        if cost.tier is not None:
            worth = (
                float(cost.amount)
                if cost.amount is not None
                else float(cost.quantity or 0) * prices.price(str(cost.asset), cost.at)
            )
            tiers[cost.tier].append(worth)
    return Costs(
        gas=pnl.gas_costs,
        inference=pnl.inference_costs,
        data=pnl.data_costs,
        by_tier={tier: fsum(parts) for tier, parts in sorted(tiers.items())},
        tokens_in=tokens_in,
        tokens_out=tokens_out,
    )
