"""What a period changed of a life's claims: the state at its end beside that at its start. Costs one look at the columns."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum, isnan
from typing import TYPE_CHECKING

import numpy as np

from retro.evaluate.claims.confidence import in_use, is_alarming, missing_samples, reliability_bins
from retro.evaluate.claims.fold import correction_at, is_sample
from retro.evaluate.claims.forecasts import missing_residuals
from retro.report.evaluators.changes import CalibrationChange, ForecastChange

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from retro.evaluate.claims.fold import ClaimTerms
    from retro.evaluate.claims.record import ClaimHistory, ClaimKey
    from retro.kernels.uncertainty import Floats

__all__ = ["ClaimPeriod", "claim_changes"]


@dataclass(frozen=True, slots=True)
class ClaimPeriod:
    """From when to before when (microseconds), by which terms; an error above `alarm_above` is told."""

    start: int
    end: int
    terms: ClaimTerms
    alarm_above: float


def claim_changes(
    history: ClaimHistory, period: ClaimPeriod
) -> tuple[list[ForecastChange], list[CalibrationChange]]:
    """Of forecasts a row a key of which something resolved in the period; of confidence also one a key that alarms."""
    forecasts, levels = [], []
    for key, records in history.before(period.end).by_key():
        if records["resolved_at"][-1] >= period.start:
            forecasts.append(_forecast(key, records, period))
        counted = is_sample(records)
        samples = records if counted.all() else records.take(np.flatnonzero(counted))
        if len(samples):
            level = _calibration(key, samples, period)
            levels += [level] if level.resolved or level.alarm else []
    return forecasts, levels


def _forecast(key: ClaimKey, records: NDArray[Any], period: ClaimPeriod) -> ForecastChange:
    ring = period.terms.ring
    instants = np.array([period.start, period.end])
    correction = correction_at(records, instants, ring)
    first = _count_before(records, period.start)
    residual = records["actual"] - records["predicted"]
    corrected = residual - records["bias"]
    figures = {
        "accuracy": _share(records["verdict"]),
        "accuracy_before": _share(records["verdict"][:first]),
        "bias": _figure(correction.bias[1]),
        "bias_before": _figure(correction.bias[0]),
        "low": _figure(correction.low[1]),
        "high": _figure(correction.high[1]),
        "mean_abs": _mean(np.abs(residual)),
        "mean_abs_corrected": _mean(np.abs(corrected)),
    }
    was, now = (int(n) for n in correction.resolved)
    active = now >= ring.minimum
    reasons = {name: _WHY_NULL[name] for name, value in figures.items() if value is None}
    if not active:
        reasons["active"] = missing_residuals(now, period.terms)
        reasons |= dict.fromkeys(("low", "high"), reasons["active"])
    return ForecastChange(
        category=key.category,
        regime=key.regime,
        n=len(records),
        resolved=len(records) - first,
        active=active,
        active_before=was >= ring.minimum,
        reasons=reasons,
        **figures,
    )


def _calibration(key: ClaimKey, samples: NDArray[Any], period: ClaimPeriod) -> CalibrationChange:
    first = _count_before(samples, period.start)
    fits, limit = period.terms.fits, period.alarm_above
    now = in_use(samples)
    was = in_use(samples[:first]) if first < len(samples) else now
    bins = reliability_bins(samples["confidence"], samples["verdict"])
    reasons = {}
    if len(samples) < fits.minimum:
        reasons["active"] = missing_samples(len(samples), fits)
    if was.ece is None:
        reasons["ece_before"] = "no sample had resolved before the period"
    return CalibrationChange(
        category=key.category,
        regime=key.regime,
        n=len(samples),
        resolved=len(samples) - first,
        stated=fsum(row.stated * row.n for row in bins) / len(samples),
        right=int(np.count_nonzero(samples["verdict"])) / len(samples),
        ece=now.ece,
        ece_before=was.ece,
        calibrated=now.calibrated,
        active=len(samples) >= fits.minimum,
        active_before=first >= fits.minimum,
        alarm=is_alarming(now, limit),
        alarm_before=is_alarming(was, limit),
        bins=bins,
        reasons=reasons,
    )


_WHY_NULL = {
    "accuracy": "no resolved prediction can be judged right or wrong",
    "accuracy_before": "none that can be judged had resolved before the period",
    "bias": "no resolved prediction has both a figure and an actual",
    "bias_before": "none with a figure and an actual had resolved before the period",
    "low": "too few residuals for so sure an end: its rank lies outside them",
    "high": "too few residuals for so sure an end: its rank lies outside them",
    "mean_abs": "no resolved prediction has both a figure and an actual",
    "mean_abs_corrected": "no prediction was made when a correction was in force",
}


def _count_before(records: NDArray[Any], at: int) -> int:
    """How many had resolved before an instant: records lie in that order."""
    return int(np.searchsorted(records["resolved_at"], at, "left"))


def _share(verdicts: Floats) -> float | None:
    """How many of the verdicts that are there are 1; None of none."""
    judged = int(np.count_nonzero(~np.isnan(verdicts)))
    return int(np.count_nonzero(verdicts == 1)) / judged if judged else None


def _mean(values: Floats) -> float | None:
    """The mean of those that are there; None of none."""
    there = values[~np.isnan(values)]
    return fsum(there.tolist()) / len(there) if len(there) else None


def _figure(value: float) -> float | None:
    return None if isnan(value) else float(value)
