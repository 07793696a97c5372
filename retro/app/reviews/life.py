"""The review of everything an agent did so far; stores nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.app.reviews.build import review_period
from retro.app.settlement.lookup import whole_life
from retro.evaluate.weeks import life_of

if TYPE_CHECKING:
    from retro.app.settlement.book import SettledBook
    from retro.report.life import LifeReport

__all__ = ["review_life"]


def review_life(book: SettledBook, *, as_of: int | None = None) -> LifeReport:
    """The report of the whole life up to K or `as_of`."""
    return life_of(review_period(book, whole_life(book.agent, book.settings, as_of), as_of=as_of))
