"""The page of the morning: is it alive, what came in, what wants a person, what was learned, what ripens next.

Instants are RFC 3339 UTC; ages are for the page to say. What cannot be said is null with its reason.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from retro.report.fleet import AgentWeek, WishKind
from retro.report.form import Document, Reasons

__all__ = [
    "Arrivals",
    "ClosedMoney",
    "LifeSign",
    "MindChange",
    "MonthDay",
    "MonthMoney",
    "NextReview",
    "OwnerWish",
    "ReversedLife",
    "RipeningKind",
    "RipeningRow",
    "TodayReport",
]

RipeningKind = Literal["rule", "exit", "prediction", "shadow", "hypothesis", "experiment"]


class LifeSign(Document):
    """One sign of life: an agent's newest event, the newest mark, a knock of the service, the file of a source.

    Of a playbook only that it cannot be read, under its agent's name.
    """

    kind: Literal["agent", "marks", "service", "source", "playbook"]
    name: str
    at: str | None
    state: Literal["well", "late", "broken"]
    mend: str = Field(default="", description="what to do about it, where it is not well")
    reasons: Reasons = Field(default={})


class ClosedMoney(Document):
    """What closed positions made, of the agents that count in one currency."""

    currency: str
    closed: int
    counted: int = Field(description="of those with a result that is believed")
    pnl: float | None
    against_nothing: float | None
    reasons: Reasons = Field(default={})


class Arrivals(Document):
    """What was finished after the owner looked last; of an owner who never has, what all closed positions made."""

    reviews: int | None
    corrected: list[str] | None = Field(description="reviews whose figures changed, by id")
    closed: int
    money: list[ClosedMoney]
    reasons: Reasons = Field(default={})


class OwnerWish(Document):
    """One thing that wants a person; `agent` null: of nobody in particular."""

    agent: str | None
    kind: WishKind | Literal["source", "ended"]
    text: str
    review: str | None = Field(default=None, description="where it is read in full")


class ReversedLife(Document):
    """A closed position that ended on the other side of 0 than its first hours stood."""

    agent: str
    position: str
    review: str
    closed_at: str
    currency: str
    result: float
    against_nothing: float | None
    reversal: float = Field(description="|result less the PnL at 4 h, else 1 h| as a share of the notional")
    path: list[int] | None = Field(description="24 levels from its deepest loss, 0, to its peak, 255")
    reasons: Reasons = Field(default={})


class MindChange(Document):
    """A rule of which the newest week says another thing than the one before."""

    agent: str
    rule: str
    role: str
    review: str
    before_verdict: str
    before_evidence: str
    verdict: str
    evidence: str
    n: int


class RipeningRow(Document):
    """When something will be known: a day in the agent's zone, or null with the reason why nobody can say."""

    kind: RipeningKind
    agent: str | None
    name: str
    role: str = ""
    date: str | None
    n: int | None = Field(description="outcomes, or days with a difference, so far")
    review: str | None = None
    reasons: Reasons = Field(default={})


class NextReview(Document):
    """When the next review can be made; `due` can be made now."""

    at: str | None
    due: int
    reasons: Reasons = Field(default={})


class MonthDay(Document):
    """A day of the month: what positions that closed on it made, and that summed up since the first."""

    date: str
    closed: int
    pnl: float
    so_far: float


class MonthMoney(Document):
    """The month of today, day by day up to today, of agents that count in one currency."""

    currency: str
    closed: int
    pnl: float
    against_nothing: float
    days: list[MonthDay]


class TodayReport(Document):
    """Everything an owner wants to know in the morning, of all agents or of one; read off what is stored."""

    generated_at: str
    time_zone: str
    agent: str | None
    agents: int
    since: str | None = Field(description="until when the owner has looked; null: never said")
    signs: list[LifeSign]
    unsettled: dict[str, int | None] = Field(
        description="agents whose book is behind -> the facts it does not know yet, counted to 1,000; null: settings changed"
    )
    arrivals: Arrivals
    wishes: list[OwnerWish]
    wishes_omitted: int
    unchanged: bool = Field(description="what wants a person is what it was when the owner looked")
    reversed_life: ReversedLife | None
    minds: list[MindChange]
    minds_omitted: int
    ripening: list[RipeningRow]
    ripening_omitted: int
    month: MonthMoney | None
    rows: list[AgentWeek]
    omitted: int
    next_review: NextReview
    digest: str = Field(description="of what wants a person: `retro today --seen` notes it")
    reasons: Reasons = Field(default={})
