"""What an agent's own claims were worth: its forecasts, and the confidence it stated in them."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from retro.report.form import Document, Reasons

__all__ = [
    "ANY",
    "CalibratedConfidence",
    "CalibrationRow",
    "CorrectedForecast",
    "CurvePoint",
    "ForecastRow",
    "HindsightForecast",
    "ReliabilityBin",
]

ANY: Final = "any"
"""The regime of claims that state none, and of a key that pools its category."""

Interval = tuple[float, float]


class ForecastRow(Document):
    """The resolved predictions of one category and regime; residuals are actual less predicted, in their own unit."""

    category: str
    regime: str = Field(description="`any` pools all regimes of the category")
    n: int = Field(description="resolved predictions")
    right: int
    judged: int = Field(description="those that could be right or wrong")
    after_the_fact: int = Field(
        default=0,
        description="held against nothing: dated after their target, which are in n, or after their outcome, which are not",
    )
    accuracy: float | None
    bias: float | None = Field(
        description="mean residual of the newest ones: above 0 the agent says too little"
    )
    mean_abs: float | None = Field(description="mean size of the residuals, as predicted")
    mean_abs_corrected: float | None = Field(
        description="the same after the correction in force when each was made"
    )
    coverage: float | None = Field(description="share of its stated intervals that held what came")
    coverage_interval: Interval | None = Field(description="95 %, Jeffreys")
    coverage_corrected: float | None
    coverage_corrected_interval: Interval | None
    effective_n: int = Field(description="the most of them whose spans in time do not overlap")
    active: bool = Field(description="whether a correction is in force")
    reasons: Reasons = Field(default={})


class CorrectedForecast(Document):
    """A forecast as the past of its kind would have it."""

    centre: float
    low: float | None
    high: float | None
    n: int = Field(description="residuals it rests on")
    bias: float | None
    key: tuple[str, str] = Field(description="category and regime whose past speaks")
    active: bool
    reasons: Reasons = Field(default={})


class HindsightForecast(Document):
    """Forecasts of whole positions of one kind, regime and horizon; fractions of entry notional."""

    kind: str = Field(description="of position: spot, perp, lp, lending, staking")
    regime: str = Field(description="`any` pools all regimes")
    horizon: str = Field(description="the last checkpoint that the position reached")
    n: int = Field(description="forecasts of positions that have closed")
    predicted: float = Field(description="mean")
    realised: float = Field(description="mean")
    bias: float = Field(description="mean of predicted less realised: above 0 is optimism")
    interval: Interval | None = Field(description="95 %, t over days of entry")
    relative_bias: float | None = Field(
        description="sum of predicted less realised over the sum of |predicted|"
    )
    best_exit: float | None = Field(description="mean of what the best exit would have made; trains nothing")
    reasons: Reasons = Field(default={})


class ReliabilityBin(Document):
    """Samples of nearly the same stated confidence."""

    lo: float
    hi: float
    n: int
    stated: float = Field(description="mean stated confidence")
    right: int


class CurvePoint(Document):
    """A threshold of the curve: what a stated confidence is worth; between two a straight line."""

    p: float
    q: float


class CalibrationRow(Document):
    """How far the stated confidences of one category and regime were off."""

    category: str
    regime: str
    n: int = Field(description="resolved predictions with a stated confidence and a verdict")
    active: bool = Field(description="whether a curve is in force")
    ece_raw: float | None = Field(description="expected calibration error of what was stated")
    ece_calibrated: float | None = Field(
        description="of what each was worth by the curve in force when it was made"
    )
    calibrated: bool = Field(
        default=False,
        description="whether the error in use is that of calibrated confidences, as it is from 30 of them on",
    )
    ece_band: Interval | None = Field(description="95 % bootstrap band of the error in use")
    brier_raw: float | None
    brier_calibrated: float | None
    alarm: bool = Field(description="the error in use lies above the owner's threshold, with 30 samples")
    bins: list[ReliabilityBin]
    curve: list[CurvePoint]
    reasons: Reasons = Field(default={})


class CalibratedConfidence(Document):
    """What a stated confidence is worth by the past of its kind."""

    confidence: float
    n: int = Field(description="samples of the key that speaks; the newest may still wait for the next fit")
    active: bool
    key: tuple[str, str]
    reasons: Reasons = Field(default={})
