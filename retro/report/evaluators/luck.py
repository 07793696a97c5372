"""How much of what was made was being there, and how much was choosing when. Money in base currency."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from retro.report.form import Document, Reasons

__all__ = ["LuckReport", "LuckTotal", "PositionLuck", "RuleLuck", "TwinSpread"]


class PositionLuck(Document):
    """A closed position beside the same trade at other moments: same instrument, side, size, holding time, fee rate."""

    position: str
    pnl: float
    luck: float | None = Field(description="the mean of its twins: what being there made")
    selection: float | None = Field(description="pnl less luck: what choosing the moment made")
    percentile: float | None = Field(
        description="share of twins that made less, half of those that made as much"
    )
    twins: int = Field(description="999, or 0 where too little of the past is known")
    reasons: Reasons = Field(default={})


class RuleLuck(Document):
    """Whether the entries that cite a heuristic choose better moments than chance: then the percentile is above 0.5."""

    heuristic: str
    role: Literal["entry"]
    n: int
    mean_percentile: float
    interval: tuple[float, float] | None = Field(description="95 %, by day of entry; of one look")
    weeks: int = Field(description="complete weeks that were bet on")
    e_for: float | None = Field(
        description="odds that it does better than a random moment; past weeks move a little with new marks"
    )
    e_against: float | None = Field(description="odds that it does worse")
    evidence: Literal["none", "weak", "suggestive", "supported"] = Field(
        description="of the direction it has, among all rows"
    )
    reasons: Reasons = Field(default={})


class LuckTotal(Document):
    """Of the positions that have twins; luck and selection add up to the pnl."""

    pnl: float
    luck: float
    selection: float
    interval: tuple[float, float] | None = Field(
        description="95 % of the selection, by day of entry; of one look"
    )
    reasons: Reasons = Field(default={})


class LuckReport(Document):
    """Closed spot and perp positions that are believed, oldest first, and the rules that their entries rest on."""

    positions: list[PositionLuck]
    heuristics: list[RuleLuck]
    total: LuckTotal | None
    reasons: Reasons = Field(default={})


class TwinSpread(Document):
    """How the results of a position's twins lay when its review was made: what a random moment would have brought."""

    twins: int = Field(description="999, or 0 where too little of the past is known")
    luck: float | None = Field(description="their mean")
    percentile: float | None = Field(
        description="share of twins that made less, half of those that made as much"
    )
    quantiles: tuple[float, float, float, float, float] | None = Field(description="5, 25, 50, 75, 95 %")
    reason: str | None = Field(default=None, description="why there are none")
