"""What an agent's own claims were worth: its forecasts and its stated confidence, by what had resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retro.app.settlement.audit import seed_of_life
from retro.app.settlement.settle import settled_book
from retro.errors import UsageError
from retro.evaluate.claims.confidence import calibrated_confidence, calibration_rows
from retro.evaluate.claims.forecasts import corrected_forecast, forecast_rows
from retro.evaluate.claims.record import ANY, ClaimKey
from retro.store.books.claims import claims_of

if TYPE_CHECKING:
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.claims.record import ClaimHistory
    from retro.report.evaluators.claims import (
        CalibratedConfidence,
        CalibrationRow,
        CorrectedForecast,
        ForecastRow,
    )
    from retro.store.database import Store

__all__ = ["ClaimQuestion", "calibrated", "calibration", "corrected", "forecasts"]


@dataclass(frozen=True, slots=True)
class ClaimQuestion:
    """Whose claims, and what had resolved before when (microseconds; None: all that was told)."""

    store: Store
    agent: str
    settings: AgentSettings
    as_of: int | None = None

    def history(self) -> ClaimHistory:
        """The claims that are asked about."""
        with settled_book(self.store, self.agent, self.settings, measured=False) as book:
            claims = claims_of(book.conn, book.name)
        return claims if self.as_of is None else claims.before(self.as_of)


def forecasts(question: ClaimQuestion) -> list[ForecastRow]:
    """How far off its forecasts were, a row a category and regime."""
    return forecast_rows(question.history(), question.settings.claims)


def corrected(
    question: ClaimQuestion, predicted: float, category: str, regime: str | None
) -> CorrectedForecast:
    """What to make of a forecast."""
    key = ClaimKey(category, regime or ANY)
    return corrected_forecast(question.history(), key, predicted, question.settings.claims)


def calibration(question: ClaimQuestion, alarm_above: float) -> list[CalibrationRow]:
    """How far off its stated confidence was, a row a category and regime."""
    seed = seed_of_life(question.agent)
    return calibration_rows(question.history(), question.settings.claims.fits, alarm_above, seed)


def calibrated(
    question: ClaimQuestion, confidence: float, category: str, regime: str | None
) -> CalibratedConfidence:
    """What a stated confidence is worth; `UsageError` for one outside 0 to 1."""
    if not 0 <= confidence <= 1:
        raise UsageError(f"confidence: {confidence:g} does not lie between 0 and 1")
    key = ClaimKey(category, regime or ANY)
    return calibrated_confidence(question.history(), key, confidence, question.settings.claims.fits)
