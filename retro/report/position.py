"""The whole life of one position: its path, what stands beside it in hindsight, and what it was made for."""

from __future__ import annotations

from pydantic import Field
from pydantic.dataclasses import dataclass

from retro.periods import parse_instant
from retro.report.form import Reasons
from retro.report.money import PnlAttribution
from retro.report.slotted import CLOSED, SlottedDocument

__all__ = ["Checkpoint", "Cites", "EntryPrediction", "PathPoint", "PositionRetrospective"]


@dataclass(config=CLOSED, frozen=True, slots=True, kw_only=True)
class Checkpoint(SlottedDocument):
    """One point of a position's trajectory."""

    offset: str = Field(kw_only=True, description='"1h", "4h", ..., "exit"')
    at: str
    pnl: float | None
    mark_age_s: float | None
    stale: bool


@dataclass(config=CLOSED, frozen=True, slots=True, kw_only=True)
class PathPoint(SlottedDocument):
    """One point of the drawn path: 0 at the entry, gross pnl at a mark inside the position's life, the result at the end."""

    at: str
    pnl: float


@dataclass(config=CLOSED, frozen=True, slots=True, kw_only=True)
class Cites(SlottedDocument):
    """Heuristic ids and tags by role."""

    entry: list[str] = Field(kw_only=True, default=[])
    exit: list[str] = Field(kw_only=True, default=[])


@dataclass(config=CLOSED, frozen=True, slots=True, kw_only=True)
class EntryPrediction(SlottedDocument):
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


@dataclass(config=CLOSED, frozen=True, slots=True, kw_only=True)
class PositionRetrospective(SlottedDocument):
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
    final_pnl: float | None
    period_pnl: float | None
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
    vs_pair: float | None = Field(
        kw_only=True, default=None, description="against holding the pair from entry to exit"
    )
    left_on_table: float | None
    left_on_table_capped: float | None
    hold_on: float | None
    post_exit_trajectory: list[Checkpoint]
    attribution: PnlAttribution
    entry_reasoning: str | None
    exit_reasoning: str | None = None
    exit_reason: str | None = None
    cites: Cites
    entry_predictions: list[EntryPrediction]
    what_went_wrong: str | None
    lesson: str | None
    flags: list[str]
    reasons: Reasons
    path: list[PathPoint] = Field(
        kw_only=True,
        default=[],
        description="thinned for drawing: first, last and extremes kept; in a period's review of those its page draws",
    )

    @property
    def is_priced(self) -> bool:
        """Whether something says what it is worth: not of an open position without a mark, nor of an unpriced quote."""
        return self.final_pnl is not None

    @property
    def is_believed(self) -> bool:
        """Whether its figures may enter a rate, an audit or a ranking; the gain of an implausible one may not."""
        return "implausible" not in self.flags if self.final_pnl is None else self.counts(self.final_pnl)

    def counts(self, outcome: float) -> bool:
        """Whether an outcome of it is believed: of an implausible position its losses are, unless it was rejected."""
        return "implausible" not in self.flags or (outcome < 0 and "rejected" not in self.flags)

    def closed_in(self, start: int, end: int) -> bool:
        """Whether it was closed in [start, end), instants in microseconds."""
        return self.exit_at is not None and start <= parse_instant(self.exit_at) < end
