"""The reviews that told of a silence, held against what is told since: a late fact may have broken one that was told of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.app.settlement.silence import dormant_from, fell_silent
from retro.periods import format_instant
from retro.store.jobs.calendar import silences_told

if TYPE_CHECKING:
    from retro.app.context import ReviewPolicy
    from retro.app.settlement.book import SettledBook

__all__ = ["outdated_alarms"]


def outdated_alarms(book: SettledBook, terms: ReviewPolicy, since: int | None) -> list[int]:
    """The keys of finished reviews whose word on silence is not what the facts say, facts from `since` on being new.

    Such a fact lies outside their periods: nothing else brings them back. What is told in time finds none to look at.
    """
    kind, zone, weeks = terms.tells_silence, book.settings.zone, terms.dormant_weeks
    if since is None or kind is None or not weeks:
        return []
    since = max(since, book.agent.first_at or 0)
    candidates = silences_told(book.conn, book.name, kind, since, dormant_from(since, zone, weeks))
    outdated = []
    for review in candidates:
        last = fell_silent(book.conn, book.agent, zone, weeks, review.start, review.end)
        if (None if last is None else format_instant(last)) != review.silent_since:
            outdated.append(review.key)
    return outdated
