"""Where the money came from and went, the equity it left, and how bumpy the way was."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass
from pydantic_core import ArgsKwargs

from retro.report.form import Document, Reasons
from retro.report.slotted import CLOSED, SlottedDocument

__all__ = ["Costs", "EquityDay", "PnlAttribution", "Risk"]


@dataclass(config=CLOSED, frozen=True, slots=True, kw_only=True)
class PnlAttribution(SlottedDocument):
    """Where the money came from. Costs, losses and impermanent loss are positive magnitudes, subtracted."""

    total: float
    lp_fees_earned: float = 0.0
    lending_interest_earned: float = 0.0
    borrow_interest: float = 0.0
    staking_rewards: float = 0.0
    funding: float = Field(kw_only=True, default=0.0, description="signed, + received")
    trading_gains: float = 0.0
    trading_losses: float = 0.0
    impermanent_loss: float = Field(
        kw_only=True, default=0.0, description="may be negative in a period: recovered"
    )
    gas_costs: float = 0.0
    inference_costs: float = 0.0
    data_costs: float = 0.0
    unrealized_pnl: float = Field(kw_only=True, default=0.0, description="change over the period")
    unrealized_pnl_start: float = Field(kw_only=True, default=0.0, description="level, not added")
    unrealized_pnl_end: float = Field(kw_only=True, default=0.0, description="level, not added")
    wallet_pnl: float = Field(
        kw_only=True,
        default=0.0,
        description="of the coins in the wallet, sold and kept; signed, 0 for a position",
    )
    implausible_pnl: float = 0.0
    unbelieved_pnl: float = Field(
        kw_only=True,
        default=0.0,
        description="memo: of implausible_pnl the gains, which no headline, return or drawdown counts",
    )
    unattributed: float | None = Field(
        kw_only=True, default=None, description="stated less computed equity; null: none stated"
    )
    operational_cost: float = Field(kw_only=True, default=0.0, description="gas + inference + data, derived")
    net_yield: float | None = Field(
        kw_only=True, default=None, description="fees + interest + rewards - IL, derived"
    )
    net_yield_after_costs: float | None = None
    risk_adjusted_return: float | None = None
    trading_fees: float = Field(kw_only=True, default=0.0, description="memo, inside the fills' figures")
    slippage: float | None = Field(
        kw_only=True,
        default=None,
        description="memo, + is a cost: side x quantity x (fill - price asked for, else mark at the decision)",
    )
    slippage_mark_age_s: float | None = Field(
        kw_only=True,
        default=None,
        description="mean age of the marks slippage was measured against; null: none was needed",
    )

    @property
    def believed(self) -> float:
        """The total without what implausible positions gained: what a headline may say. Their losses it says."""
        return self.total - self.unbelieved_pnl

    @model_validator(mode="before")
    @classmethod
    def _from_before(cls, told: Any) -> Any:
        """A review of before losses counted left all of them out, and goes on saying what it said."""
        fields = told.kwargs if isinstance(told, ArgsKwargs) else told
        if isinstance(fields, dict) and "unbelieved_pnl" not in fields:
            return {**fields, "unbelieved_pnl": fields.get("implausible_pnl", 0.0)}
        return told


class Costs(Document):
    """What it cost to run, positive magnitudes."""

    gas: float
    inference: float
    data: float
    by_tier: dict[str, float]
    tokens_in: int = 0
    tokens_out: int = 0


class EquityDay(Document):
    """One day boundary of the equity curve; `equity` null when no capital is known."""

    at: str
    equity: float | None
    pnl: float | None
    flow: float
    growth: float | None = Field(
        default=None, description="time-weighted return of the day that ends here; null: it has none"
    )


class Risk(Document):
    """Return and risk of the period: of daily returns, chained at the owner's flows."""

    days: int
    sharpe: float | None
    sortino: float | None
    max_drawdown: float | None = Field(description="of daily closes; the curve starts at 1")
    max_drawdown_marked: float | None = Field(
        default=None, description="at every mark of what is held, at most one an hour"
    )
    calmar: float | None
    psr: float | None
    deflated_sharpe: float | None = Field(
        default=None, description="probability that it is better than the best of `trials` worthless ones"
    )
    trials: int | None = Field(
        default=None, description="strategies, rules and tags looked at in the period, at least 1"
    )
    minimum_track_record: float | None = Field(
        default=None, description="days until the psr reaches 0.95 if the ratio stays as it is"
    )
    volatility: float | None
    sharpe_standard_error: float | None = None
    sharpe_interval: list[float] | None = Field(
        default=None, description="95 %, by a standard error that knows skew, tails and autocorrelation"
    )
    sortino_interval: list[float] | None = None
    calmar_interval: list[float] | None = None
    time_weighted_return: float | None = Field(
        default=None, description="of the period: its days' returns, chained at the owner's flows"
    )
    money_weighted_return: float | None = Field(
        default=None, description="Modified Dietz; for weeks and longer"
    )
    noisy: bool
    reasons: Reasons

    @property
    def ruined(self) -> bool:
        """Whether equity fell to 0 or below, so that days have returns and the period has none."""
        return self.time_weighted_return is None and "days" in self.reasons
