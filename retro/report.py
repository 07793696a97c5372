"""The documents a review prints: RetrospectiveReport and PositionRetrospective (`contract.md`).

Money and prices are in the agent's base currency, times RFC 3339 UTC. A value that could not be computed is null and
`reasons` (on the report, a position, a heuristic row) says why under the field's name. No NaN, no 0 in its place.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Accuracy",
    "Action",
    "Breakdowns",
    "Bucket",
    "Checkpoint",
    "Cites",
    "Costs",
    "DataQuality",
    "Effectiveness",
    "EquityDay",
    "HeuristicReport",
    "Narrative",
    "PathPoint",
    "PnlAttribution",
    "PositionRetrospective",
    "Prediction",
    "Provenance",
    "Recommendation",
    "RetrospectiveReport",
    "Risk",
    "dump",
]

Reasons = dict[str, str]


class _Document(BaseModel):
    """Closed and frozen: an unknown field is a bug, and a report is never edited."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class PnlAttribution(_Document):
    """Where the money came from. Costs, losses and impermanent loss are positive magnitudes, subtracted."""

    total: float
    lp_fees_earned: float = 0.0
    lending_interest_earned: float = 0.0
    borrow_interest: float = 0.0
    staking_rewards: float = 0.0
    funding: float = Field(default=0.0, description="signed, + received")
    trading_gains: float = 0.0
    trading_losses: float = 0.0
    impermanent_loss: float = Field(default=0.0, description="may be negative in a period: recovered")
    gas_costs: float = 0.0
    inference_costs: float = 0.0
    data_costs: float = 0.0
    unrealized_pnl: float = Field(default=0.0, description="change over the period")
    unrealized_pnl_start: float = Field(default=0.0, description="level, not added")
    unrealized_pnl_end: float = Field(default=0.0, description="level, not added")
    implausible_pnl: float = 0.0
    unattributed: float | None = Field(
        default=None, description="stated less computed equity; null: none stated"
    )
    operational_cost: float = Field(default=0.0, description="gas + inference + data, derived")
    net_yield: float | None = Field(default=None, description="fees + interest + rewards - IL, derived")
    net_yield_after_costs: float | None = None
    risk_adjusted_return: float | None = None
    trading_fees: float = Field(default=0.0, description="memo, inside the fills' figures")
    slippage: float | None = Field(
        default=None, description="memo, side x quantity x (fill - mark at decision)"
    )


class Checkpoint(_Document):
    """One point of a position's trajectory."""

    offset: str = Field(description='"1h", "4h", ..., "exit"')
    at: str
    pnl: float | None
    mark_age_s: float | None
    stale: bool


class PathPoint(_Document):
    """One point of the drawn path: gross pnl at a mark inside the position's life."""

    at: str
    pnl: float


class Cites(_Document):
    """Heuristic ids and tags by role."""

    entry: list[str] = []
    exit: list[str] = []


class Prediction(_Document):
    """A prediction made for a position or its entry decision, with its outcome when known."""

    id: str
    category: str
    item: str
    at: str
    predicted: float | None
    low: float | None
    high: float | None
    unit: str | None
    actual: float | None
    hit: bool | None


class PositionRetrospective(_Document):
    """The whole life of one position, judged in hindsight."""

    position_id: str
    agent: str
    kind: str
    instrument: str
    venue: str
    strategy: str
    side: str | None
    entry_at: str
    exit_at: str | None
    open: bool
    duration_s: float
    entry_price: float | None
    exit_price: float | None
    quantity: float | None
    notional: float | None
    final_pnl: float
    period_pnl: float
    pnl_r: float | None
    pnl_trajectory: list[Checkpoint]
    mfe: float | None
    mae: float | None
    mfe_price: float | None
    mae_price: float | None
    mfe_r: float | None
    mae_r: float | None
    regret: float | None
    regret_ratio: float | None
    optimal_exit_at: str | None
    optimal_exit_pnl: float | None
    vs_inaction: float | None
    vs_hold: float | None
    vs_cash: float | None
    left_on_table: float | None
    left_on_table_capped: float | None
    hold_on: float | None
    post_exit_trajectory: list[Checkpoint]
    attribution: PnlAttribution
    entry_reasoning: str | None
    exit_reasoning: str | None = None
    exit_reason: str | None = None
    cites: Cites
    entry_predictions: list[Prediction]
    what_went_wrong: str | None
    lesson: str | None
    flags: list[str]
    reasons: Reasons
    path: list[PathPoint] = Field(
        default=[], description="thinned for drawing: first, last and extremes kept"
    )


class Action(_Document):
    """Something the agent did or decided."""

    at: str
    action: str
    position_id: str | None
    instrument: str | None
    cites: list[str]
    realized_pnl: float | None


class Recommendation(_Document):
    """What to do with a heuristic, by the thresholds alone."""

    kind: Literal["keep", "demote", "investigate", "insufficient_data"]
    reason: str


class Partner(_Document):
    """A heuristic cited together with this one so often that they cannot be told apart (Jaccard > 0.8)."""

    heuristic_id: str
    jaccard: float


class HeuristicReport(_Document):
    """One row of the citation audit: a heuristic in one role.

    Counts, pnl, win rate and recommendation are the period's; interval, q, shrunk mean and evidence are cumulative
    since the heuristic's text last changed.
    """

    heuristic_id: str
    heuristic_text: str | None
    role: Literal["entry", "exit"]
    citation_count: int
    evaluated_count: int
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
    interval: list[float] | None = Field(description="95 % of the mean outcome, clustered by entry day")
    interval_method: Literal["t", "bca"] | None
    p_value: float | None
    q_value: float | None
    shrunk_mean: float | None
    win_rate_interval: list[float] | None
    uncited_avg: float | None
    uncited_count: int
    uncited_difference: float | None
    uncited_p: float | None
    largest_share: float | None = Field(description="largest single outcome / sum of |outcomes|")
    recommendation_without_largest: str | None
    inseparable_from: list[Partner]
    reasons: Reasons


class Costs(_Document):
    """What it cost to run, positive magnitudes."""

    gas: float
    inference: float
    data: float
    by_tier: dict[str, float]
    tokens_in: int = 0
    tokens_out: int = 0


class Accuracy(_Document):
    """Predictions resolved in the period."""

    total: int
    hits: int
    judged: int = Field(description="predictions that could be judged right or wrong")
    hit_rate: float | None
    mean_residual: float | None
    mean_abs_residual: float | None
    interval_coverage: float | None
    sample_sufficient: bool
    by_category: dict[str, dict[str, Any]]
    reasons: Reasons = {}


class Bucket(_Document):
    """Closed positions of the period that share a key."""

    key: str
    n: int
    pnl: float
    win_rate: float | None
    expectancy: float | None
    expectancy_r: float | None
    mean_hold_s: float | None
    mean_regret_ratio: float | None
    share_below_inaction: float | None
    ranked: bool = Field(description="n >= 3; smaller groups are shown grey and ranked nowhere")


class CalendarDay(_Document):
    """One day of the owner's calendar."""

    date: str
    pnl: float


class Breakdowns(_Document):
    """What trading journals give. Every row carries its n."""

    by_instrument: list[Bucket]
    by_side: list[Bucket]
    by_strategy: list[Bucket]
    by_entry_tag: list[Bucket]
    by_exit_reason: list[Bucket]
    by_tag_and_exit: list[Bucket]
    by_hour: list[Bucket]
    by_weekday: list[Bucket]
    by_holding_time: list[Bucket]
    by_regime: list[Bucket]
    fee_drag: float | None
    concentration: float | None
    longest_losing_streak: int
    pgr: float | None
    plr: float | None
    calendar: list[CalendarDay]
    reasons: Reasons = {}


class Effectiveness(_Document):
    """Whether the strategy as a whole is working."""

    net_yield_7d: float | None
    sharpe_7d: float | None
    inaction_superiority_rate: float | None
    closed_positions: int
    sum_vs_inaction: float | None
    score: float | None
    score_parts: dict[str, float]
    alarm: bool
    alarm_text: str | None
    luck: float | None = Field(description="how often luck alone raises the alarm at these counts")
    reasons: Reasons


class Risk(_Document):
    """Measures of the daily returns of the period."""

    days: int
    sharpe: float | None
    sortino: float | None
    max_drawdown: float | None
    calmar: float | None
    psr: float | None
    volatility: float | None
    noisy: bool
    reasons: Reasons


class EquityDay(_Document):
    """One day boundary of the equity curve; `equity` null when no capital is known."""

    at: str
    equity: float | None
    pnl: float | None
    flow: float


class Narrative(_Document):
    """Who wrote the words."""

    source: Literal["plain", "model"]
    model: str | None = None
    cost: float | None = None
    why: str | None = None


class Implausible(_Document):
    """A position kept out of every rate, audit and component."""

    position_id: str
    reason: str
    pnl: float


class DataQuality(_Document):
    """What to keep in mind when reading the numbers."""

    warnings: list[str]
    implausible: list[Implausible]
    quarantined: int = Field(description="foreign rows that could not be used, see `retro faults`")
    missing_marks: list[str]
    provisional: bool


class Provenance(_Document):
    """Same facts, same bytes."""

    code_version: str
    data_digest: str
    seed: int


class RetrospectiveReport(_Document):
    """A review of one period: every number computed by code from the agent's facts."""

    id: str
    agent: str
    horizon: Literal["daily", "weekly", "epoch", "custom", "loss", "death"]
    period_start: str
    period_end: str
    generated_at: str
    revision: int
    base_currency: str
    time_zone: str
    known_until: str = Field(description="the agent's last own event: what this review could know")
    pnl: PnlAttribution
    risk: Risk
    equity: list[EquityDay]
    prediction_accuracy: Accuracy
    actions_taken: list[Action]
    positions: list[PositionRetrospective]
    heuristic_performance: list[HeuristicReport]
    costs: Costs
    breakdowns: Breakdowns
    effectiveness: Effectiveness
    what_worked: str
    what_failed: str
    hindsight: str
    playbook_proposals: list[dict[str, Any]]
    confidence: float
    resolved_decisions: int
    narrative: Narrative
    data_quality: DataQuality
    provenance: Provenance
    reasons: Reasons


def dump(document: BaseModel, *, indent: int | None = 2) -> str:
    """The document as JSON text: fields in declared order, shortest float spelling, UTF-8 kept; ends with a newline."""
    return (
        json.dumps(document.model_dump(mode="json"), ensure_ascii=False, allow_nan=False, indent=indent)
        + "\n"
    )
