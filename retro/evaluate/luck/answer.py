"""What an agent's trades made beside their twins: each position, each rule, and all of them together."""

from __future__ import annotations

import hashlib
from collections import Counter
from itertools import groupby
from math import fsum
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from retro.evaluate.luck.rules import rule_rows
from retro.figures import count
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
    from collections.abc import Callable, Iterable, Mapping, Sequence
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
    knowledge: LuckKnowledge,
    zone: ZoneInfo | None,
    seed: int,
) -> LuckReport:
    """Each trade beside 999 twins on its instrument's known marks; `prices_of` is asked of each instrument once, in order.

    The draws of a position hang on `seed` and its id alone: what else was traded, and when K is, moves none of them.
    """
    trades = sorted(trades, key=lambda trade: (trade.instrument, trade.opened_at, trade.position))
    rows: dict[str, PositionLuck] = {}
    bare: Counter[_Lack] = Counter()
    by_instrument = {name: [*group] for name, group in groupby(trades, key=lambda trade: trade.instrument)}
    instruments = [*by_instrument]
    for number, instrument in enumerate(instruments):
        if number % _INSTRUMENTS == 0:
            prices = prices_of(instruments[number : number + _INSTRUMENTS])
        line, of_instrument = prices.line(instrument), by_instrument[instrument]
        line = line.at((line.t <= knowledge.marks_until) & (line.price > 0))
        for first in range(0, len(of_instrument), _AT_ONCE):
            together = of_instrument[first : first + _AT_ONCE]
            rows |= {row.position: row for row in _rows(together, line, seed)}
            bare.update(_lack(trade, line) for trade in together if not rows[trade.position].twins)
    ordered = sorted(trades, key=lambda trade: (trade.opened_at, trade.position))
    judged = [(trade, rows[trade.position]) for trade in ordered if rows[trade.position].twins]
    total = _total(judged)
    return LuckReport(
        positions=[rows[trade.position] for trade in ordered],
        heuristics=rule_rows([(trade, row.percentile or 0.0) for trade, row in judged], knowledge.now, zone),
        total=total,
        reasons=({} if total else {"total": "no closed spot or perp position has twins"})
        | _without_twins(bare),
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


_Lack = Literal["time", "size", "marks", "history"]
_LACKING: Final[dict[_Lack, str]] = {
    "time": "left at the instant of the entry",
    "size": "of which nobody knows what was put in",
    "marks": "of an instrument with fewer than 2 known marks",
    "history": f"held so long that the known marks span fewer than {HISTORY} holding times",
}
"""What positions without twins lack, in words for several."""


def _lack(trade: ClosedTrade, line: PriceLine) -> _Lack:
    if trade.duration <= 0:
        return "time"
    if trade.notional <= 0:
        return "size"
    return "marks" if len(line.t) < 2 else "history"


def _why_not(trade: ClosedTrade, line: PriceLine) -> str:
    match _lack(trade, line):
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


def _without_twins(bare: Mapping[_Lack, int]) -> dict[str, str]:
    """How many positions have none, by what they lack."""
    if not bare:
        return {}
    parts = [f"{bare[lack]:,} {words}" for lack, words in _LACKING.items() if bare.get(lack)]
    return {"positions": f"{count(sum(bare.values()), 'position')} without twins: {', '.join(parts)}"}


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
