"""The calendar of a life: which days, weeks and epochs are owed a review, and when the next of them ends."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from retro.app.settlement.silence import silences
from retro.invariant import invariant
from retro.kinds import KINDS
from retro.periods import day_of, format_instant, period_at
from retro.store.jobs.grids import mark_of, period_key, spans, starts
from retro.store.jobs.obligations import Obligation
from retro.store.jobs.reviews import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from retro.app.context import ReviewPolicy
    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.app.settlement.silence import Silence
    from retro.periods import Horizon, Period

__all__ = ["Lifespan", "next_end", "owed_by_calendar", "owed_periods", "tiling"]


class Lifespan(NamedTuple):
    """From the agent's first event to its end: the next full second after its death and its last open position.

    `died_at` without `ended_at`: `open_positions` are still to be settled.
    """

    birth: int
    died_at: int | None = None
    ended_at: int | None = None
    open_positions: int = 0


def owed_periods(
    kind: Horizon, settings: AgentSettings, life: Lifespan, until: int, *, after: int | None = None
) -> Iterator[Period]:
    """The periods of a kind from the agent's first event (or from `after`) that have ended by `until`, in order.

    The last is the one in which the life ends; an epoch ends with it.
    """
    start = life.birth if after is None else after
    end_of_life = NEVER if life.ended_at is None else life.ended_at
    while start < end_of_life:
        period = period_at(kind, start, settings.zone, birth=life.birth, epoch_days=settings.epoch_days)
        if KINDS[kind].from_birth and period.end > end_of_life:
            period = type(period)(kind, period.start, end_of_life, period.key)
        if period.end > until or period.end <= start:
            return
        yield period
        start = period.end


def tiling(periods: Iterable[Period], start: int) -> Iterator[Period]:
    """The same periods while they tile the line from the one around `start`: half-open, without a gap or an overlap.

    `InvariantError` at the first that does not: a fact in a gap would be in no review, one in an overlap in two.
    """
    end = None
    for period in periods:
        fits = period.start <= start if end is None else period.start == end
        # the detail is made only for a broken one: there are thousands
        if not (fits and period.start < period.end):
            detail = f"{period.horizon} {period.key} after {format_instant(start if end is None else end)}"
            invariant(False, "the periods of an agent are contiguous and half-open", detail)
        yield period
        end = period.end


def next_end(
    settings: AgentSettings, terms: ReviewPolicy, life: Lifespan, now: int, *, rest: int = NEVER
) -> int:
    """When the next period ends; `NEVER` after the life's last, and from `rest` on, when the agent is dormant."""
    ends = [
        period_at(kind, now, settings.zone, birth=life.birth, epoch_days=settings.epoch_days)
        for kind in terms.periods
    ]
    over = rest if life.ended_at is None else min(life.ended_at, rest)
    return min((period.end for period in ends if period.start < over), default=NEVER)


def owed_by_calendar(
    book: SettledBook, terms: ReviewPolicy, life: Lifespan, now: int, enrolled_at: int
) -> list[Obligation]:
    """What the calendar owes and the ledger does not have. What fills a hole behind its newest row is quiet.

    So is what ended before the agent came onto its grid: it was told of on the one before. What the agent slept through
    is owed to nobody, until a late fact says that it was awake.
    """
    settings, grid = book.settings, book.agent.grid
    marks: dict[str, str] = {kind: mark_of(grid, kind) for kind in terms.periods}
    rows = spans(book.conn, book.name, marks)
    past = enrolled_at if grid is None or grid.since is None else max(enrolled_at, grid.since)
    begins = {
        kind: _contiguous(kind, settings, life, *rows[kind]) if kind in rows else None
        for kind in terms.periods
    }
    first = min((life.birth if at is None else at for at in begins.values()), default=now)
    silent = list(silences(book.conn, book.agent, settings.zone, terms.dormant_weeks, first, now))
    owed = []
    for kind, after in begins.items():
        mark = marks[kind]
        newest = -NEVER if kind not in rows else rows[kind][2]
        has = starts(book.conn, book.name, kind, mark) if after is None and kind in rows else frozenset()
        owed += [
            Obligation(
                kind=kind,
                subject=mark,
                key=period_key(period.key, mark),
                start=period.start,
                end=period.end,
                due_at=period.end + terms.lag,
                backfill=period.end <= past or period.start < newest,
            )
            for period in _awake(kind, settings, life, now, after, silent)
            if period.start not in has
        ]
    return owed


def _awake(
    kind: Horizon,
    settings: AgentSettings,
    life: Lifespan,
    now: int,
    after: int | None,
    silent: Sequence[Silence],
) -> Iterator[Period]:
    """The periods of a kind that have ended, but for those the agent slept through from beginning to end."""
    lasting = [silence.dormant_from for silence in silent if silence.until is None]
    rest = min(lasting, default=NEVER)  # nothing of what begins after it has to be counted
    every = takewhile(
        lambda period: period.start < rest, owed_periods(kind, settings, life, now, after=after)
    )
    for period in tiling(every, life.birth if after is None else after):
        if not any(silence.covers(period) for silence in silent):
            yield period


def _contiguous(
    kind: Horizon, settings: AgentSettings, life: Lifespan, count: int, first: int, last: int
) -> int | None:
    """Where to go on when the ledger has every period of a kind so far; None when it has to be asked for each."""
    zone, days = settings.zone, KINDS[kind].days or settings.epoch_days
    begin = period_at(kind, life.birth, zone, birth=life.birth, epoch_days=settings.epoch_days)
    final = period_at(kind, last, zone, birth=life.birth, epoch_days=settings.epoch_days)
    steps = (day_of(last, zone) - day_of(first, zone)).days
    return final.end if (begin.start, final.start, days * (count - 1)) == (first, last, steps) else None
