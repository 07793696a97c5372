"""What a position stood at when each of its weeks ended: the money that bets are made on, which no way of closing bends.

A level is the marked pnl of a position (of an exit: what it had avoided) so far. Before the entry it is 0, from the
exit on it is the final pnl; so the changes of a position's weeks add up to its outcome. A level looks at nothing that
came after it: what has no price stands at its cost, and a price that is missing is the last one before.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache, partial
from math import fsum, inf
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.evaluate.position.alternatives import inaction
from retro.evaluate.position.summary import avoided, exit_horizon, increases
from retro.kernels.average_lots import LotClosings
from retro.kernels.sums import running_sums
from retro.periods import HOUR, week_of, week_start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from zoneinfo import ZoneInfo

    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.evaluate.position.summary import PositionSummary

__all__ = ["WeekLevels", "WeeklyMoney", "weekly_money"]

_ENTRY: Final = HOUR
"""Fills so soon after the first belong to the entry: an order fills in parts."""


class WeekLevels(NamedTuple):
    """What something stood at when each week ended, from the week `first` on; 0 before it.

    `bases` are the levels at later citations, with their week: whoever is cited then has no part in what came before.
    `sizes` are the shares of all that was ever put in which were known when each week's bet was made.
    """

    first: int
    ends: tuple[float, ...]
    bases: dict[int, tuple[int, float]]
    sizes: tuple[float, ...]

    def changes(self, cited_at: int) -> dict[int, float]:
        """What each week changed since a citation; weeks without a change are left out, but for the first."""
        begin, before = self.bases.get(cited_at, (self.first, 0.0))
        out: dict[int, float] = {}
        for week, now in enumerate(self.ends[begin - self.first :], start=begin):
            if now != before or week == begin:  # the first week says since when something was held
                out[week] = now - before
            before = now
        return out

    def size(self, week: int) -> float:
        """The share of all that was ever put in which was known when a week's bet was made."""
        return self.sizes[week - self.first]


class WeeklyMoney(NamedTuple):
    """The weeks of one position, in base currency, gains above 0: as an entry, of its increases, as an exit.

    `increases` has one for each of the position's increases that cite something, in their order. None: nothing is known.
    """

    entry: WeekLevels | None
    increases: tuple[tuple[tuple[str, ...], WeekLevels], ...]
    exit: WeekLevels | None


_NOTHING = WeeklyMoney(None, (), None)


def weekly_money(
    track: PositionHistory,
    row: PositionSummary,
    prices: Prices,
    known_until: int,
    zone: ZoneInfo | None,
    *,
    against_inaction: bool = False,
) -> WeeklyMoney:
    """The weeks of a settled position, up to K or its last mark; `against_inaction`: less what doing nothing made.

    Of a position with an impossible fill only losses count since then, and nothing of one that its owner rejected.
    """
    if track.ruling == "rejected":
        return _NOTHING
    closed = track.closed_at
    until = max(known_until, _last_mark(track, prices)) if closed is None else closed
    weeks = _Weeks.between(track.opened_at, until, zone)

    def standing(at: int) -> float:
        pnl = track.state(at, at, prices).pnl
        if not against_inaction:
            return pnl
        advantage = inaction(track, pnl, at, prices, {})
        return 0.0 if advantage is None else advantage

    levels = partial(_levels, track, weeks, _PutIn(track))
    outcome = row.vs_inaction if against_inaction else row.final_pnl
    cited = {decision.at for decision in row.decisions if track.opened_at < decision.at <= until}
    pieces, lots = _Pieces(track, prices), []
    for part in increases(track):
        level = partial(pieces.level, part.tags)
        opened = pieces.opened_at(part.tags)
        lots.append((part.cites, levels(level, part.pnl if closed else None, (), opened)))
    entry = (
        levels(standing, outcome, cited, track.opened_at) if closed is None or outcome is not None else None
    )
    return WeeklyMoney(entry, tuple(lots), _after_exit(track, row, prices, zone))


class _Weeks(NamedTuple):
    """Weeks of the owner's calendar from the week `first` on; `bounds` (n + 1,) are where each begins and the last ends."""

    first: int
    bounds: tuple[int, ...]
    zone: ZoneInfo | None

    @classmethod
    def between(cls, start: int, last: int, zone: ZoneInfo | None) -> _Weeks:
        """The weeks from that of one instant to that of another, both included."""
        first = week_of(start, zone)
        return cls(
            first, tuple(week_start(week, zone) for week in range(first, week_of(last, zone) + 2)), zone
        )


def _levels(
    track: PositionHistory,
    weeks: _Weeks,
    put_in: _PutIn,
    level: Callable[[int], float],
    final: float | None,
    cited: Iterable[int],
    since: int,
) -> WeekLevels:
    """Levels at the ends of weeks; `final` is what the last one ends at (None: it goes on), `cited` later citations.

    From an impossible fill on nothing is gained any more, beyond what had been gained before it.
    """
    ends: list[float] = []
    most = inf
    for end in weeks.bounds[1:]:
        now = final if final is not None and end == weeks.bounds[-1] else level(end)
        if track.flagged_at is not None and track.flagged_at < end:
            most = max(ends[-1] if ends else 0.0, 0.0) if most == inf else most
            now = min(now, most)
        ends.append(now)
    bases = {at: (week_of(at, weeks.zone), min(level(at), most)) for at in cited}
    sizes = tuple(put_in.share(max(start, since + _ENTRY)) for start in weeks.bounds[:-1])
    return WeekLevels(weeks.first, tuple(ends), bases, sizes)


class _PutIn:
    """What the opening fills of a position cost, summed up in order of time."""

    def __init__(self, track: PositionHistory) -> None:
        self._opened = [opening.at for opening in track.openings]
        self._costs = running_sums(opening.quantity * opening.price for opening in track.openings)

    def share(self, until: int) -> float:
        """The share, by cost, that came up to an instant; 1 where it has none."""
        total = self._costs[-1]
        share = self._costs[bisect_right(self._opened, until)] / total if total > 0 else 1.0
        return share if share > 0 else 1.0


def _last_mark(track: PositionHistory, prices: Prices) -> int:
    lines = (prices.line(symbol) for symbol in sorted(track.symbols))
    return max((int(line.t[-1]) for line in lines if len(line.t)), default=track.opened_at)


class _Pieces:
    """The opening fills of a position by their tags, and the pieces of each that were closed."""

    def __init__(self, track: PositionHistory, prices: Prices) -> None:
        self._sign = track.sign
        self._openings = {opening.tag: opening for opening in track.openings}
        self._closings = LotClosings(track.matches)
        self._price = cache(partial(prices.price, track.position.instrument))

    def opened_at(self, tags: Iterable[int]) -> int:
        """When the first of these fills came."""
        return min(self._openings[tag].at for tag in tags)

    def level(self, tags: Iterable[int], at: int) -> float:
        """What these fills stood at: their closed pieces, and what is left of them at its mark."""
        price, levels = self._price(at), []
        for tag in tags:
            gone = 0.0
            for piece in self._closings.of(tag, at):
                gone += piece.quantity
                levels.append(piece.pnl)
            opening = self._openings[tag]
            if opening.at < at:
                left = opening.quantity - gone
                levels.append(
                    self._sign * left * (price - opening.price) - opening.fee * left / opening.quantity
                )
        return fsum(levels)


def _after_exit(
    track: PositionHistory, row: PositionSummary, prices: Prices, zone: ZoneInfo | None
) -> WeekLevels | None:
    """What has been avoided or missed since the exit, at the end of each week up to its horizon, as far as marks go."""
    horizon, closed = exit_horizon(track), track.closed_at
    if horizon is None or closed is None or not track.closings:
        return None
    line = prices.line(track.position.instrument)
    if not len(line.t) or int(line.t[-1]) <= closed:
        return None

    base = avoided(
        track, track.closings[-1].price
    )  # of pieces that had left before: theirs is another exit's

    def level(at: int) -> float:
        i = line.index(min(at, horizon))
        return 0.0 if i < 0 or int(line.t[i]) <= closed else avoided(track, float(line.price[i])) - base

    last = min(horizon, int(line.t[-1]))
    weeks = _Weeks.between(closed, last, zone)
    final = None if row.exit_outcome is None else row.exit_outcome - base
    return _levels(track, weeks, _PutIn(track), level, final, (), closed)
