"""What an agent's stated confidence was worth, by category and regime, and what a stated one is worth now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from retro.evaluate.claims.fold import curve_at, is_sample
from retro.evaluate.claims.totals import ConfidenceBins
from retro.kernels.evaluators import calibration as kernel
from retro.report.evaluators.claims import (
    ANY,
    CalibratedConfidence,
    CalibrationRow,
    CurvePoint,
    ReliabilityBin,
)

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from retro.evaluate.claims.record import ClaimHistory, ClaimKey
    from retro.evaluate.terms import FitTerms
    from retro.kernels.evaluators.calibration import Curve, ReliabilityBins
    from retro.kernels.uncertainty import Floats

__all__ = [
    "ALARM_FROM",
    "ErrorInUse",
    "calibrated_confidence",
    "calibration_rows",
    "error_in_use",
    "in_use",
    "is_alarming",
    "missing_samples",
    "reliability_bins",
]

ALARM_FROM: Final = 30
"""Samples below which an error is mostly noise, and above the threshold by chance."""


@dataclass(frozen=True, slots=True)
class _Errors:
    """Calibration error and Brier score of confidences that were used, and how many there were; None without any."""

    n: int
    ece: float | None
    brier: float | None


@dataclass(frozen=True, slots=True)
class ErrorInUse:
    """The calibration error of what is used of `n` confidences: `calibrated`, or as stated; None without any."""

    n: int
    ece: float | None
    calibrated: bool


def in_use(samples: NDArray[Any]) -> ErrorInUse:
    """The error of what is in use of samples (n,), as `error_in_use` says."""
    worth, right = samples["worth"], samples["verdict"]
    used = ~np.isnan(worth)
    return error_in_use(
        ConfidenceBins.of(samples["confidence"], right), ConfidenceBins.of(worth[used], right[used])
    )


def error_in_use(stated: ConfidenceBins, worth: ConfidenceBins) -> ErrorInUse:
    """Calibrated confidences are in use once there are 30 of them, before that those stated."""
    if worth.n >= ALARM_FROM:
        return ErrorInUse(worth.n, worth.ece, calibrated=True)
    return ErrorInUse(stated.n, stated.ece, calibrated=False)


def is_alarming(error: ErrorInUse, threshold: float) -> bool:
    """Whether the owner is told: the error of 30 or more lies strictly above the threshold."""
    return error.n >= ALARM_FROM and error.ece is not None and error.ece > threshold


def reliability_bins(bins: ReliabilityBins) -> list[ReliabilityBin]:
    """Stated confidences by bin, with how many of each were right."""
    return [
        ReliabilityBin(lo=k / kernel.BINS, hi=(k + 1) / kernel.BINS, n=n, stated=mean, right=hits)
        for k, n, mean, hits in zip(
            bins.index.tolist(), bins.n.tolist(), bins.stated.tolist(), bins.right.tolist(), strict=True
        )
    ]


def calibration_rows(
    history: ClaimHistory, terms: FitTerms, threshold: float, seed: int
) -> list[CalibrationRow]:
    """One row a key that has a sample; `threshold` is the error above which the owner is told."""
    rows = []
    for key, records in history.by_key():
        samples = records[is_sample(records)]
        if len(samples):
            rows.append(_row(key, samples, terms, threshold, np.random.default_rng(seed)))
    return rows


def calibrated_confidence(
    history: ClaimHistory, key: ClaimKey, confidence: float, terms: FitTerms
) -> CalibratedConfidence:
    """What a confidence is worth by the key's curve; by that of its category, where the key has too few samples."""
    reasons: dict[str, str] = {}
    own = history.of(key)
    count = int(is_sample(own).sum())
    used, n, curve = key, count, curve_at(own, count, terms)
    if curve is None and key.regime != ANY:
        pooled = history.of(key.pooled)
        used, n = key.pooled, int(is_sample(pooled).sum())
        curve = curve_at(pooled, n, terms)
        if curve is not None:
            reasons["key"] = f"{missing_samples(count, terms)}; all regimes of the category speak"
    if curve is None:
        reasons["active"] = missing_samples(count, terms)
        asked = (key.category, key.regime)
        return CalibratedConfidence(confidence=confidence, n=count, active=False, key=asked, reasons=reasons)
    worth = float(curve.at(np.array([confidence]))[0])
    return CalibratedConfidence(
        confidence=worth, n=n, active=True, key=(used.category, used.regime), reasons=reasons
    )


def _row(
    key: ClaimKey, samples: NDArray[Any], terms: FitTerms, threshold: float, rng: np.random.Generator
) -> CalibrationRow:
    stated, right, worth = samples["confidence"], samples["verdict"], samples["worth"]
    used = ~np.isnan(worth)
    raw, calibrated = _errors(stated, right), _errors(worth[used], right[used])
    error = in_use(samples)
    weighed = used if error.calibrated else np.ones(len(samples), dtype=np.bool_)
    values = worth if error.calibrated else stated
    curve = curve_at(samples, len(samples), terms)
    reasons = {}
    if curve is None:
        reasons["active"] = missing_samples(len(samples), terms)
    if calibrated.ece is None:
        reasons["ece_calibrated"] = reasons["brier_calibrated"] = (
            "no prediction was made when a curve was in force"
        )
    if error.n < ALARM_FROM:
        reasons["alarm"] = f"insufficient: {error.n} of {ALARM_FROM} samples"
    return CalibrationRow(
        category=key.category,
        regime=key.regime,
        n=len(samples),
        active=curve is not None,
        ece_raw=raw.ece,
        ece_calibrated=calibrated.ece,
        calibrated=error.calibrated,
        ece_band=kernel.ece_band(values[weighed], right[weighed], rng),
        brier_raw=raw.brier,
        brier_calibrated=calibrated.brier,
        alarm=is_alarming(error, threshold),
        bins=reliability_bins(kernel.reliability(stated, right)),
        curve=[] if curve is None else _points(curve),
        reasons=reasons,
    )


def _points(curve: Curve) -> list[CurvePoint]:
    """The thresholds, each with what it is worth."""
    worth = curve.at(curve.stated)
    return [CurvePoint(p=p, q=q) for p, q in zip(curve.stated.tolist(), worth.tolist(), strict=True)]


def _errors(confidence: Floats, right: Floats) -> _Errors:
    if not len(confidence):
        return _Errors(0, None, None)
    return _Errors(
        len(confidence), kernel.reliability(confidence, right).ece, kernel.brier(confidence, right)
    )


def missing_samples(count: int, terms: FitTerms) -> str:
    """Why no curve is in force yet."""
    return f"insufficient: {count} of {terms.minimum} resolved predictions with a confidence and a verdict"
