"""The `evaluators` part of a review: what its period changed of what the agent's own claims are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.app.reviews.drift import drift_in
from retro.app.reviews.learning import WindowClaims, learning_change
from retro.app.reviews.shadows import shadows_of
from retro.app.reviews.tiers import tier_changes
from retro.evaluate.claims.changes import ClaimPeriod, claim_changes
from retro.kinds import KINDS
from retro.report import Evaluators
from retro.store.books.claims import claims_since

if TYPE_CHECKING:
    from retro.app.reviews.window import Window
    from retro.app.settlement.book import SettledBook
    from retro.evaluate.inputs import Inputs

__all__ = ["evaluators_of"]


def evaluators_of(book: SettledBook, window: Window, inputs: Inputs) -> Evaluators | None:
    """What changed in the window's period and what alarms; None for kinds that do not say it, and where nothing does.

    `inputs` are what the review of the window is made of.
    """
    period, settings = window.period, book.settings
    if not KINDS[period.horizon].weighs_claims:
        return None
    ring, before = settings.claims.ring.size, inputs.week_before
    start = period.start if before is None else before[0]
    stretch = claims_since(book.conn, book.name, start, window.until)
    then = stretch.at(period.start, ring)
    now = stretch.after(period.start, then, window.until, ring)
    forecasts, levels = claim_changes(ClaimPeriod(then, now, settings.claims, settings.ece_alarm))
    tiers = tier_changes(book, (period.start, then), (window.until, now))
    shadows = shadows_of(book, window.until, window=inputs)
    claims = WindowClaims(stretch, {period.start: then, window.until: now})
    learning = learning_change(book, window, inputs, claims)
    drift = drift_in(book, period, window.until) if KINDS[period.horizon].weighs_drift else None
    if not (forecasts or levels or tiers or shadows or learning or drift):
        return None
    return Evaluators(
        predictions=forecasts,
        calibration=levels,
        tiers=tiers,
        shadows=shadows,
        learning=learning,
        drift=drift,
    )
