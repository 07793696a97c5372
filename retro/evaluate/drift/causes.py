"""Why a trade lacks a partner: what is known of the other side at its entry."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.evaluate.drift.trades import ComparedTrade
from retro.periods import HOUR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from retro.evaluate.drift.pairs import MatchingWindow, Pairing
    from retro.report.evaluators.drift import DriftCause

__all__ = ["Cause", "Witness", "causes_of", "limit_of"]

_SILENT: Final = 2 * HOUR
_SEEN_FULL: Final = 3
_AT_LEAST: Final = 2


class Cause(NamedTuple):
    """The cause, and the other's trades it follows from: those that held the slot and are a difference themselves."""

    name: DriftCause
    knock_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Timeline:
    """Trades by entry, and how many of them were held, `counts`, from each of `at` on. Instants in microseconds."""

    trades: Sequence[ComparedTrade]
    entries: Sequence[int]
    at: Sequence[int]
    counts: Sequence[int]

    @classmethod
    def of(cls, trades: Iterable[ComparedTrade]) -> _Timeline:
        """A trade that is closed frees its place at once: at one instant exits come before entries."""
        ordered = sorted(trades, key=lambda trade: trade.order)
        moves: Counter[int] = Counter()
        for trade in ordered:
            if trade.closed_at is None or trade.closed_at > trade.opened_at:
                moves[trade.opened_at] += 1
                if trade.closed_at is not None:
                    moves[trade.closed_at] -= 1
        at = sorted(moves)
        return cls(ordered, [trade.opened_at for trade in ordered], at, [*accumulate(moves[t] for t in at)])

    @cached_property
    def most(self) -> int:
        """The most at once."""
        return max(self.counts, default=0)

    @cached_property
    def times_full(self) -> int:
        """How often it came to that many."""
        return sum(now == self.most > was for was, now in pairwise([0, *self.counts]))

    def after(self, at: int) -> int:
        """How many were held just after an instant."""
        i = bisect_right(self.at, at)
        return self.counts[i - 1] if i else 0

    def held_at(self, at: int) -> list[ComparedTrade]:
        """Which were held just after an instant, by entry."""
        count, holders, i = self.after(at), list[ComparedTrade](), bisect_right(self.entries, at)
        while len(holders) < count and i > 0:  # back only as far as the oldest of them
            i -= 1
            holders += [self.trades[i]] if self.trades[i].is_held(at) else []
        return holders[::-1]

    def entered(self, first: int, last: int) -> Sequence[ComparedTrade]:
        """Those entered from one instant to another."""
        return self.trades[bisect_left(self.entries, first) : bisect_right(self.entries, last)]


@dataclass(frozen=True)
class Witness:
    """What is known of one side, instants in microseconds.

    `words`: the distinct instants of all its events, ascending; `unfilled`: (instrument, instant) of orders that were never
    filled; `first` and `last`: from when to when it tells anything at all.
    """

    trades: Sequence[ComparedTrade]
    words: Sequence[int]
    unfilled: Sequence[tuple[str, int]]
    first: int
    last: int

    @cached_property
    def life(self) -> _Timeline:
        """All its trades."""
        return _Timeline.of(self.trades)

    @cached_property
    def by_instrument(self) -> Mapping[str, _Timeline]:
        """Its trades, instrument by instrument."""
        groups = defaultdict(list)
        for trade in self.trades:
            groups[trade.instrument].append(trade)
        return {instrument: _Timeline.of(trades) for instrument, trades in groups.items()}

    @cached_property
    def one_a_pair(self) -> bool:
        """Whether it never held two trades of one instrument at once."""
        return all(line.most <= 1 for line in self.by_instrument.values())

    @cached_property
    def orders(self) -> Mapping[str, list[int]]:
        """When it sent orders that were never filled, ascending, by instrument."""
        groups: dict[str, list[int]] = defaultdict(list)
        for instrument, at in sorted(self.unfilled):
            groups[instrument].append(at)
        return groups

    def stretch(self, at: int) -> tuple[int, int]:
        """Between which two words of it an instant lies."""
        i = bisect_right(self.words, at)
        return (self.words[i - 1] if i else self.first, self.words[i] if i < len(self.words) else self.last)


def limit_of(side: Witness, other: Witness) -> int | None:
    """How many trades a side may hold at once, as it shows: the most it ever did, reached three times, or by both alike."""
    most = side.life.most
    if most and (side.life.times_full >= _SEEN_FULL or most == other.life.most):
        return most
    return None


def causes_of(
    pairing: Pairing, live: Witness, backtest: Witness, window: MatchingWindow, slots: int | None
) -> dict[tuple[str, str], Cause]:
    """("live" or "backtest", id of a trade that only it took) -> why. `slots`: how many live may hold, where told."""
    partners = {("live", pair.live.name): pair.backtest for pair in pairing.pairs}
    partners |= {("backtest", pair.backtest.name): pair.live for pair in pairing.pairs}
    answer = {}
    for only, trades, own, other in (
        ("live", pairing.live_only, live, backtest),
        ("backtest", pairing.backtest_only, backtest, live),
    ):
        limit = slots if slots is not None and other is live else limit_of(other, own)
        judge = _Judge(only, trades, other, limit, window, partners)
        for trade in trades:
            answer[only, trade.name] = judge.cause(trade)
    return answer


@dataclass(frozen=True)
class _Judge:
    """Unmatched trades of one side before what is known of the other."""

    only: str
    trades: Sequence[ComparedTrade]
    other: Witness
    limit: int | None
    window: MatchingWindow
    partners: Mapping[tuple[str, str], ComparedTrade]

    @cached_property
    def _entries(self) -> list[int]:
        return [trade.opened_at for trade in self.trades]

    def cause(self, trade: ComparedTrade) -> Cause:
        """The first that applies."""
        at, reach = trade.opened_at, self.window.reach(trade.instrument)
        if _has_between(self.other.orders.get(trade.instrument, ()), at - reach, at + reach):
            return Cause("order_not_filled")
        if not self.other.first - reach <= at <= self.other.last + reach:
            return Cause("bot_silent")
        if self._has_other_signal(trade):
            return Cause("signal_differs")
        holders = self._holders(trade)
        if holders:
            return Cause("slot_taken", tuple(holder.name for holder in holders if self._differs(holder, at)))
        if self._is_silent(at):
            return Cause("bot_silent")
        return Cause("signal_differs" if self.only == "backtest" and self.limit is not None else "unknown")

    @property
    def _other_side(self) -> str:
        return "backtest" if self.only == "live" else "live"

    def _has_other_signal(self, trade: ComparedTrade) -> bool:
        """Whether the other entered the pair at that moment under another tag or side, and that lacks a partner, too."""
        at, reach = trade.opened_at, self.window.reach(trade.instrument)
        line = self.other.by_instrument.get(trade.instrument)
        return line is not None and any(
            (entry.tag, entry.sign) != (trade.tag, trade.sign)
            and (self._other_side, entry.name) not in self.partners
            for entry in line.entered(at - reach, at + reach)
        )

    def _holders(self, trade: ComparedTrade) -> list[ComparedTrade]:
        """The other's trades that left no room for this one: of its pair, or all that it may hold."""
        at, of_pair = trade.opened_at, self.other.by_instrument.get(trade.instrument)
        if self.other.one_a_pair and of_pair is not None and (holders := of_pair.held_at(at)):
            return holders
        # of two that enter on one candle the other may have taken its own a little later
        for instant in (at, at + self.window.gap(trade.instrument)):
            if self.limit is not None and self.other.life.after(instant) >= self.limit:
                return self.other.life.held_at(instant)
        return []

    def _differs(self, holder: ComparedTrade, at: int) -> bool:
        """Whether what held the slot did not hold one on this side, too: it had no partner, or that was not held then."""
        partner = self.partners.get((self._other_side, holder.name))
        return partner is None or not partner.is_held(at)

    def _is_silent(self, at: int) -> bool:
        """Whether the other said nothing for hours, in which this side took two trades: one alone it may have passed over."""
        since, until = self.other.stretch(at)
        missed = bisect_left(self._entries, until) - bisect_right(self._entries, since)
        return until - since >= _SILENT and missed >= _AT_LEAST


def _has_between(instants: Sequence[int], first: int, last: int) -> bool:
    i = bisect_left(instants, first)
    return i < len(instants) and instants[i] <= last
