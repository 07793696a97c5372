"""Which trades are one, and what a pair's difference is made of, line by line."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np

from retro.evaluate.drift.trades import ComparedTrade
from retro.kernels.evaluators.assignment import matched
from retro.report.evaluators.drift import DriftLines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from retro.kernels.uncertainty import Integers

__all__ = ["MatchingWindow", "PairLines", "Pairing", "TradePair", "lines_of", "paired"]

T = TypeVar("T")

_NOISE: Final = 1e-14
"""Of the money that moved: a line below that is rounding, and 0."""


@dataclass(frozen=True, slots=True)
class MatchingWindow:
    """How far apart the entries of one trade may be: `within` candles, `gaps` (microseconds) by instrument, else `usual`."""

    gaps: Mapping[str, int]
    usual: int
    within: float

    def gap(self, instrument: str) -> int:
        """One candle."""
        return self.gaps.get(instrument, self.usual)

    def reach(self, instrument: str) -> int:
        """The farthest that two entries may lie apart, microseconds."""
        return round(self.within * self.gap(instrument))


class PairLines(NamedTuple):
    """What each line adds to live less backtest, of one pair; their sum is the pair's difference."""

    entry_price: float
    exit_price: float
    exit_reason: float
    size: float
    fees: float
    funding: float


class TradePair(NamedTuple):
    """A live trade and the backtest's that it is."""

    live: ComparedTrade
    backtest: ComparedTrade

    @property
    def lines(self) -> PairLines:
        """In the order size, entry price, exit price, fees, funding: each with what stands before it as live, after it as backtest.

        Sums of money instead of average prices: scaled by `ratio`, what the backtest's trade would have cost and brought
        at the live size, so that equal fills leave exactly 0.
        """
        live, other, sign = self.live, self.backtest, self.live.sign
        ratio = live.quantity / other.quantity
        cost, proceeds = ratio * other.cost, ratio * other.proceeds
        exit_line = _line(sign * (live.proceeds - proceeds), live.proceeds)
        is_one_reason = live.exit_reason == other.exit_reason
        return PairLines(
            entry_price=_line(sign * (cost - live.cost), live.cost),
            exit_price=exit_line if is_one_reason else 0.0,
            exit_reason=0.0 if is_one_reason else exit_line,
            size=sign * (ratio - 1.0) * (other.proceeds - other.cost),
            fees=other.fees - live.fees,
            funding=live.funding - other.funding,
        )


def _line(amount: float, size: float) -> float:
    return 0.0 if abs(amount) <= _NOISE * abs(size) else amount


@dataclass(frozen=True, slots=True)
class Pairing:
    """All trades of both: those that are one, by live entry, and those that lack a partner, by entry."""

    pairs: tuple[TradePair, ...]
    live_only: tuple[ComparedTrade, ...]
    backtest_only: tuple[ComparedTrade, ...]

    def within(self, start: int, end: int) -> Pairing:
        """Those entered in [start, end), microseconds, a pair by its live entry; what can be in no sum is left out."""

        def chosen(trades: Iterable[ComparedTrade]) -> tuple[ComparedTrade, ...]:
            return tuple(trade for trade in trades if start <= trade.opened_at < end and not trade.unfit)

        pairs = tuple(
            pair
            for pair in self.pairs
            if start <= pair.live.opened_at < end and not (pair.live.unfit or pair.backtest.unfit)
        )
        return Pairing(pairs, chosen(self.live_only), chosen(self.backtest_only))

    def by_tag(self) -> Iterator[tuple[str, Pairing]]:
        """The parts of each entry tag, a pair by that of its live trade; by name."""
        pairs, live_only, backtest_only = (
            _grouped((pair.live.tag, pair) for pair in self.pairs),
            _grouped((trade.tag, trade) for trade in self.live_only),
            _grouped((trade.tag, trade) for trade in self.backtest_only),
        )
        for tag in sorted(pairs.keys() | live_only.keys() | backtest_only.keys()):
            yield tag, Pairing(tuple(pairs[tag]), tuple(live_only[tag]), tuple(backtest_only[tag]))

    @property
    def trades(self) -> list[ComparedTrade]:
        """All of both."""
        return [*(trade for pair in self.pairs for trade in pair), *self.live_only, *self.backtest_only]

    @property
    def live(self) -> float:
        """What all of live's made."""
        return fsum(trade.pnl for trade in (*(pair.live for pair in self.pairs), *self.live_only))

    @property
    def backtest(self) -> float:
        """What all of the backtest's made."""
        return fsum(trade.pnl for trade in (*(pair.backtest for pair in self.pairs), *self.backtest_only))


def _grouped(items: Iterable[tuple[str, T]]) -> defaultdict[str, list[T]]:
    groups = defaultdict[str, list[T]](list)
    for name, item in items:
        groups[name].append(item)
    return groups


def paired(
    live: Sequence[ComparedTrade],
    backtest: Sequence[ComparedTrade],
    window: MatchingWindow,
    *,
    with_tags: bool,
) -> Pairing:
    """The assignment of largest weight by entry time within each (instrument, side, entry tag).

    `with_tags` False, where one of the two tells none: within each (instrument, side).
    """
    groups: dict[tuple[str, float, str], tuple[list[ComparedTrade], list[ComparedTrade]]] = defaultdict(
        lambda: ([], [])
    )
    for which, trades in enumerate((live, backtest)):
        for trade in sorted(trades, key=lambda trade: trade.order):
            key = (trade.instrument, trade.sign, trade.tag if with_tags else "")
            groups[key][which].append(trade)
    pairs, lonely = list[TradePair](), (list[ComparedTrade](), list[ComparedTrade]())
    for (instrument, _, _), (ours, theirs) in groups.items():
        rows, columns = matched(_entries(ours), _entries(theirs), window.reach(instrument))
        chosen = list(zip(rows.tolist(), columns.tolist(), strict=True))
        pairs += [TradePair(ours[i], theirs[j]) for i, j in chosen]
        for alone, trades, indices in zip(lonely, (ours, theirs), (rows, columns), strict=True):
            partnered = {*indices.tolist()}
            alone.extend(trade for n, trade in enumerate(trades) if n not in partnered)
    pairs.sort(key=lambda pair: pair.live.order)
    live_only, backtest_only = (tuple(sorted(side, key=lambda trade: trade.order)) for side in lonely)
    return Pairing(tuple(pairs), live_only, backtest_only)


def _entries(trades: Sequence[ComparedTrade]) -> Integers:
    return np.array([trade.opened_at for trade in trades], dtype=np.int64)


def lines_of(pairing: Pairing) -> DriftLines:
    """The lines of all of it, each summed without rounding on the way."""
    columns = [pair.lines for pair in pairing.pairs]
    summed = {name: fsum(getattr(row, name) for row in columns) for name in PairLines._fields}
    return DriftLines(
        **summed,
        live_only=fsum(trade.pnl for trade in pairing.live_only),
        backtest_only=fsum(-trade.pnl for trade in pairing.backtest_only),
    )
