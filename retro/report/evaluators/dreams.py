"""What is most worth replaying: positions that felt otherwise at first than they turned out."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from retro.report.form import Document, Reasons
from retro.report.position import EntryPrediction

__all__ = ["BetterRule", "Dream"]


class BetterRule(Document):
    """What, of the standard grid of 24 ways to leave, would have made most of the positions like it. It is hindsight."""

    rule: str
    n: int = Field(description="closed positions of its strategy, side and regime")
    touched: int
    difference: float = Field(description="base currency, over all of them")
    interval: tuple[float, float] | None = Field(description="95 % bootstrap over the days of the real exits")
    p_max: float | None = Field(description="that the best of 24 would improve as much by luck")


class Dream(Document):
    """A closed position whose result against doing nothing has another sign than its first hours. Base currency."""

    position: str
    at: str = Field(description="its entry")
    immediate: float = Field(
        description="pnl at the last checkpoint within 4 h; else the sign of the valence"
    )
    immediate_from: Literal["4h", "1h", "valence"]
    retrospective: float = Field(description="against doing nothing, in the end")
    reversal: float = Field(description="how far apart both are, as a share of the entry notional")
    notional: float
    context: dict[str, Any] = Field(description="as the entry decision told it")
    reasoning: str | None
    predictions: list[EntryPrediction]
    final_pnl: float | None
    exit_reason: str | None
    regret: float | None
    replays: int
    score: float = Field(description="reversal x 0.85 ^ replays")
    counterfactual: BetterRule | None
    reasons: Reasons = Field(default={})
