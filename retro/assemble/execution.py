"""What trading and running cost: fees, slippage, gas, inference and data."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from math import fsum
from typing import TYPE_CHECKING

from retro.report import Costs, PnlAttribution

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retro.assemble.prices import Prices
    from retro.assemble.track import Track
    from retro.model import Cost

__all__ = ["costs", "fees_between", "slippage"]


def fees_between(track: Track, start: int, end: int) -> float:
    """Trading fees of the fills of a stretch of time, in base currency."""
    return fsum(trade.fee for trade in track.trades if start <= trade.at < end)


def slippage(tracks: Iterable[Track], prices: Prices, start: int, end: int) -> float | None:
    """Side x quantity x (fill - mark at its decision) over fills that have both; None when none has."""
    parts = []
    for track in tracks:
        line = prices.line(track.position.instrument)
        if not track.is_fill_based or track.flagged_at is not None or not len(line.t):
            continue
        told = sorted(decision.at for decision in track.decisions)
        for trade in track.trades:
            decided = bisect_right(told, trade.at)
            i = line.index(told[decided - 1]) if decided else -1
            if start <= trade.at < end and i >= 0:
                parts.append(trade.quantity * (trade.price - float(line.price[i])))
    return fsum(parts) if parts else None


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
