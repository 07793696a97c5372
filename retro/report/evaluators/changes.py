"""What a period changed of an agent's claims: the `evaluators` part of weekly and epoch reviews."""

from __future__ import annotations

from pydantic import Field

from retro.report.evaluators.claims import ReliabilityBin
from retro.report.evaluators.drift import DriftSummary
from retro.report.evaluators.learning import LearningGroups, TimeToCompetence
from retro.report.evaluators.shadows import ShadowRow
from retro.report.evaluators.tiers import TierAdviceKind
from retro.report.form import Document, Reasons

__all__ = ["CalibrationChange", "Evaluators", "ForecastChange", "LearningChange", "TierChange"]


class ForecastChange(Document):
    """The forecasts of a category and regime at the period's end, beside what they were at its start.

    Residuals are actual less predicted, in the claims' own unit.
    """

    category: str
    regime: str = Field(description="`any` pools all regimes of the category")
    n: int = Field(description="resolved so far")
    resolved: int = Field(description="of those in the period")
    accuracy: float | None
    accuracy_before: float | None
    bias: float | None = Field(
        description="mean residual of the newest ones: above 0 the agent says too little"
    )
    bias_before: float | None
    low: float | None = Field(description="where the interval around the next forecast begins, beside it")
    high: float | None = Field(description="where it ends")
    mean_abs: float | None = Field(description="mean size of the residuals, as predicted")
    mean_abs_corrected: float | None = Field(
        description="the same after the correction in force when each was made"
    )
    active: bool = Field(description="whether a correction is in force")
    active_before: bool
    reasons: Reasons = Field(default={})


class CalibrationChange(Document):
    """The stated confidence of a category and regime at the period's end, beside what it was at its start."""

    category: str
    regime: str
    n: int = Field(description="resolved so far, with a stated confidence and a verdict")
    resolved: int = Field(description="of those in the period")
    stated: float = Field(description="mean stated confidence")
    right: float = Field(description="share that was right")
    ece: float | None = Field(description="expected calibration error of what is in use")
    ece_before: float | None
    calibrated: bool = Field(description="whether that is what the curve in force made of it, or as stated")
    active: bool = Field(description="whether a curve is in force")
    active_before: bool
    alarm: bool = Field(description="the error in use lies above the owner's threshold, with 30 samples")
    alarm_before: bool
    bins: list[ReliabilityBin] = Field(description="as stated, over the life")
    reasons: Reasons = Field(default={})


class TierChange(Document):
    """A verdict on the tiers of a category that the period changed, or that asks for another tier."""

    category: str
    difficulty: str | None
    kind: TierAdviceKind
    kind_before: TierAdviceKind | None = Field(
        description="at the period's start; null where none was possible"
    )
    reason: str


class LearningChange(Document):
    """Whether the agent still learns: a week against the one before, and what the period changed of the life."""

    week: str = Field(description="the period's last week")
    score: float | None = Field(description="mean of the groups, from three on; above 0 it learns")
    groups: LearningGroups
    negative_weeks: int = Field(
        description="the trailing run of scores below 0; weeks without one neither count nor break it; of 52 at most"
    )
    ageing_multiplier: float
    alarm: bool = Field(description="the run is as long as `meta_negative_weeks_before_hayflick`, or longer")
    competence: TimeToCompetence | None = Field(description="where it was reached in the period")
    half_life_days: float | None = Field(description="the age that at most half of the rules outlive")
    half_life_before: float | None = Field(description="at the period's start")
    reasons: Reasons = Field(default={})


class Evaluators(Document):
    """What changed in the period and what alarms; a key of which nothing resolved and nothing alarms is not listed."""

    predictions: list[ForecastChange]
    calibration: list[CalibrationChange]
    tiers: list[TierChange] = Field(
        default=[], description="verdicts that changed, or that ask for another tier"
    )
    shadows: list[ShadowRow] = Field(default=[], description="each as of the period's end; never applied")
    learning: LearningChange | None = Field(
        default=None,
        exclude_if=lambda part: part is None,
        description="absent where nothing can be said",
    )
    drift: DriftSummary | None = Field(
        default=None,
        exclude_if=lambda part: part is None,
        description="weekly reviews of an agent with a backtest; else absent",
    )
