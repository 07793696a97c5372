"""What an agent's trades made beside their twins: each position, each rule, and all of them together."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from retro.evaluate.luck.rules import rule_rows
from retro.evaluate.luck.twins import LACKING, lack_of, past_of, twins_of, why_without
from retro.figures import count
from retro.kernels.evaluators.twins import TWINS, percentiles
from retro.kernels.uncertainty import by_day, mean_estimate
from retro.report.evaluators.luck import LuckReport, LuckTotal, PositionLuck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from zoneinfo import ZoneInfo

    from retro.accounting.prices import PriceLine, Prices
    from retro.evaluate.luck.trades import ClosedTrade
    from retro.evaluate.luck.twins import Lack

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
    bare: Counter[Lack] = Counter()
    by_instrument = {name: [*group] for name, group in groupby(trades, key=lambda trade: trade.instrument)}
    instruments = [*by_instrument]
    for number, instrument in enumerate(instruments):
        if number % _INSTRUMENTS == 0:
            prices = prices_of(instruments[number : number + _INSTRUMENTS])
        line, of_instrument = past_of(prices, instrument, knowledge.marks_until), by_instrument[instrument]
        for first in range(0, len(of_instrument), _AT_ONCE):
            together = of_instrument[first : first + _AT_ONCE]
            rows |= {row.position: row for row in _rows(together, line, seed)}
            bare.update(lack_of(trade, line) for trade in together if not rows[trade.position].twins)
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
    chosen, twins = twins_of(trades, line, seed)
    share = percentiles(np.array([trade.pnl for trade in chosen]), twins)
    figures = {
        trade.position: (float(mean), float(below))
        for trade, mean, below in zip(chosen, twins.mean(axis=1), share, strict=True)
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
            why = dict.fromkeys(("luck", "selection", "percentile"), why_without(trade, line))
            yield PositionLuck(
                position=trade.position,
                pnl=trade.pnl,
                luck=None,
                selection=None,
                percentile=None,
                twins=0,
                reasons=why,
            )


def _without_twins(bare: Mapping[Lack, int]) -> dict[str, str]:
    """How many positions have none, by what they lack."""
    if not bare:
        return {}
    parts = [f"{bare[lack]:,} {words}" for lack, words in LACKING.items() if bare.get(lack)]
    return {"positions": f"{count(sum(bare.values()), 'position')} without twins: {', '.join(parts)}"}


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
