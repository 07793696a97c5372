"""What an agent is worth with its open positions at their marks, from the reviews that are stored of it.

The memory knows closed trades alone: whoever sells winners and keeps losers open has no drawdown there at all.
"""

from __future__ import annotations

from itertools import dropwhile
from typing import TYPE_CHECKING, Final

import msgspec

from retro.app.experience.door import memory
from retro.evaluate.weeks import falls
from retro.periods import DAY, FOREVER, parse_instant
from retro.store.jobs import reviews
from retro.store.jobs.calendar import told_periods

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from retro.store.jobs.calendar import ToldPeriod

__all__ = ["marked_equity", "week_return"]


class _Day(msgspec.Struct):
    """A day boundary of a stored equity curve; reviews of before daily returns were time-weighted say no `growth`."""

    at: str
    equity: float | None
    growth: float | msgspec.UnsetType | None = msgspec.UNSET


class _Curve(msgspec.Struct):
    """Of a stored report the one part that is looked at: nothing else is parsed."""

    equity: list[_Day]


_CURVE: Final = msgspec.json.Decoder(_Curve)


def marked_equity(conn: Connection, agent: str, as_of: int | None = None) -> memory.MarkedEquity | None:
    """The newest equity that reviews of periods ended by `as_of` tell, and how far it has fallen; None: none tells it.

    Days are chained as far back as reviews follow one another without a gap.
    """
    days: list[_Day] = []
    start = FOREVER
    for period, until in _newest_first(told_periods(conn, agent, FOREVER if as_of is None else as_of)):
        stored_days = _days(conn, period, until)
        if any(day.growth is msgspec.UNSET for day in stored_days):
            break
        days, start = [*stored_days, *days], period.start
    growths = [None if day.growth is msgspec.UNSET else day.growth for day in days]
    fallen = falls(growths)
    if not days or days[-1].equity is None or fallen[-1] is None:
        return None
    drawdown = 1.0 if _lost_all(days) else -fallen[-1]
    return memory.MarkedEquity(parse_instant(days[-1].at), start, days[-1].equity, drawdown)


def week_return(conn: Connection, agent: str, until: int) -> float | None:
    """What the 7 days before an instant did to the agent's equity, as a share, flows apart; None: no review tells it.

    The growth of days that reviews tell, chained; days without one (no capital known) make it unknown.
    """
    after, whole = until - 7 * DAY, 1.0
    near = [period for period in told_periods(conn, agent, until) if period.end > after]
    days = [day for period, end in _newest_first(near) for day in _days(conn, period, end)]
    growths = [day.growth for day in days if parse_instant(day.at) > after]
    for growth in growths:
        if not isinstance(growth, float | int):
            return None
        whole *= 1.0 + growth
    return whole - 1.0 if growths else None


def _lost_all(days: Sequence[_Day]) -> bool:
    """Whether equity fell below 0 after money had been there: such days have no return, and stand at no less than all."""
    later = dropwhile(lambda day: day.growth is None, days)
    return any(day.growth is None and day.equity is not None and day.equity < 0 for day in later)


def _newest_first(periods: Sequence[ToldPeriod]) -> Iterator[tuple[ToldPeriod, int]]:
    """The fewest periods that reach back from the newest end without a gap, each with the instant up to which it is asked."""
    until = max((period.end for period in periods), default=0)
    while reaching := [period for period in periods if period.start < until <= period.end]:
        longest = min(reaching, key=lambda period: (period.start, period.review))
        yield longest, until
        until = longest.start


def _days(conn: Connection, period: ToldPeriod, until: int) -> list[_Day]:
    """The day ends of a period's stored curve up to an instant."""
    stored = reviews.revision_of(conn, period.review)
    if stored is None or stored.document is None:
        return []
    days = _CURVE.decode(stored.document).equity
    return [day for day in days if period.start < parse_instant(day.at) <= until]
