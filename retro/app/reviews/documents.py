"""The document of an owed review: the same facts give the same bytes, whoever makes it and whenever."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from retro.app.reviews.build import review_period, review_position
from retro.app.settlement.silence import fell_silent
from retro.kinds import KINDS
from retro.periods import WEEK, Period, format_instant

if TYPE_CHECKING:
    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.periods import PeriodKind
    from retro.report.document import Document
    from retro.store.jobs.reviews import Review

__all__ = ["numbers_of"]


def numbers_of(book: SettledBook, review: Review, now: int, *, dormant_weeks: int = 0) -> Document:
    """The figures of a review, its words still empty.

    A position is told as far as it can be judged at `now`: to its exit, then to exit + h, in the end with every mark
    that its checkpoints ask for; between these instants the clock makes no difference. A loss is told by its day up to and
    with the action, read at once: no mark after it is waited for. A review with `dormant_weeks` says so where the agent
    fell dormant in its period, after so many whole weeks without a word.
    """
    kind = KINDS[review.kind]
    if kind.scope == "position":
        after_until = _after_until(review, book.settings, now)
        return review_position(book, review.subject, after_until=after_until)
    if not kind.waits:
        options = replace(book.settings.options, settle_lag=0)
        book = replace(book, settings=replace(book.settings, options=options))
    period = Period(
        cast("PeriodKind", review.kind), review.period_start, review.period_end, review.period_key
    )
    report = review_period(book, period, ended=True)
    since = fell_silent(book.conn, book.agent, book.settings.zone, dormant_weeks, period.start, period.end)
    silence = {} if since is None else {"silent_since": format_instant(since)}
    return report.model_copy(update={"id": review.id, **silence})


def _after_until(review: Review, settings: AgentSettings, now: int) -> int | None:
    """How far after its exit a position is looked at; None: to the end."""
    closed, options = review.period_end, settings.options
    judged = closed + min(closed - review.period_start, WEEK)
    last = closed + max((offset for _, offset in options.offsets), default=0)
    if now >= max(last, judged) + options.settle_lag:
        return None
    return judged if now >= judged + options.settle_lag else closed
