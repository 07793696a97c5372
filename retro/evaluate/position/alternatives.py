"""What else could have been done: nothing, or holding what was entered with."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from retro.evaluate.position.life import Lookahead, sizes
from retro.kernels.lots import unrounded
from retro.kernels.returns import over_holding

if TYPE_CHECKING:
    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.evaluate.position.life import PositionPath

__all__ = ["ClosedResult", "inaction", "outcome_of", "vs_hold", "vs_pair"]


class ClosedResult(NamedTuple):
    """The result of a closed position in one go."""

    final_pnl: float
    vs_inaction: float | None
    notional: float | None


def inaction(
    track: PositionHistory, final: float, exit_at: int, prices: Prices, reasons: dict[str, str]
) -> float | None:
    """final_pnl less what the assets given up at entry would have made unchanged."""
    moved = size = 0.0
    for asset, quantity in sorted((track.position.funded_with or {}).items()):
        if asset == prices.base_currency:
            continue
        entry_quote, exit_quote = prices.quote(asset, track.opened_at), prices.quote(asset, exit_at)
        if entry_quote is None or exit_quote is None:
            reasons["vs_inaction"] = f"no mark of {asset}, which was given up at entry"
            return None
        moved += float(quantity) * (exit_quote.price - entry_quote.price)
        size += float(quantity) * max(entry_quote.price, exit_quote.price)
    return unrounded(final - moved, size)


def vs_hold(life: PositionPath) -> float | None:
    """final_pnl less what was put in would have made, each part since it was put in; None for spot and perp.

    The bundle right after the entry counts from there to the exit, a later deposit from its own instant: adding to a
    position is no gain. Marks at both ends.
    """
    if life.track.is_fill_based:
        return None
    entry = life.track.opened_at
    knot = next((k for k in life.track.knots if k.at >= entry), None)
    if knot is None:
        life.reasons["vs_hold"] = "nothing was put in"
        return None
    parts = [(entry, *part) for part in (knot.bundle if knot.bundle is not None else knot.principal).items()]
    parts += [
        (flow.at, flow.asset, float(flow.quantity))
        for flow in life.track.flows
        if flow.kind == "deposit" and knot.at < flow.at < min(life.exit_at + 1, life.horizon.end)
    ]
    moved = []
    for at, asset, quantity in sorted(parts):
        start, end = life.prices.quote(asset, at), life.prices.quote(asset, life.exit_at)
        if start is None or end is None:
            life.reasons["vs_hold"] = f"no mark of {asset}"
            return None
        moved.append(quantity * (end.price - start.price))
    return life.final - fsum(moved)


def vs_pair(life: PositionPath) -> float | None:
    """final_pnl less what was put in, each part from when it was put in, would have made in the pair itself until the exit.

    While it is open the pair is valued at its mark. None for LP, lending and staking.
    """
    track = life.track
    if not track.is_fill_based:
        life.reasons["vs_pair"] = "told of spot and perp; of LP, lending and staking holding the assets is"
        return None
    end = life.closing_price if life.closed else _fresh(life)
    prices = [opening.price for opening in track.openings]
    if end is None or not prices or min(prices) <= 0:
        life.reasons["vs_pair"] = "no price of the pair at both ends of its life"
        return None
    put_in = [opening.quantity * opening.price for opening in track.openings]
    return unrounded(over_holding(life.final, put_in, prices, end), life.sizes.notional or 0.0)


def _fresh(life: PositionPath) -> float | None:
    quote = life.prices.quote(life.track.position.instrument, life.horizon.now)
    return None if quote is None or quote.provisional else quote.price


def outcome_of(track: PositionHistory, prices: Prices, known_until: int) -> ClosedResult:
    """What a position made, for the book of closed positions."""
    state = track.state(known_until + 1, known_until, prices)
    exit_at = track.closed_at if track.closed_at is not None else known_until
    size = sizes(track, Lookahead(known_until + 1, known_until, None, ()), prices)
    final = unrounded(state.pnl, size.notional or 0.0)
    return ClosedResult(final, inaction(track, final, exit_at, prices, {}), size.notional)
