"""The twins of closed trades on all that is known of an instrument: what each made, or why a trade has none."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from retro.kernels.evaluators.twins import (
    HISTORY,
    TWINS,
    HeldPositions,
    is_covered,
    percentiles,
    twin_results,
)
from retro.report.evaluators.luck import TwinSpread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.accounting.prices import PriceLine, Prices
    from retro.evaluate.luck.trades import ClosedTrade
    from retro.kernels.uncertainty import Floats

__all__ = ["LACKING", "Lack", "lack_of", "past_of", "spreads_of", "twins_of", "why_without"]

_QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


def past_of(prices: Prices, instrument: str, until: int) -> PriceLine:
    """The marks of an instrument up to an instant by which a return can be reckoned."""
    line = prices.line(instrument)
    return line.at((line.t <= until) & (line.price > 0))


def twins_of(trades: Sequence[ClosedTrade], line: PriceLine, seed: int) -> tuple[list[ClosedTrade], Floats]:
    """The trades of one instrument that have twins on its past, and what those made, (n, 999).

    The draws of a position hang on `seed` and its id alone.
    """
    positions = _held(trades)
    span = (int(line.t[0]), int(line.t[-1])) if len(line.t) > 1 else (0, 0)
    covered = is_covered(*span, positions) & (positions.notional > 0)
    chosen = [trade for trade, is_in in zip(trades, covered.tolist(), strict=True) if is_in]
    if not chosen:
        return [], np.empty((0, TWINS))
    drawn = np.stack([_draws(seed, trade.position) for trade in chosen])
    return chosen, twin_results(line.t, line.price, _held(chosen), drawn)


def spreads_of(trades: Sequence[ClosedTrade], line: PriceLine, seed: int) -> dict[str, TwinSpread]:
    """How the results of the twins of trades of one instrument lie, and each trade's own among them, by position."""
    chosen, twins = twins_of(trades, line, seed)
    covered = {trade.position for trade in chosen}
    spreads = {
        trade.position: TwinSpread(
            twins=0, luck=None, percentile=None, quantiles=None, reason=why_without(trade, line)
        )
        for trade in trades
        if trade.position not in covered
    }
    share = percentiles(np.array([trade.pnl for trade in chosen]), twins)
    for trade, results, below in zip(chosen, twins, share.tolist(), strict=True):
        low, lower, middle, upper, high = np.quantile(results, _QUANTILES).tolist()
        spreads[trade.position] = TwinSpread(
            twins=TWINS,
            luck=float(results.mean()),
            percentile=below,
            quantiles=(low, lower, middle, upper, high),
        )
    return spreads


def _held(trades: Sequence[ClosedTrade]) -> HeldPositions:
    return HeldPositions(
        at=np.array([trade.opened_at for trade in trades], np.int64),
        duration=np.array([trade.duration for trade in trades], np.int64),
        side=np.array([trade.side for trade in trades]),
        notional=np.array([trade.notional for trade in trades]),
        fee_rate=np.array([trade.fee_rate for trade in trades]),
    )


Lack = Literal["time", "size", "marks", "history"]
LACKING: Final[dict[Lack, str]] = {
    "time": "left at the instant of the entry",
    "size": "of which nobody knows what was put in",
    "marks": "of an instrument with fewer than 2 known marks",
    "history": f"held so long that the known marks span fewer than {HISTORY} holding times",
}
"""What positions without twins lack, in words for several."""


def lack_of(trade: ClosedTrade, line: PriceLine) -> Lack:
    """What a trade without twins lacks first."""
    if trade.duration <= 0:
        return "time"
    if trade.notional <= 0:
        return "size"
    return "marks" if len(line.t) < 2 else "history"


def why_without(trade: ClosedTrade, line: PriceLine) -> str:
    """Why a trade has no twins, in a sentence's words."""
    match lack_of(trade, line):
        case "time":
            return "it was left at the instant at which it was entered"
        case "size":
            return "what was put in is not known"
        case "marks":
            return f"fewer than 2 marks of {trade.instrument} are known"
        case "history":
            times = (int(line.t[-1]) - int(line.t[0])) / trade.duration
            span = f"the known marks of {trade.instrument} span {times:.1f} of its holding times"
            return f"{span}; {HISTORY} are needed"


def _draws(seed: int, position: str) -> Floats:
    """The moments (999,) of a position's twins, as shares of the known past."""
    digest = hashlib.sha256(f"{seed}|{position}".encode("utf-8", "surrogatepass")).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "big"))).random(TWINS)
