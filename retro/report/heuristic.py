"""The citation audit: what came of the decisions that cited a heuristic, in a period and over the weeks of its life."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, model_validator

from retro.report.form import Document, Reasons

__all__ = [
    "BreakEvenGain",
    "DetectorState",
    "HeuristicReport",
    "OddsPath",
    "Partner",
    "Recommendation",
    "Ripeness",
    "RuleBiography",
    "RuleChapter",
    "ToldWeek",
]


class Recommendation(Document):
    """What to do with a heuristic, by the thresholds alone."""

    kind: Literal["keep", "demote", "investigate", "insufficient_data"]
    reason: str


class Partner(Document):
    """A heuristic cited together with this one so often that they cannot be told apart (Jaccard > 0.8)."""

    heuristic_id: str
    jaccard: float


class BreakEvenGain(Document):
    """The single gain that would bring a losing rule's sum back to 0, and its largest so far; in the threshold unit."""

    gain: float
    largest: float | None


class DetectorState(Document):
    """The detector of a rule that has stopped working: wealth `m`, alarm at 520, the week its losing run began."""

    alarm: bool
    since: str | None
    m: float


class OddsPath(Document):
    """E at the end of each complete week since `first` (a week such as 2026-W10), at most the newest 104."""

    first: str
    against: list[float]
    in_favour: list[float]


class HeuristicReport(Document):
    """One row of the citation audit: a heuristic in one role.

    Counts, pnl, win rate and recommendation are the period's; the one look and the evidence are cumulative since the
    heuristic's text last changed. Evidence rests on complete weeks and holds at every look (docs/evidence.md).
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
    evidence_avg: float | None = Field(default=None, description="mean of those outcomes, in threshold_unit")
    result_count: int = Field(default=0, description="exit rows: positions it closed in the period")
    result_avg: float | None = Field(default=None, description="their mean final_pnl")
    result_win_rate: float | None = Field(default=None, description="share of them that gained")
    told_late: float | None = Field(
        default=None,
        description="share of its outcomes whose citation was first told when they were known already",
    )
    bets: int = Field(default=0, description="complete weeks that were bet on")
    bound: float | None = Field(
        default=None, description="B, in threshold_unit: gains of a week beyond it do not count"
    )
    bound_since: str | None = Field(default=None, description="the start of the week in which it was fixed")
    e_against: float | None = Field(default=None, description="wealth of the bets against it: 10 is 10 to 1")
    e_for: float | None = None
    anytime_p: float | None = Field(
        default=None, description="1 / the largest E so far, of the average's direction"
    )
    interval: list[float | None] | None = Field(
        default=None, description="95 % of the mean outcome, at every look, in threshold_unit; null: no end"
    )
    interval_one_look: list[float] | None = Field(
        default=None, description="95 % of the mean outcome at this look alone, clustered by entry day"
    )
    interval_method: Literal["t", "bca"] | None
    p_value: float | None = Field(description="of this look alone")
    clipped: float | None = Field(default=None, description="share of its gains (losses) beyond the bound")
    break_even: BreakEvenGain | None = None
    weeks_to_verdict: int | None = Field(
        default=None, description="more weeks until 10 to 1, were its average just the threshold"
    )
    stopped_working: DetectorState | None = None
    odds: OddsPath | None = Field(default=None, description="E week by week, since the bound")
    rule_of_three: float | None = Field(
        default=None, description="all outcomes have one sign: the share that may yet have the other, 95 %"
    )
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

    @model_validator(mode="before")
    @classmethod
    def _of_one_look(cls, data: Any) -> Any:
        """Rows written before there were bets: what was their interval is that of one look, and q is no more."""
        if not isinstance(data, dict) or "q_value" not in data:
            return data
        data = {name: value for name, value in data.items() if name != "q_value"}
        return {**data, "interval": None, "interval_one_look": data.get("interval")}

    @property
    def e(self) -> float | None:
        """E of the direction in which it went."""
        if self.gains is None:
            return None
        return self.e_for if self.gains else self.e_against

    @property
    def gains(self) -> bool | None:
        """Whether it gains (True) or loses (False) by all outcomes of complete weeks; None: neither, or not known."""
        if self.evidence_avg is not None:
            return None if self.evidence_avg == 0 else self.evidence_avg > 0
        if self.interval_one_look is None:
            return None
        return True if self.interval_one_look[0] > 0 else False if self.interval_one_look[1] < 0 else None

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


class ToldWeek(Document):
    """What the review of a week said of the rule, of all outcomes since its text stands; amounts in `unit`."""

    review: str
    week: str
    n: int
    mean: float | None
    low: float | None = Field(description="95 % of the mean at every look; null: no end")
    high: float | None
    unit: str = Field(description="usd (base currency), r or bps")
    verdict: str
    evidence: str
    e_against: float | None
    e_for: float | None
    reasons: Reasons = Field(default={})


class RuleChapter(Document):
    """The rule in one role: its newest row, with E by week, and every week that told of it, the oldest first."""

    role: str
    newest: HeuristicReport | None
    weeks: list[ToldWeek]
    reasons: Reasons = Field(default={})


class RuleBiography(Document):
    """One rule of an agent; null where the document of its newest week was put away."""

    agent: str
    rule: str
    text: str | None
    base_currency: str
    review: str = Field(description="the newest week that tells of it")
    period_end: str
    chapters: list[RuleChapter]
    reasons: Reasons = Field(default={})


@dataclass(frozen=True, slots=True)
class Ripeness:
    """When a heuristic can be judged, were its average just the threshold; None with a reason.

    `date` is the day on which the last of those weeks is over. `stopped_working` is the detector of a rule that does.
    """

    heuristic: str
    role: str
    bets: int
    weeks_to_verdict: int | None
    date: str | None
    stopped_working: dict[str, Any] | None
    reasons: dict[str, str]
