"""The market of a period: the pairs an agent traded or watched, equally weighted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.kernels.returns import market_change
from retro.report import Market

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.evaluate.inputs import Inputs
    from retro.report import Risk

__all__ = ["market_of"]


def market_of(inputs: Inputs, tracks: Iterable[PositionHistory], risk: Risk) -> Market:
    """What the pairs of these positions and of the period's decisions did in it; `risk` has the agent's own return.

    From the period's start, or the agent's first event if that is later, to its end or K. A pair without a fresh mark at
    both ends is left out and named.
    """
    start = max(inputs.period.start, inputs.born_at)
    end = min(inputs.period.end, inputs.known_until)
    pairs = {track.position.instrument: inputs.prices for track in tracks if track.is_fill_based}
    for decision in inputs.decisions:
        if decision.instrument:
            pairs.setdefault(decision.instrument, inputs.watched)
    first, last, without = [], [], []
    for pair, prices in sorted(pairs.items()):
        before, after = _mark(prices, pair, start), _mark(prices, pair, end)
        if before is None or after is None or end <= start:
            without.append(pair)
        else:
            first.append(before)
            last.append(after)
    change = market_change(first, last)
    reasons, own_return = {}, risk.time_weighted_return
    if change is None:
        reasons["change"] = (
            "no pair has a mark at both ends of the period" if pairs else "no pair was traded or watched"
        )
    if change is None or own_return is None:
        reasons["over_market"] = reasons.get("change") or risk.reasons["time_weighted_return"]
    return Market(
        change=change,
        pairs=len(first),
        left_out=without,
        over_market=None if change is None or own_return is None else own_return - change,
        reasons=reasons,
    )


def _mark(prices: Prices, pair: str, at: int) -> float | None:
    """The pair's price, of a mark no older than a day; a fill's price is none."""
    quote = prices.quote(pair, at)
    return None if quote is None or quote.provisional or quote.price <= 0 else quote.price
