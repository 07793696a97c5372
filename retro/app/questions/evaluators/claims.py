"""What an agent's own claims were worth: its forecasts and its stated confidence, by what had resolved."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from retro.app.settlement.audit import seed_of_life
from retro.app.settlement.settle import settled_book
from retro.errors import UsageError
from retro.evaluate.audit.history import identity
from retro.evaluate.claims.confidence import calibrated_confidence, calibration_rows
from retro.evaluate.claims.forecasts import corrected_forecast, forecast_rows
from retro.evaluate.claims.hindsight import HindsightTerms, hindsight_forecasts
from retro.evaluate.claims.record import ClaimKey
from retro.model import Prediction, Resolution
from retro.periods import FOREVER
from retro.report.evaluators.claims import ANY
from retro.store.books.claims import claims_of
from retro.store.facts import events

if TYPE_CHECKING:
    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.claims.record import ClaimHistory
    from retro.report.evaluators.claims import (
        CalibratedConfidence,
        CalibrationRow,
        CorrectedForecast,
        ForecastRow,
        HindsightForecast,
    )
    from retro.store.database import Store

__all__ = ["ClaimQuestion", "calibrated", "calibration", "corrected", "forecasts", "hindsight"]


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
    before = FOREVER if question.as_of is None else question.as_of
    with settled_book(question.store, question.agent, question.settings, measured=False) as book:
        history = claims_of(book.conn, book.name).before(before)
        foretold = _foretold(book, history, before)
    return forecast_rows(history, question.settings.claims, foretold)


def _foretold(book: SettledBook, history: ClaimHistory, before: int) -> list[Prediction]:
    """Predictions whose outcome was told only before they were made: they are no claims of the book."""
    counted = set(history.records["prediction"].tolist())
    resolutions = events.between(book.conn, book.name, -FOREVER, before, types=[Resolution])
    names = {resolution.prediction for resolution in resolutions}
    strays = sorted(name for name in names if identity(name) not in counted)
    predictions = events.by_ids(book.conn, book.name, Prediction, strays)
    return [prediction for prediction in predictions if prediction.at < before]


def corrected(
    question: ClaimQuestion, predicted: float, category: str, regime: str | None
) -> CorrectedForecast:
    """What to make of a forecast; `UsageError` for one that is no number."""
    if not isfinite(predicted):
        raise UsageError(f"predicted: {predicted} is no number that a forecast can be")
    key = ClaimKey(category, regime or ANY)
    return corrected_forecast(question.history(), key, predicted, question.settings.claims)


def hindsight(question: ClaimQuestion) -> list[HindsightForecast]:
    """How optimistic its forecasts of whole positions were, a row a kind, regime and horizon."""
    options = question.settings.options
    terms = HindsightTerms(question.settings.base_currency, options.offsets, options.rules)
    with settled_book(question.store, question.agent, question.settings, measured=False) as book:
        until = FOREVER if question.as_of is None else question.as_of
        predictions = events.between(book.conn, book.name, -FOREVER, until, types=[Prediction])
        rows = book.positions_known(min(until - 1, book.known_until))
    return hindsight_forecasts(predictions, {row.position: row for row in rows}, terms)


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
