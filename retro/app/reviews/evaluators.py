"""The `evaluators` part of a review: what its period changed of what the agent's own claims are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.app.reviews.drift import drift_in
from retro.app.reviews.shadows import shadows_of
from retro.app.reviews.tiers import tier_changes
from retro.evaluate.claims.changes import ClaimPeriod, claim_changes
from retro.kinds import KINDS
from retro.report import Evaluators
from retro.store.books.claims import claims_since

if TYPE_CHECKING:
    from retro.app.reviews.window import Window
    from retro.app.settlement.book import SettledBook

__all__ = ["evaluators_of"]


def evaluators_of(book: SettledBook, window: Window) -> Evaluators | None:
    """What changed in the window's period and what alarms; None for kinds that do not say it, and where nothing does."""
    period, settings = window.period, book.settings
    if not KINDS[period.horizon].weighs_claims:
        return None
    ring = settings.claims.ring.size
    claims = claims_since(book.conn, book.name, period.start, window.until)
    then, now = claims.at(period.start, ring), claims.at(window.until, ring)
    forecasts, levels = claim_changes(ClaimPeriod(then, now, settings.claims, settings.ece_alarm))
    tiers = tier_changes(book, (period.start, then), (window.until, now))
    shadows = shadows_of(book, window.until)
    drift = drift_in(book, period, window.until) if KINDS[period.horizon].weighs_drift else None
    if not (forecasts or levels or tiers or shadows or drift):
        return None
    return Evaluators(predictions=forecasts, calibration=levels, tiers=tiers, shadows=shadows, drift=drift)
