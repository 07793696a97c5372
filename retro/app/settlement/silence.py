"""Silence: an agent that tells nothing for so many whole weeks is dormant until its next word.

A function of facts and the calendar alone: whoever asks, and whenever, a period was slept through or it was not. See
docs/decisions/silence.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from retro.model import Death
from retro.periods import FOREVER, week_of, week_start, zone
from retro.store.facts import events
from retro.store.facts.last_told import last_fact, last_told, next_told

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo

    from sqlalchemy import Connection

    from retro.config import Config
    from retro.periods import Period
    from retro.store.facts.agents import Agent

__all__ = ["Silence", "dormant_from", "fell_silent", "silences", "silent_since"]


class Silence(NamedTuple):
    """A stretch of a life without a word, in microseconds: after `since`, the last fact or own mark, up to `until`.

    `dormant_from`: the end of its last whole week that is still waited through; `until` None: it lasts.
    """

    since: int
    dormant_from: int
    until: int | None = None

    def covers(self, period: Period) -> bool:
        """Whether the agent slept through the whole period: nothing happened in it that a review could tell."""
        return self.dormant_from <= period.start and (self.until is None or period.end <= self.until)


def dormant_from(last_at: int, tz: ZoneInfo, weeks: int) -> int:
    """When an agent whose last word was at an instant falls dormant: after that week and so many whole ones; 0: never."""
    return week_start(week_of(last_at, tz) + 1 + weeks, tz) if weeks else FOREVER


def silent_since(conn: Connection, config: Config, agent: Agent, now: int) -> int | None:
    """The agent's last word, where it is dormant at `now`; None where it is awake, has yet to begin, or has died."""
    if agent.last_at is None:
        return None
    tz = zone(config.owner.time_zone if agent.grid is None else agent.grid.time_zone)
    awake = dormant_from(agent.last_at, tz, config.service.dormant_weeks) > now
    return None if awake or events.first_of(conn, agent.name, Death) is not None else agent.last_at


def fell_silent(conn: Connection, agent: Agent, tz: ZoneInfo, weeks: int, start: int, end: int) -> int | None:
    """The agent's last word before a period's end, where it fell dormant in that period or as it ended; else None."""
    if not weeks:
        return None
    last = last_told(conn, agent, end - 1)
    return last if start < dormant_from(last, tz, weeks) <= end else None


def silences(
    conn: Connection, agent: Agent, tz: ZoneInfo, weeks: int, start: int, now: int
) -> Iterator[Silence]:
    """The silences of an agent that reach beyond `start` and in which it fell dormant by `now`, oldest first.

    A few looks into an index for each `weeks` of the life since `start`, however much the agent told.
    """
    if not weeks or agent.first_at is None:
        return
    final = agent.last_at or agent.first_at
    last = final if final <= start else max(last_fact(conn, agent, start), agent.first_at)
    while (rest := dormant_from(last, tz, weeks)) <= now:
        # marks lie in a series for each instrument: they are asked only where no fact speaks for the agent
        newest = last if final <= last else max(last_fact(conn, agent, rest - 1), last)
        newest = last_told(conn, agent, rest - 1) if newest == last else newest
        if newest > last:
            last = newest
            continue
        following = next_told(conn, agent, rest)
        yield Silence(last, rest, following)
        if following is None:
            return
        last = following
