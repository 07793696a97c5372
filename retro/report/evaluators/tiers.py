"""What the tiers of inference were worth, and what they cost."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from retro.report.form import Document, Reasons

__all__ = ["TierAdvice", "TierAdviceKind", "TierReport", "TierRow"]

TierAdviceKind = Literal["insufficient", "use_T0", "shift_to_T1", "keep"]


class TierRow(Document):
    """The judged predictions of one category whose decisions were made by one tier. Money in base currency."""

    tier: Literal["T0", "T1", "T2"]
    category: str
    n: int
    accuracy: float
    baseline: float = Field(
        description="T0's accuracy in the category; without it that of always saying the more frequent verdict"
    )
    baseline_n: int = Field(
        description="judged predictions that the baseline rests on: T0's, else those of all tiers"
    )
    gain: float = Field(description="accuracy less baseline: 0.01 is a point")
    cost: float | None = Field(description="of the tier's inference, its share by number of predictions")
    cost_per_prediction: float | None
    effectiveness: float | None = Field(description="gain for one unit of money a prediction")
    reasons: Reasons = Field(default={})


class TierAdvice(Document):
    """Whether a category's questions are put to the right tier. Hard questions go to the higher one.

    So what is compared is what was asked, not the models, unless `difficulty` was told and is the same.
    """

    category: str
    difficulty: str | None = Field(description="compared within it; null where none was told")
    kind: TierAdviceKind
    reason: str
    incremental: float | None = Field(
        description="what T2 gains beyond T1, for one unit of money more a prediction"
    )


class TierReport(Document):
    """Tiers by category, and one recommendation for each category that has T1 and T2."""

    rows: list[TierRow]
    recommendation: list[TierAdvice]
    reasons: Reasons = Field(default={})
