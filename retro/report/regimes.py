"""Results by the regime in which positions were entered, and what each rule earns in which."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from retro.report.form import Document, Reasons

__all__ = ["RegimeAnalysis", "RegimeRow", "RuleContrast", "RuleInRegime"]

Grade = Literal["none", "weak", "suggestive", "supported"]


class RegimeRow(Document):
    """The closed positions of the period that were entered in one regime. Money in base currency."""

    regime: str
    n: int
    pnl: float
    vs_inaction: float | None = Field(description="sum, + better than doing nothing")
    win_rate: float | None
    mean_r: float | None
    share_of_time: float | None = Field(
        description="of the period's time that its decisions have a regime for"
    )
    reasons: Reasons = Field(default={})


class RuleInRegime(Document):
    """A heuristic in one regime, by all complete weeks since its text stands up to the period's end."""

    heuristic: str
    regime: str
    n: int = Field(description="outcomes of positions whose entry cites it")
    average: float | None = Field(description="of these, in the threshold unit")
    interval: tuple[float | None, float | None] | None = Field(
        description="95 % of the mean outcome at every look; an end that is null is open"
    )
    bets: int = Field(description="weeks bet on")
    bound: float | None
    e_against: float | None
    e_for: float | None
    evidence: Grade = Field(description="among all rows and contrasts, as one family")
    reasons: Reasons = Field(default={})


class RuleContrast(Document):
    """A heuristic that earned in one regime and lost in another."""

    heuristic: str
    earns_in: str
    loses_in: str
    e: float = Field(description="odds that it does better in the first than in the second")
    evidence: Grade
    is_supported: bool = Field(
        description="both rows and their difference are supported: then it may be said"
    )


class RegimeAnalysis(Document):
    """Epoch and `--from`/`--to` reviews: which regimes there were, and which rules earn in which."""

    source: Literal["stated", "from marks"] = Field(
        description="as the agent stated it by the entry, or as marks before the entry say"
    )
    regimes: list[RegimeRow]
    unlabelled: int = Field(description="closed positions of the period without a regime: in no row")
    threshold_unit: Literal["usd", "r", "bps"] = Field(
        description="what averages, intervals and bounds are in"
    )
    heuristics: list[RuleInRegime]
    contrasts: list[RuleContrast]
    reasons: Reasons
