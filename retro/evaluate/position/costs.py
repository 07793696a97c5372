"""What trading and running cost: fees, slippage, gas, inference and data."""

from __future__ import annotations

from collections import defaultdict
from math import fsum
from typing import TYPE_CHECKING, Final

from retro.report import Costs, PnlAttribution

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory, SignedFill
    from retro.model import Cost, Decision

__all__ = ["costs", "fees_between", "slippage"]

_THROUGH: Final = 1.0 + 1e-9


def fees_between(track: PositionHistory, start: int, end: int) -> float:
    """Trading fees of the fills of a stretch of time, in base currency."""
    return fsum(trade.fee for trade in track.trades if start <= trade.at < end)


def slippage(tracks: Iterable[PositionHistory], prices: Prices, start: int, end: int) -> float | None:
    """Side x quantity x (fill - mark at its decision) over fills that have both; None when none has."""
    parts = []
    for track in tracks:
        line = prices.line(track.position.instrument)
        if not track.is_fill_based or track.flagged_at is not None or not len(line.t):
            continue
        inventory = 0.0
        for trade in track.trades:
            decided = _decided(track.decisions, trade, inventory)
            inventory += trade.quantity
            i = -1 if decided is None else line.index(decided)
            if start <= trade.at < end and i >= 0:
                parts.append(trade.quantity * (trade.price - float(line.price[i])))
    return fsum(parts) if parts else None


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
