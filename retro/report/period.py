"""A review of one period: what was done and foretold, whether it works, and how far it can be trusted."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from retro.periods import PeriodKind
from retro.report.evaluators.changes import Evaluators
from retro.report.form import Document, Reasons
from retro.report.groups import Breakdowns
from retro.report.heuristic import HeuristicReport
from retro.report.money import Costs, EquityDay, PnlAttribution, Risk
from retro.report.open_positions import OpenPositions, open_positions_of
from retro.report.position import PositionRetrospective
from retro.report.regimes import RegimeAnalysis
from retro.report.slotted import CLOSED, SlottedDocument

__all__ = [
    "Accuracy",
    "Action",
    "BenchmarkSplit",
    "DataQuality",
    "Effectiveness",
    "Implausible",
    "Market",
    "Narrative",
    "Provenance",
    "RetrospectiveReport",
    "Unpriced",
]


_LEVELS: Final = frozenset({"unrealized_pnl_start", "unrealized_pnl_end"})
"""Lines of a result that say where something stood, not that it moved."""


@dataclass(config=CLOSED, frozen=True, slots=True, kw_only=True)
class Action(SlottedDocument):
    """Something the agent did or decided."""

    at: str
    action: str
    position_id: str | None
    instrument: str | None
    cites: list[str]
    realized_pnl: float | None


class Accuracy(Document):
    """Predictions resolved in the period."""

    total: int
    hits: int
    judged: int = Field(description="predictions that could be judged right or wrong")
    after_the_fact: int = Field(
        default=0, description="of the total: dated after their target or their outcome, and so not judged"
    )
    hit_rate: float | None
    mean_residual: float | None
    mean_abs_residual: float | None
    interval_coverage: float | None
    sample_sufficient: bool
    by_category: dict[str, dict[str, Any]]
    reasons: Reasons = Field(default={})


class Effectiveness(Document):
    """Whether the strategy as a whole is working."""

    net_yield_7d: float | None
    sharpe_7d: float | None
    sharpe_7d_standard_error: float | None = None
    sharpe_7d_interval: list[float] | None = Field(default=None, description="95 %")
    inaction_superiority_rate: float | None
    closed_positions: int
    sum_vs_inaction: float | None
    score: float | None
    score_parts: dict[str, float]
    alarm: bool
    alarm_text: str | None
    luck: float | None = Field(
        description="how often luck alone raises the alarm at these counts and the agent's own rate of inferior positions"
    )
    luck_in_a_year: float | None = Field(
        default=None, description="in how many of 52 such weeks' years it does, whatever the agent earns"
    )
    reasons: Reasons


class Market(Document):
    """What the pairs that the agent traded or watched did in the period, equally weighted and left alone."""

    change: float | None = Field(description="share gained or lost by the basket")
    pairs: int = Field(description="pairs in the basket: those with a fresh mark at both ends")
    left_out: list[str] = Field(description="pairs without one")
    over_market: float | None = Field(description="the agent's time-weighted return less the change")
    reasons: Reasons


class BenchmarkSplit(Document):
    """What trades made, divided between what the benchmark did and the rest; the two add up. Money in base currency."""

    instrument: str
    traded: float = Field(description="what spot and perp positions that are believed made in the period")
    market: float | None = Field(description="exposure times the benchmark's move, over all hold intervals")
    selection: float | None = Field(description="the rest: timing and selection")
    change: float | None = Field(description="share that the benchmark gained or lost in the period")
    days: int = Field(description="days with a return of both")
    alpha: float | None = Field(
        description="the daily return that the benchmark does not explain; from 60 days on"
    )
    alpha_interval: tuple[float, float] | None = Field(description="95 %, Newey-West")
    beta: float | None = Field(description="how much of the benchmark's daily move the agent makes")
    beta_interval: tuple[float, float] | None = Field(description="95 %, Newey-West")
    reasons: Reasons


class Narrative(Document):
    """Who wrote the words, what that cost in US dollars, and `why` they are plain."""

    source: Literal["plain", "model"]
    model: str | None = None
    cost: float | None = None
    why: str | None = None
    prompt: str | None = Field(
        default=None, description="the prompt file a model was asked with, and its digest"
    )


class Implausible(Document):
    """A position kept out of every rate, audit and component."""

    position_id: str
    reason: str
    pnl: float | None = Field(description="what it claims to have made; null: its quote has no price")


class Unpriced(Document):
    """An open position without any mark: it has no PnL and is in no headline, day or rate."""

    position_id: str
    cost: float | None = Field(description="what is held of it cost; null where not even that is known")


class DataQuality(Document):
    """What to keep in mind when reading the numbers."""

    warnings: list[str]
    implausible: list[Implausible]
    unpriced: list[Unpriced] = Field(default=[])
    quarantined: int = Field(description="foreign rows that could not be used, see `retro faults`")
    missing_marks: list[str]
    provisional: bool


class Provenance(Document):
    """Same facts, same bytes."""

    code_version: str
    data_digest: str
    seed: int
    definitions: int = Field(
        default=3, description="which state of docs/numbers.md the figures follow; absent: that of 0.1.0"
    )


class RetrospectiveReport(Document):
    """A review of one period: every number computed by code from the agent's facts."""

    id: str
    agent: str
    horizon: PeriodKind
    period_start: str
    period_end: str
    generated_at: str
    revision: int
    base_currency: str
    time_zone: str
    known_until: str = Field(description="the agent's last own event: what this review could know")
    silent_since: str | None = Field(
        default=None,
        exclude_if=lambda since: since is None,
        description="the agent's last own event, where the agent fell dormant in this period; else absent",
    )
    pnl: PnlAttribution
    risk: Risk
    equity: list[EquityDay]
    prediction_accuracy: Accuracy
    evaluators: Evaluators | None = Field(
        default=None,
        exclude_if=lambda part: part is None,
        description="weekly and epoch: what changed of the agent's own claims and what alarms; absent without any",
    )
    actions_taken: list[Action]
    positions: list[PositionRetrospective]
    heuristic_performance: list[HeuristicReport]
    costs: Costs
    breakdowns: Breakdowns
    regimes: RegimeAnalysis | None = Field(
        default=None,
        exclude_if=lambda analysis: analysis is None,
        description="epoch and --from/--to: what was made in which regime; absent without any",
    )
    effectiveness: Effectiveness
    market: Market | None = None
    benchmark: BenchmarkSplit | None = Field(
        default=None,
        exclude_if=lambda split: split is None,
        description="where the owner names a benchmark; else absent",
    )
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

    @property
    def is_in_cash(self) -> bool:
        """Whether doing nothing meant holding cash, and so says of each closed position only what it made."""
        closed = [p for p in self.positions if not p.open and p.vs_inaction is not None]
        return bool(closed) and all(p.vs_inaction == p.vs_cash for p in closed)

    @property
    def is_uneventful(self) -> bool:
        """Whether nothing was done, foretold, paid in or out, earned or spent, and nobody is warned of anything.

        A level that stands where it stood is no event; a figure that cannot be computed is none either.
        """
        moved = any(value for name, value in self.pnl if name not in _LEVELS)
        noteworthy = (
            self.actions_taken,
            self.prediction_accuracy.total,
            self.playbook_proposals,
            self.data_quality.warnings,
            self.silent_since,
            self.effectiveness.alarm,
            any(day.flow for day in self.equity),
        )
        return not moved and not any(noteworthy)

    @property
    def last_equity(self) -> float | None:
        """The last equity known of the period."""
        return next((day.equity for day in reversed(self.equity) if day.equity is not None), None)

    @property
    def open_positions(self) -> OpenPositions:
        """What stands open at its end: beside every figure of closed positions."""
        return open_positions_of(self.positions)

    @property
    def result(self) -> float | None:
        """What a headline may say the period made; None where all that moved were positions whose quote nobody priced."""
        is_known = all(position.is_priced or position.is_believed for position in self.positions)
        return self.pnl.believed if self.pnl.believed or is_known else None

    @property
    def believed_positions(self) -> list[PositionRetrospective]:
        """Its positions but for the implausible ones, which data quality lists apart."""
        return [position for position in self.positions if position.is_believed]
