"""The document of an agent's whole life: a report of everything so far, and its weeks in a row."""

from __future__ import annotations

from pydantic import Field

from retro.report.form import Document
from retro.report.period import RetrospectiveReport

__all__ = ["LifeReport", "LifeWeek"]


class LifeWeek(Document):
    """One ISO week of a life; the first and the last may be short."""

    week: str
    days: int
    pnl: float
    cumulative_pnl: float = Field(description="of the life up to the week's end")
    equity: float | None = Field(description="at the week's end; null when no capital is known")
    growth: float | None = Field(description="time-weighted return; null when a day of it has none")
    drawdown: float | None = Field(description="from the highest close of the life to the week's last one")
    closed_positions: int
    wins: int
    vs_inaction: float | None = Field(description="of the positions closed; null when none was")


class LifeReport(RetrospectiveReport):
    """Everything an agent did; asked for by hand, stored nowhere."""

    weeks: list[LifeWeek]
