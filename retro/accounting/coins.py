"""The coins that lie in positions, and those they owe: what stated balances count of them, and what they cannot."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from decimal import Decimal
from math import fsum
from typing import TYPE_CHECKING, TypeAlias

from retro.accounting.prices import base_and_quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory

__all__ = ["Coins", "CoinsInside", "coins_inside", "note_coins", "owed"]

Coins: TypeAlias = dict[str, Decimal]
"""Quantities by asset, above 0: balances cannot state a debt, so what is owed is not taken off what is held."""
CoinsInside: TypeAlias = Callable[[int], Mapping[str, Decimal]]
"""What all positions hold just before the events of an instant."""


def coins_inside(tracks: Mapping[str, PositionHistory], prices: Prices) -> CoinsInside:
    """The coins inside these positions, counted when they are asked for."""

    def inside(at: int) -> Coins:
        coins: Coins = {}
        for track in tracks.values():
            _add(coins, track, at, prices)
        return coins

    return inside


def note_coins(
    noted: Mapping[int, Coins], times: Sequence[int], track: PositionHistory, prices: Prices
) -> None:
    """Add what a position holds at each of ascending instants to what is noted of them."""
    first, last = track.knots[0].at, track.knots[-1]
    end = len(times) if last.holds_anything else bisect_right(times, last.at)
    for at in times[bisect_right(times, first) : end]:
        _add(noted[at], track, at, prices)


def owed(track: PositionHistory, at: int, prices: Prices) -> float:
    """What a position has borrowed, in base currency, at least 0: balances count these coins wherever they went.

    A perp borrows none; of a pool what is below 0 has been lost, and is nowhere.
    """
    if track.position.kind in {"perp", "lp"}:
        return 0.0
    held: dict[str, float] = {}
    for asset, quantity in _quantities(
        track, at, prices
    ):  # interest that is owed may have been paid into the principal
        held[asset] = held.get(asset, 0.0) + quantity
    debts = [(asset, -quantity) for asset, quantity in held.items() if quantity < 0]
    if debts and not (state := track.state(at, at, prices)).is_priced:
        return max(0.0, -state.value)
    return fsum(quantity * prices.price(asset, at) for asset, quantity in debts)


def _add(coins: Coins, track: PositionHistory, at: int, prices: Prices) -> None:
    for asset, quantity in _quantities(track, at, prices):
        if quantity > 0:
            coins[asset] = coins.get(asset, Decimal(0)) + Decimal(repr(quantity))


def _quantities(track: PositionHistory, at: int, prices: Prices) -> Iterable[tuple[str, float]]:
    """Claims and principal; of a perp the claims alone: it is a bet on coins, and holds none."""
    knot = track.knot_before(at)
    if knot is None:
        return
    yield from knot.claims.items()
    if track.position.kind == "perp":
        return
    for symbol, quantity in track.principal_at(knot, at, prices).items():
        yield base_and_quote(symbol)[0], quantity
