"""What a change of one rule would have made of the positions that happened."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from retro.report.form import Document, Reasons

__all__ = ["PositionWhatIf", "RealAndCounterfactual", "RuleSearch", "RuleWhatIf", "WhatIfReport"]


class RealAndCounterfactual(Document):
    """One figure of both."""

    real: float | None
    counterfactual: float | None


@dataclass(frozen=True, slots=True)
class PositionWhatIf:
    """One position under a rule; untouched ones are as they were, to the cent. A search has a hundred thousand of them.

    `exit_at` is where the rule leaves, null where it does not act or there is no trade; `exit_price` the mark itself.
    """

    position: str
    real: float
    counterfactual: float
    exit_at: str | None
    exit_price: float | None


class RuleWhatIf(Document):
    """A rule replayed over a life. Money in base currency."""

    rule: str = Field(description="as it was given")
    touched: int
    untouched: int
    skipped: int = Field(description="no stated risk, for a rule in R: in neither total")
    real: float
    counterfactual: float
    difference: float
    interval: tuple[float, float] | None = Field(description="95 % bootstrap over the days of the real exits")
    p: float | None = Field(description="one-sided, that chance alone improves as much")
    mean_change: float | None = Field(description="a touched position")
    win_rate: RealAndCounterfactual
    profit_factor: RealAndCounterfactual
    largest_loss: RealAndCounterfactual
    max_drawdown: RealAndCounterfactual = Field(
        description="of the running sum of days of exit, as a positive amount"
    )
    largest_share: float | None = Field(description="of all changes, the part that one position makes")
    rows: list[PositionWhatIf]
    reasons: Reasons = Field(default={})


class RuleSearch(Document):
    """How good the best of so many rules would look by luck."""

    tried: int
    best: str | None
    p_max: float | None


class WhatIfReport(Document):
    """Hindsight: it moves no rule, and proposes none."""

    positions: int = Field(description="believed spot and perp positions, open ones at their PnL at K")
    rules: list[RuleWhatIf]
    search: RuleSearch
    reasons: Reasons = Field(default={})
