"""What a message says besides its review, a line each: reviews that wait for a person, agents that have gone silent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import count, day_text
from retro.kinds import KINDS
from retro.periods import format_instant, week_of, week_start, zone
from retro.store.facts.silence import silent_agents
from retro.store.jobs import backlog

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.config import Config
    from retro.store.jobs.reviews import Review

__all__ = ["PERSONAL", "notices_of", "parked_text"]

PERSONAL: Final = frozenset({"mail", "notify"})
"""The channels that reach people, and not a folder or a forge."""

_NAMED: Final = 3


def notices_of(conn: Connection, config: Config, review: Review) -> tuple[str, ...]:
    """The lines beside one review, as things stand when it is sent; most have none."""
    silent = _silent_text(conn, config, review) if KINDS[review.kind].tells_of_others else ""
    return tuple(line for line in (parked_text(conn), silent) if line)


def parked_text(conn: Connection) -> str:
    """Which reviews wait for a person; nothing where none does."""
    ids, total = backlog.parked(conn, _NAMED)
    if not total:
        return ""
    who = f"{count(total, 'review')} {'waits' if total == 1 else 'wait'} for a person: {_listed(ids, total)}"
    return f"{who}; `retro reviews --state parked` says why"


def _silent_text(conn: Connection, config: Config, review: Review) -> str:
    """The other agents that were dormant when a week ended: nobody is sent a page of theirs."""
    weeks = config.service.dormant_weeks
    if not weeks:
        return ""
    tz = zone(config.owner.time_zone)
    before = week_start(week_of(review.period_end, tz) - weeks, tz)
    silent, total = silent_agents(conn, before, _NAMED, besides=review.agent)
    named = [f"{name} since {day_text(format_instant(last), tz.key)}" for name, last in silent]
    return f"Silent: {_listed(named, total)}" if named else ""


def _listed(names: list[str], total: int) -> str:
    return ", ".join(names) + (f" and {total - len(names):,} more" if total > len(names) else "")
