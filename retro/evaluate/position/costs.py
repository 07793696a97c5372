"""What trading and running cost: fees, slippage, gas, inference and data."""

from __future__ import annotations

from collections import defaultdict
from math import fsum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from retro.accounting.prices import MAX_AGE
from retro.kernels.series import fresh_for, median_gap
from retro.periods import DAY, SECOND
from retro.report import Costs, PnlAttribution

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retro.accounting.movements import SignedFill
    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.model import Cost, Decision

__all__ = ["NO_SLIPPAGE", "Slippage", "costs", "fees_between", "slippage"]

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


def slippage(tracks: Iterable[PositionHistory], prices: Prices, start: int, end: int) -> Slippage:
    """Side x quantity x (fill - price asked for) over the fills of a stretch of time; None when none can be measured.

    Where no price was asked for, the mark at the decision stands for it, if it is as fresh as a checkpoint's must be:
    an older one would book the market's move since then as slippage.
    """
    parts, ages = [], []
    for track in tracks:
        if not track.is_fill_based or track.flagged_at is not None:
            continue
        inventory = 0.0
        for trade in track.trades:
            before, inventory = inventory, inventory + trade.quantity
            if not start <= trade.at < end:
                continue
            if trade.requested is not None:
                parts.append(trade.quantity * (trade.price - trade.requested))
                continue
            mark = _mark_at_decision(track, prices, _decided(track.decisions, trade, before))
            if mark is not None:
                parts.append(trade.quantity * (trade.price - mark.price))
                ages.append(mark.age / SECOND)
    return Slippage(fsum(parts) if parts else None, fsum(ages) / len(ages) if ages else None)


class _AgedMark(NamedTuple):
    """A price and how old it was, in microseconds."""

    price: float
    age: int


def _mark_at_decision(track: PositionHistory, prices: Prices, decided: int | None) -> _AgedMark | None:
    """The mark a decision was made at; None where it is too old to say what was meant, or there is none."""
    line = prices.line(track.position.instrument)
    i = -1 if decided is None else line.index(decided)
    if i < 0 or decided is None:
        return None
    age = decided - int(line.t[i])
    until = decided if track.closed_at is None else track.closed_at
    gap = median_gap(line.t, track.opened_at - DAY, until)
    fresh = max(_AT_ONCE, float(fresh_for(np.nan if gap is None else gap, 0)))
    if age > min(fresh, MAX_AGE):
        return None
    return _AgedMark(float(line.price[i]), age)


def _decided(decisions: Iterable[Decision], trade: SignedFill, inventory: float) -> int | None:
    """When a trade was decided: the last decision to trade that way. None for a stop that nobody decided on."""
    fits = {"adjust"}
    if trade.quantity * inventory >= 0 or abs(trade.quantity) > abs(inventory) * _THROUGH:
        fits |= {"enter", "increase"}
    if trade.quantity * inventory < 0:
        fits |= {"exit", "reduce"}
    return max((d.at for d in decisions if d.action in fits and d.at <= trade.at), default=None)


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
