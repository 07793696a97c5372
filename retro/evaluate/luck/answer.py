"""What an agent's trades made beside their twins: each position, each rule, and all of them together."""

from __future__ import annotations

import hashlib
from itertools import groupby
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from retro.evaluate.luck.rules import rule_rows
from retro.kernels.evaluators.twins import (
    HISTORY,
    TWINS,
    HeldPositions,
    is_covered,
    percentiles,
    twin_results,
)
from retro.kernels.uncertainty import by_day, mean_estimate
from retro.report.evaluators.luck import LuckReport, LuckTotal, PositionLuck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from zoneinfo import ZoneInfo

    from retro.accounting.prices import PriceLine, Prices
    from retro.evaluate.luck.trades import ClosedTrade
    from retro.kernels.uncertainty import Floats

__all__ = ["LuckKnowledge", "luck_of"]

_AT_ONCE = 2000  # positions whose twins are in memory together
_INSTRUMENTS = 32  # whose marks are read, and in memory, together


class LuckKnowledge(NamedTuple):
    """Marks up to `marks_until` are known; weeks that end by `now`, which is K or stands in its place, are over."""

    marks_until: int
    now: int


def luck_of(
    trades: Sequence[ClosedTrade],
    prices_of: Callable[[Sequence[str]], Prices],
    known: LuckKnowledge,
    zone: ZoneInfo | None,
    seed: int,
) -> LuckReport:
    """Each trade beside 999 twins on its instrument's known marks; `prices_of` is asked of each instrument once, in order.

    The draws of a position hang on `seed` and its id alone: what else was traded, and when K is, moves none of them.
    """
    trades = sorted(trades, key=lambda trade: (trade.instrument, trade.opened_at, trade.position))
    rows: dict[str, PositionLuck] = {}
    by_instrument = {name: [*group] for name, group in groupby(trades, key=lambda trade: trade.instrument)}
    instruments = [*by_instrument]
    for number, instrument in enumerate(instruments):
        if number % _INSTRUMENTS == 0:
            prices = prices_of(instruments[number : number + _INSTRUMENTS])
        line, of_instrument = prices.line(instrument), by_instrument[instrument]
        line = line.at((line.t <= known.marks_until) & (line.price > 0))
        for first in range(0, len(of_instrument), _AT_ONCE):
            rows |= {row.position: row for row in _rows(of_instrument[first : first + _AT_ONCE], line, seed)}
    ordered = sorted(trades, key=lambda trade: (trade.opened_at, trade.position))
    judged = [(trade, rows[trade.position]) for trade in ordered if rows[trade.position].twins]
    total = _total(judged)
    return LuckReport(
        positions=[rows[trade.position] for trade in ordered],
        heuristics=rule_rows([(trade, row.percentile or 0.0) for trade, row in judged], known.now, zone),
        total=total,
        reasons={} if total else {"total": "no closed spot or perp position has twins"},
    )


def _rows(trades: Sequence[ClosedTrade], line: PriceLine, seed: int) -> Iterable[PositionLuck]:
    positions = _held(trades)
    span = (int(line.t[0]), int(line.t[-1])) if len(line.t) > 1 else (0, 0)
    covered = is_covered(*span, positions) & (positions.notional > 0)
    chosen = [trade for trade, is_in in zip(trades, covered.tolist(), strict=True) if is_in]
    figures: dict[str, tuple[float, float]] = {}
    if chosen:
        drawn = np.stack([_draws(seed, trade.position) for trade in chosen])
        twins = twin_results(line.t, line.price, _held(chosen), drawn)
        share = percentiles(np.array([trade.pnl for trade in chosen]), twins)
        luck = twins.mean(axis=1)
        figures = {
            trade.position: (float(mean), float(below))
            for trade, mean, below in zip(chosen, luck, share, strict=True)
        }
    for trade in trades:
        if trade.position in figures:
            mean, below = figures[trade.position]
            yield PositionLuck(
                position=trade.position,
                pnl=trade.pnl,
                luck=mean,
                selection=trade.pnl - mean,
                percentile=below,
                twins=TWINS,
            )
        else:
            why = dict.fromkeys(("luck", "selection", "percentile"), _why_not(trade, line))
            yield PositionLuck(
                position=trade.position,
                pnl=trade.pnl,
                luck=None,
                selection=None,
                percentile=None,
                twins=0,
                reasons=why,
            )


def _held(trades: Sequence[ClosedTrade]) -> HeldPositions:
    return HeldPositions(
        at=np.array([trade.opened_at for trade in trades], np.int64),
        duration=np.array([trade.duration for trade in trades], np.int64),
        side=np.array([trade.side for trade in trades]),
        notional=np.array([trade.notional for trade in trades]),
        fee_rate=np.array([trade.fee_rate for trade in trades]),
    )


def _why_not(trade: ClosedTrade, line: PriceLine) -> str:
    if trade.duration <= 0:
        return "it was left at the instant at which it was entered"
    if trade.notional <= 0:
        return "what was put in is not known"
    if len(line.t) < 2:
        return f"fewer than 2 marks of {trade.instrument} are known"
    times = (int(line.t[-1]) - int(line.t[0])) / trade.duration
    return (
        f"the known marks of {trade.instrument} span {times:.1f} of its holding times; {HISTORY} are needed"
    )


def _draws(seed: int, position: str) -> Floats:
    """The moments (999,) of a position's twins, as shares of the known past."""
    digest = hashlib.sha256(f"{seed}|{position}".encode("utf-8", "surrogatepass")).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "big"))).random(TWINS)


def _total(judged: Sequence[tuple[ClosedTrade, PositionLuck]]) -> LuckTotal | None:
    if not judged:
        return None
    pnl, luck = (
        fsum(values) for values in zip(*((row.pnl, row.luck or 0.0) for _, row in judged), strict=True)
    )
    chosen = by_day([row.selection or 0.0 for _, row in judged], [trade.day for trade, _ in judged])
    interval = mean_estimate(chosen).interval
    return LuckTotal(
        pnl=pnl,
        luck=luck,
        selection=pnl - luck,
        interval=None if interval is None else (len(judged) * interval[0], len(judged) * interval[1]),
        reasons={} if interval else {"interval": "entered on one day only, or all alike"},
    )
