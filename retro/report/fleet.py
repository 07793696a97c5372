"""Every agent on one page: what each of them wants of a person, and what its last complete week came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from retro.report.extremes import movers
from retro.report.form import Document, Reasons

if TYPE_CHECKING:
    from retro.report.period import RetrospectiveReport

__all__ = [
    "AgentState",
    "AgentWeek",
    "FleetCurrency",
    "FleetReport",
    "FleetWish",
    "WeekCorrection",
    "WeekLine",
    "WishKind",
    "line_of",
]

AgentState = Literal["awake", "dormant", "dead", "new"]
"""It tells of itself; it has told nothing for weeks; it has told of its end; it has told nothing yet."""
WishKind = Literal["alarm", "silence", "parked", "delivery", "proposal"]


class WeekLine(Document):
    """A weekly review in one line, stored beside it, so that a page of all agents reads no review."""

    currency: str
    pnl: float | None = Field(description="what the headline says the week made; null: of an unpriced quote")
    against_nothing: float | None = Field(description="sum of vs_inaction over the closed positions")
    over_market: float | None = Field(description="return less that of the pairs left alone, a share")
    closed: int
    mover: str | None = Field(description="the position that moved most")
    mover_pnl: float | None
    alarm: str | None


class FleetWish(Document):
    """One thing that an agent wants of a person: how many of them, and what in a few words."""

    kind: WishKind
    number: int
    text: str


class AgentWeek(Document):
    """One agent: how it stands, and its last complete week; null where there is none, with the reason."""

    agent: str
    state: AgentState
    last_event: str | None
    wishes: list[FleetWish]
    review: str | None
    revision: int | None
    currency: str
    pnl: float | None
    against_nothing: float | None
    over_market: float | None
    mover: str | None
    mover_pnl: float | None
    reasons: Reasons = Field(default={})


class FleetCurrency(Document):
    """The sums of the agents that count in one currency; of different currencies nothing is added up."""

    currency: str
    agents: int = Field(description="with a review of the week")
    pnl: float
    against_nothing: float | None = Field(description="over those that closed anything")
    reasons: Reasons = Field(default={})


class WeekCorrection(Document):
    """A week that was told before, and came out otherwise when late facts were in."""

    review: str
    revision: int
    before: float | None
    pnl: float | None
    currency: str


class FleetReport(Document):
    """Every agent of the database: those that want a person first; `omitted` counts those not listed."""

    week: str | None = Field(description="the newest week that any agent's review is done of")
    generated_at: str
    agents: int
    wanting: int = Field(description="agents that want something")
    reviewed: int = Field(description="agents with a review of the week")
    currencies: list[FleetCurrency]
    sources: list[str] = Field(description="what stands in the way of sources")
    rows: list[AgentWeek]
    omitted: int
    corrections: list[WeekCorrection] = Field(default=[])
    corrections_omitted: int = 0
    older: int = Field(default=0, description="reviews of older weeks that a mail speaks for too")


def line_of(report: RetrospectiveReport) -> WeekLine:
    """A week's review in one line."""
    moved = next((position for position in movers(report.positions) if position.period_pnl), None)
    return WeekLine(
        currency=report.base_currency,
        pnl=report.result,
        against_nothing=report.effectiveness.sum_vs_inaction,
        over_market=None if report.market is None else report.market.over_market,
        closed=report.effectiveness.closed_positions,
        mover=None if moved is None else moved.position_id,
        mover_pnl=None if moved is None else moved.period_pnl,
        alarm=report.effectiveness.alarm_text if report.effectiveness.alarm else None,
    )
