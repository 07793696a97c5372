"""What a position stood at when each of its weeks ended: the money that bets are made on, which no way of closing bends.

A level is the marked pnl of a position (of an exit: what it had avoided) so far. Before the entry it is 0, from the
exit on it is the final pnl; so the changes of a position's weeks add up to its outcome. A level looks at nothing that
came after it: what has no price stands at its cost, and a price that is missing is the last one before.
"""

from __future__ import annotations

from functools import partial
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from retro.evaluate.position.alternatives import inaction
from retro.evaluate.position.foresight import foreseen
from retro.evaluate.position.summary import avoided, exit_horizon, increases
from retro.periods import week_of, week_start

if TYPE_CHECKING:
    from collections.abc import Callable
    from zoneinfo import ZoneInfo

    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.evaluate.position.summary import PositionSummary

__all__ = ["WeeklyMoney", "weekly_money"]


class WeeklyMoney(NamedTuple):
    """What the weeks of one position changed, by the number of the week: as an entry, of its increases, as an exit.

    `increases` has one for each of the position's increases that cite something, in their order. Base currency, gains
    above 0. Weeks without a change are left out, but for the first.
    """

    entry: dict[int, float]
    increases: tuple[tuple[tuple[str, ...], dict[int, float]], ...]
    exit: dict[int, float]


_NOTHING = WeeklyMoney({}, (), {})


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
    weeks = range(week_of(track.opened_at, zone), week_of(until, zone) + 1)

    changes = partial(_changes, track, zone)

    def standing(at: int) -> float:
        pnl = track.state(at, at, prices).pnl
        if not against_inaction:
            return pnl
        advantage = inaction(track, pnl, at, prices, {})
        return 0.0 if advantage is None else advantage

    outcome = row.vs_inaction if against_inaction else row.final_pnl
    is_known = closed is None or outcome is not None
    lots = [
        (
            part.cites,
            changes(weeks, partial(_lots_at, track, part.tags, prices), part.pnl if closed else None),
        )
        for part in increases(track, foreseen(track))
    ]
    entry = changes(weeks, standing, outcome) if is_known else {}
    return WeeklyMoney(entry, tuple(lots), _after_exit(track, row, prices, zone))


def _changes(
    track: PositionHistory,
    zone: ZoneInfo | None,
    weeks: range,
    level: Callable[[int], float],
    final: float | None,
) -> dict[int, float]:
    """What each week added to a level; `final` is what it ends at, in the last week (None: it goes on)."""
    out: dict[int, float] = {}
    before = 0.0
    for week in weeks:
        end = week_start(week + 1, zone)
        now = final if final is not None and week == weeks[-1] else level(end)
        if track.flagged_at is not None and track.flagged_at < end:
            now = min(now, 0.0)
        if now != before or week == weeks[0]:  # the first week says since when something was held
            out[week] = now - before
        before = now
    return out


def _last_mark(track: PositionHistory, prices: Prices) -> int:
    lines = (prices.line(symbol) for symbol in sorted(track.symbols))
    return max((int(line.t[-1]) for line in lines if len(line.t)), default=track.opened_at)


def _lots_at(track: PositionHistory, tags: frozenset[int], prices: Prices, at: int) -> float:
    """What these opening fills stood at: their closed pieces, and what is left of them at its mark."""
    price = prices.price(track.position.instrument, at)
    closed = [match for when, match in track.matches if match.tag in tags and when < at]
    gone: dict[int, float] = {}
    for match in closed:
        gone[match.tag] = gone.get(match.tag, 0.0) + float(abs(match.quantity))
    levels = [match.pnl for match in closed]
    for opening in track.openings:
        if opening.tag in tags and opening.at < at:
            left = opening.quantity - gone.get(opening.tag, 0.0)
            levels.append(track.sign * left * (price - opening.price) - opening.fee * left / opening.quantity)
    return fsum(levels)


def _after_exit(
    track: PositionHistory, row: PositionSummary, prices: Prices, zone: ZoneInfo | None
) -> dict[int, float]:
    """What the exit had avoided or missed by the end of each week up to its horizon, as far as marks go."""
    horizon, closed = exit_horizon(track), track.closed_at
    if horizon is None or closed is None or not track.closings:
        return {}
    line = prices.line(track.position.instrument)
    if not len(line.t) or int(line.t[-1]) <= closed:
        return {}

    def level(at: int) -> float:
        i = line.index(min(at, horizon))
        return 0.0 if i < 0 or int(line.t[i]) <= closed else avoided(track, float(line.price[i]))

    last = min(horizon, int(line.t[-1]))
    weeks = range(week_of(closed, zone), week_of(last, zone) + 1)
    return _changes(track, zone, weeks, level, row.exit_outcome)
