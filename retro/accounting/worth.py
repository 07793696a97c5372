"""What an agent was worth between its day boundaries: just before the owner's flows, and where something had a mark.

Levels here are of what is believed: what positions with impossible fills have gained since the day that flagged them is
left out, what they have lost is not (docs/numbers.md section 4).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from retro.model import External, Flow
from retro.periods import HOUR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.accounting.wallet import ExternalFlow, Wallet
    from retro.model import Fact

__all__ = [
    "WalletPath",
    "flow_instants",
    "flows_by_day",
    "mark_instants",
    "positions_worth",
    "unbelieved_levels",
]


class WalletPath:
    """The wallet's worth at instants, noted while it is moved: `worth` (n,) in base currency, before the events there."""

    def __init__(self, instants: NDArray[np.int64], prices: Prices) -> None:
        self.instants = instants
        self.worth = np.zeros(len(instants))
        self._prices = prices
        self._noted = 0
        self._next = int(instants[0]) if len(instants) else None

    def reach(self, at: int, wallet: Wallet) -> None:
        """Note the wallet for every instant up to `at`, before it is moved there."""
        if self._next is None or self._next > at:
            return
        stop = int(np.searchsorted(self.instants, at, side="right"))
        times = self.instants[self._noted : stop]
        total = np.full(len(times), wallet.cash)
        for asset, book in wallet.assets.items():
            if book.quantity:
                total += float(book.quantity) * self._prices.at_many(asset, times)
        self.worth[self._noted : stop] = total
        self._noted = stop
        self._next = int(self.instants[stop]) if stop < len(self.instants) else None


def flow_instants(facts: Iterable[Fact], start: int, end: int) -> NDArray[np.int64]:
    """The instants of [start, end) at which the owner put money in or took some out, each once."""
    return np.array(
        sorted({fact.at for fact in facts if isinstance(fact, External) and start <= fact.at < end}),
        dtype=np.int64,
    )


def flows_by_day(external: Iterable[ExternalFlow], grid: Sequence[int]) -> list[float]:
    """The owner's money of each day, put in less taken out."""
    flows = list(external)
    return [fsum(flow.value for flow in flows if start <= flow.at < end) for start, end in pairwise(grid)]


def mark_instants(
    tracks: Mapping[str, PositionHistory],
    wallet: Wallet,
    facts: Iterable[Fact],
    prices: Prices,
    start: int,
    end: int,
) -> NDArray[np.int64]:
    """The instants of (start, end] at which something that is held has a mark: of each clock hour the last one."""
    symbols = {symbol for track in tracks.values() for symbol in track.symbols}
    symbols |= {asset for asset, book in wallet.assets.items() if book.quantity}
    symbols |= {effect.asset for track in tracks.values() for effect in track.effects}
    symbols |= {fact.asset for fact in facts if isinstance(fact, External | Flow) and fact.asset}
    instants = [np.empty(0, dtype=np.int64)]
    for symbol in sorted(symbols - {prices.base_currency}):
        times = prices.line(symbol).t
        instants.append(
            times[np.searchsorted(times, start, side="right") : np.searchsorted(times, end, side="right")]
        )
    times = np.sort(np.concatenate(instants))
    return times[np.diff(times // HOUR, append=np.iinfo(np.int64).max) > 0]


def positions_worth(
    tracks: Mapping[str, PositionHistory],
    instants: NDArray[np.int64],
    known_until: int,
    prices: Prices,
    *,
    believed: bool = True,
) -> NDArray[np.float64]:
    """What all positions were worth just before the events at ascending instants, less what of it nobody believes."""
    total = np.zeros(len(instants))
    times = instants.tolist()
    for track in tracks.values():
        first, emptied = bisect_left(times, track.opened_at), track.emptied_at
        stop = len(times) if emptied is None else bisect_right(times, emptied)
        if first < stop:
            total[first:stop] += track.worth_path(instants[first:stop], prices)
        if believed and track.flagged_day is not None:
            total[first:] -= [track.unbelieved(t, known_until, prices) for t in times[first:]]
    return total


def unbelieved_levels(
    tracks: Mapping[str, PositionHistory],
    boundaries: Sequence[int],
    known_until: int,
    prices: Prices,
    before: float,
) -> list[float]:
    """At each boundary, what flagged positions are said to have gained and nobody believes.

    `before` is that of positions that were closed before the first boundary and moved nothing since.
    """
    flagged = [track for track in tracks.values() if track.flagged_day is not None]
    return [before + sum(track.unbelieved(at, known_until, prices) for track in flagged) for at in boundaries]
