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
    """The report of the whole life up to K or `as_of`; paths of positions, which come by the thousand, are left out."""
    report = review_period(book, whole_life(book.agent, book.settings, as_of), as_of=as_of)
    bare = [position.model_copy(update={"path": []}) for position in report.positions]
    return life_of(report.model_copy(update={"positions": bare}))
