"""What trading journals give: closed positions by what they have in common."""

from __future__ import annotations

from pydantic import Field

from retro.report.form import Document, Reasons

__all__ = ["Breakdowns", "Bucket", "CalendarDay"]


class Bucket(Document):
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


class CalendarDay(Document):
    """One day of the owner's calendar."""

    date: str
    pnl: float | None


class Breakdowns(Document):
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
    reasons: Reasons = Field(default={})
