"""What an evaluator saw of an epoch, as statistics that add up."""

from __future__ import annotations

from pydantic import Field

from retro.report.form import Document

__all__ = ["BinCount", "EvaluationStatistics", "EvaluationSummary"]


class BinCount(Document):
    """Confidences in one of 20 equal bins."""

    bin: int = Field(description="0 to 19: [bin/20, (bin + 1)/20)")
    n: int
    stated: float = Field(description="mean stated confidence")
    right: int


class EvaluationStatistics(Document):
    """Moments of the residuals (`predictions`), or of the squared distance of confidence from outcome (`calibration`)."""

    count: int = Field(description="values that the moments are of")
    mean: float | None
    m2: float | None = Field(description="sum of squared distances from the mean")
    min: float | None
    max: float | None
    judged: int = Field(description="claims that could be right or wrong")
    right: int
    bins: list[BinCount] = Field(default=[], description="of stated confidences, those that hold any")
    tail: list[float] = Field(
        default=[], description="the newest residuals, oldest first, as many as a ring holds"
    )


class EvaluationSummary(Document):
    """What one evaluator saw of one key in one epoch; the epoch that runs holds what has resolved so far."""

    agent: str
    evaluator: str
    key: tuple[str, str] = Field(description="category and regime; `any` pools all regimes")
    start: str = Field(alias="from")
    end: str = Field(alias="to")
    n: int = Field(description="resolved predictions, or samples of confidence")
    statistics: EvaluationStatistics
