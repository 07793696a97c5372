"""The `evaluators` part of a review: what its period changed of what the agent's own claims are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.evaluate.claims.changes import ClaimPeriod, claim_changes
from retro.kinds import KINDS
from retro.report import Evaluators
from retro.store.books.claims import claims_of

if TYPE_CHECKING:
    from retro.app.reviews.window import Window
    from retro.app.settlement.book import SettledBook

__all__ = ["evaluators_of"]


def evaluators_of(book: SettledBook, window: Window) -> Evaluators | None:
    """What changed in the window's period and what alarms; None for kinds that do not say it, and where nothing does."""
    period, settings = window.period, book.settings
    if not KINDS[period.horizon].weighs_claims:
        return None
    history = claims_of(book.conn, book.name)
    claims = ClaimPeriod(period.start, window.until, settings.claims, settings.ece_alarm)
    forecasts, levels = claim_changes(history, claims)
    return Evaluators(predictions=forecasts, calibration=levels) if forecasts or levels else None
