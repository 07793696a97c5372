"""What an account held at instants, as the venue that keeps it says it: quantities after the events there, and its worth."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from retro.accounting.books import step
from retro.accounting.coins import note_coins
from retro.accounting.results import fill_results, margin_basis

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from retro.accounting.coins import Coins, CoinsInside
    from retro.accounting.movements import Effect
    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.accounting.wallet import Wallet
    from retro.model import Fact

__all__ = ["AccountState", "account_states"]


class AccountState(NamedTuple):
    """An account at an instant.

    `balances` by asset: the wallet with the coins of spot positions and the margin of perps; `holdings` with those of
    all positions; both after the events of the instant. `equity` is the worth of everything just before them, in base
    currency; None where something held has no price.
    """

    balances: Mapping[str, float]
    holdings: Mapping[str, float]
    equity: float | None


def account_states(
    tracks: Mapping[str, PositionHistory],
    wallet: Wallet,
    moves: Iterable[tuple[int, Effect | Fact]],
    instants: Sequence[int],
    prices: Prices,
    inside: CoinsInside,
) -> dict[int, AccountState]:
    """The account at each of ascending instants; `wallet`, known before all of them, is moved on by `moves`, in order."""
    waiting, states = deque(moves), dict[int, AccountState]()
    spot, every = _coins(tracks, instants, prices, only="spot"), _coins(tracks, instants, prices)
    margin = _margins(tracks, instants, prices)
    worth = _worth(tracks, instants, prices)

    def move(before: int) -> None:
        while waiting and waiting[0][0] < before:
            step(wallet, waiting.popleft()[1], prices, inside)

    for at in instants:
        move(at)
        outside = _wallet_worth(wallet, at, prices)
        parts = worth[at]
        equity = None if outside is None or parts is None else fsum([outside, *parts])
        move(at + 1)
        free = {asset: float(book.quantity) for asset, book in wallet.assets.items()}
        free[wallet.base_currency] = fsum([wallet.cash, *margin[at]])
        states[at] = AccountState(_with(free, spot[at + 1]), _with(free, every[at + 1]), equity)
    return states


def _coins(
    tracks: Mapping[str, PositionHistory], instants: Sequence[int], prices: Prices, only: str | None = None
) -> dict[int, Coins]:
    """What lies in positions just before the microsecond after each instant, so after its events."""
    times = [at + 1 for at in instants]
    noted: dict[int, Coins] = {at: {} for at in times}
    for track in tracks.values():
        if track.knots and only in {None, track.position.kind}:
            note_coins(noted, times, track, prices)
    return noted


def _margins(
    tracks: Mapping[str, PositionHistory], instants: Sequence[int], prices: Prices
) -> dict[int, list[float]]:
    """What open perps cost: our wallet pays for them in full, the venue takes nothing but their results."""
    margins: dict[int, list[float]] = {at: [] for at in instants}
    for track in tracks.values():
        if track.position.kind != "perp" or not track.fills:
            continue
        results = fill_results(track, prices)
        first = bisect_left(instants, track.opened_at)
        last = len(instants) if track.closed_at is None else bisect_left(instants, track.closed_at)
        for at in instants[first:last]:
            margins[at].append(margin_basis(results, at))
    return margins


def _worth(
    tracks: Mapping[str, PositionHistory], instants: Sequence[int], prices: Prices
) -> dict[int, list[float] | None]:
    """What each open position was worth just before each instant; None where one of them cannot be priced."""
    worth: dict[int, list[float] | None] = {at: [] for at in instants}
    for track in tracks.values():
        last = len(instants) if track.closed_at is None else bisect_right(instants, track.closed_at)
        for at in instants[bisect_right(instants, track.opened_at) : last]:
            state, parts = track.state(at, at, prices), worth[at]
            if not state.is_priced or parts is None:
                worth[at] = None
            else:
                parts.append(state.value)
    return worth


def _wallet_worth(wallet: Wallet, at: int, prices: Prices) -> float | None:
    assets = [asset for asset, book in wallet.assets.items() if book.quantity]
    if any(prices.quote(asset, at) is None for asset in assets):
        return None
    return wallet.value(at, prices)


def _with(free: Mapping[str, float], coins: Coins) -> dict[str, float]:
    return {asset: free.get(asset, 0.0) + float(coins.get(asset, 0)) for asset in sorted({*free, *coins})}
