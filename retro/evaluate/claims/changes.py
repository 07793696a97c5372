"""What a period changed of a life's claims: how they stand at its end, beside how they stood at its start."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from retro.evaluate.claims.confidence import error_in_use, is_alarming, missing_samples, reliability_bins
from retro.evaluate.claims.forecasts import missing_residuals
from retro.report.evaluators.changes import CalibrationChange, ForecastChange

if TYPE_CHECKING:
    from retro.evaluate.claims.record import ClaimKey
    from retro.evaluate.claims.totals import ClaimTotals, KeyTotals
    from retro.evaluate.terms import ClaimTerms

__all__ = ["ClaimPeriod", "claim_changes"]


@dataclass(frozen=True, slots=True)
class ClaimPeriod:
    """How claims stood at a period's start and at its end, by which terms; an error above `alarm_above` is told."""

    then: ClaimTotals
    now: ClaimTotals
    terms: ClaimTerms
    alarm_above: float


def claim_changes(period: ClaimPeriod) -> tuple[list[ForecastChange], list[CalibrationChange]]:
    """Of forecasts a row a key of which something resolved in the period; of confidence also one a key that alarms."""
    forecasts, levels = [], []
    for key, now in period.now.ordered():
        was = period.then.of(key)
        if now.n > was.n:
            forecasts.append(_forecast(key, was, now, period.terms))
        if now.stated.n:
            level = _calibration(key, was, now, period)
            levels += [level] if level.resolved or level.alarm else []
    return forecasts, levels


def _forecast(key: ClaimKey, was: KeyTotals, now: KeyTotals, terms: ClaimTerms) -> ForecastChange:
    before, correction = was.correction(terms.ring), now.correction(terms.ring)
    figures = {
        "accuracy": now.accuracy,
        "accuracy_before": was.accuracy,
        "bias": correction.bias,
        "bias_before": before.bias,
        "low": correction.low,
        "high": correction.high,
        "mean_abs": now.errors.mean,
        "mean_abs_corrected": now.corrected.mean,
    }
    resolved = correction.resolved
    active = resolved >= terms.ring.minimum
    reasons = {name: _WHY_NULL[name] for name, value in figures.items() if value is None}
    if not active:
        reasons["active"] = missing_residuals(resolved, terms)
        reasons |= dict.fromkeys(("low", "high"), reasons["active"])
    return ForecastChange(
        category=key.category,
        regime=key.regime,
        n=now.n,
        resolved=now.n - was.n,
        active=active,
        active_before=before.resolved >= terms.ring.minimum,
        reasons=reasons,
        **figures,
    )


def _calibration(key: ClaimKey, was: KeyTotals, now: KeyTotals, period: ClaimPeriod) -> CalibrationChange:
    fits, limit = period.terms.fits, period.alarm_above
    n, first = now.stated.n, was.stated.n
    error, before = error_in_use(now.stated, now.worth), error_in_use(was.stated, was.worth)
    bins = reliability_bins(now.stated.reliability())
    reasons = {}
    if n < fits.minimum:
        reasons["active"] = missing_samples(n, fits)
    if before.ece is None:
        reasons["ece_before"] = "no sample had resolved before the period"
    return CalibrationChange(
        category=key.category,
        regime=key.regime,
        n=n,
        resolved=n - first,
        stated=fsum(row.stated * row.n for row in bins) / n,
        right=now.stated.right / n,
        ece=error.ece,
        ece_before=before.ece,
        calibrated=error.calibrated,
        active=n >= fits.minimum,
        active_before=first >= fits.minimum,
        alarm=is_alarming(error, limit),
        alarm_before=is_alarming(before, limit),
        bins=bins,
        reasons=reasons,
    )


_WHY_NULL = {
    "accuracy": "no resolved prediction that was made in time can be judged right or wrong",
    "accuracy_before": "none that can be judged had resolved before the period",
    "bias": "no resolved prediction that was made in time has both a figure and an actual",
    "bias_before": "none with a figure and an actual had resolved before the period",
    "low": "too few residuals for so sure an end: its rank lies outside them",
    "high": "too few residuals for so sure an end: its rank lies outside them",
    "mean_abs": "no resolved prediction that was made in time has both a figure and an actual",
    "mean_abs_corrected": "no prediction was made when a correction was in force",
}
