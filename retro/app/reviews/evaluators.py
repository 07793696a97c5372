"""The `evaluators` part of a review: what its period changed of what the agent's own claims are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.app.reviews.shadows import shadows_before
from retro.app.reviews.tiers import tiers_of
from retro.evaluate.claims.changes import ClaimPeriod, claim_changes
from retro.kinds import KINDS
from retro.report import Evaluators, TierChange
from retro.store.books.claims import claims_of

if TYPE_CHECKING:
    from retro.app.reviews.window import Window
    from retro.app.settlement.book import SettledBook

__all__ = ["evaluators_of"]

_ASKS: Final = frozenset({"use_T0", "shift_to_T1"})


def evaluators_of(book: SettledBook, window: Window) -> Evaluators | None:
    """What changed in the window's period and what alarms; None for kinds that do not say it, and where nothing does."""
    period, settings = window.period, book.settings
    if not KINDS[period.horizon].weighs_claims:
        return None
    history = claims_of(book.conn, book.name)
    claims = ClaimPeriod(period.start, window.until, settings.claims, settings.ece_alarm)
    forecasts, levels = claim_changes(history, claims)
    tiers = _tier_changes(book, window) if KINDS[period.horizon].weighs_tiers and len(history) else []
    shadows = shadows_before(book, window.until)
    if not (forecasts or levels or tiers or shadows):
        return None
    return Evaluators(predictions=forecasts, calibration=levels, tiers=tiers, shadows=shadows)


def _tier_changes(book: SettledBook, window: Window) -> list[TierChange]:
    """Verdicts on tiers that are others than at the period's start, or that ask for another tier."""
    terms = book.settings.tiers
    then, now = (tiers_of(book, terms, at).recommendation for at in (window.period.start, window.until))
    before = {(advice.category, advice.difficulty): advice.kind for advice in then}
    return [
        TierChange(
            category=advice.category,
            difficulty=advice.difficulty,
            kind=advice.kind,
            kind_before=before.get((advice.category, advice.difficulty)),
            reason=advice.reason,
        )
        for advice in now
        if advice.kind in _ASKS
        or before.get((advice.category, advice.difficulty), "insufficient") != advice.kind
    ]
