"""The citation audit: what came of the decisions that cited a heuristic."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from retro.report.form import Document, Reasons

__all__ = ["HeuristicReport", "Partner", "Recommendation"]


class Recommendation(Document):
    """What to do with a heuristic, by the thresholds alone."""

    kind: Literal["keep", "demote", "investigate", "insufficient_data"]
    reason: str


class Partner(Document):
    """A heuristic cited together with this one so often that they cannot be told apart (Jaccard > 0.8)."""

    heuristic_id: str
    jaccard: float


class HeuristicReport(Document):
    """One row of the citation audit: a heuristic in one role.

    Counts, pnl, win rate and recommendation are the period's; interval, q, shrunk mean and evidence are cumulative
    since the heuristic's text last changed.
    """

    heuristic_id: str
    heuristic_text: str | None
    role: Literal["entry", "exit"]
    citation_count: int
    evaluated_count: int
    after_the_fact_count: int = Field(
        default=0,
        description="citations dated or corrected after the fact: of citation_count, and no evidence",
    )
    after_the_fact_pnl: float | None = Field(default=None, description="what those would have added")
    open_count: int = Field(
        default=0, description="positions it brought in that are open at the period's end"
    )
    open_pnl: float | None = Field(
        default=None, description="what those that have a price stand at; in no other figure of the row"
    )
    associated_pnl: float | None = Field(description="full credit: double counts when decisions cite several")
    shared_pnl: float | None = Field(description="outcome / number cited: adds up to the outcomes")
    win_rate: float | None
    avg_pnl_per_citation: float | None
    avg_in_unit: float | None = Field(description="what the thresholds were applied to, in threshold_unit")
    threshold_unit: Literal["usd", "r", "bps"]
    recommendation: Recommendation
    evidence: Literal["none", "weak", "suggestive", "supported"]
    evidence_n: int
    evidence_days: int
    evidence_since: str | None
    result_count: int = Field(default=0, description="exit rows: positions it closed in the period")
    result_avg: float | None = Field(default=None, description="their mean final_pnl")
    result_win_rate: float | None = Field(default=None, description="share of them that gained")
    told_late: float | None = Field(
        default=None,
        description="share of its outcomes whose citation was first told when they were known already",
    )
    interval: list[float] | None = Field(description="95 % of the mean outcome, clustered by entry day")
    interval_method: Literal["t", "bca"] | None
    p_value: float | None
    rule_of_three: float | None = Field(
        default=None, description="all outcomes have one sign: the share that may yet have the other, 95 %"
    )
    q_value: float | None
    shrunk_mean: float | None
    win_rate_interval: list[float] | None
    uncited_avg: float | None
    uncited_count: int
    uncited_difference: float | None
    uncited_p: float | None
    largest_share: float | None = Field(
        description="largest single outcome / all gains, or losses, of its sign"
    )
    recommendation_without_largest: str | None
    inseparable_from: list[Partner]
    reasons: Reasons

    @property
    def gains(self) -> bool | None:
        """Whether the interval of its mean lies above (True) or below (False) nothing; None: around it, or unknown."""
        if self.interval is None:
            return None
        return True if self.interval[0] > 0 else False if self.interval[1] < 0 else None

    @property
    def is_conclusive(self) -> bool:
        """Whether its evidence says something, for the period's recommendation or against it."""
        return self.evidence in ("suggestive", "supported")

    @property
    def contradicted(self) -> bool:
        """Whether all outcomes speak against the period's recommendation: what would be kept loses, or the reverse."""
        if not self.is_conclusive:
            return False
        kind = self.recommendation.kind
        return (kind == "keep" and self.gains is False) or (kind == "demote" and self.gains is True)
