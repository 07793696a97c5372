"""Why live was not the backtest: the difference of two agents of one strategy, line by line. Money in base currency."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from retro.report.form import Document, Reasons

__all__ = [
    "CauseTotal",
    "DriftCause",
    "DriftCauses",
    "DriftLines",
    "DriftPair",
    "DriftReport",
    "DriftSensitivity",
    "DriftSummary",
    "DriftTag",
    "UnmatchedTrade",
]

DriftCause = Literal["order_not_filled", "slot_taken", "bot_silent", "signal_differs", "unknown"]


class DriftLines(Document):
    """What each line adds to live less backtest; the eight add up to the difference."""

    entry_price: float
    exit_price: float = Field(description="of pairs that left for the same reason")
    exit_reason: float = Field(description="the exit price of pairs that left for different reasons")
    size: float
    fees: float = Field(description="trading fees and gas: below 0 live paid more")
    funding: float = Field(
        description="funding, interest and what else was received or paid while it was held"
    )
    live_only: float = Field(description="what the trades made that only live took")
    backtest_only: float = Field(description="less what the trades made that only the backtest took")


class CauseTotal(Document):
    """How many trades lack a partner for one cause, and what they add to live less backtest."""

    n: int
    amount: float


class DriftCauses(Document):
    """Unmatched trades by what is known of the other side at their entry: the first cause that applies."""

    order_not_filled: CauseTotal = Field(description="the other sent an order that was never filled")
    slot_taken: CauseTotal = Field(description="the other held all the trades it may, or one of that pair")
    bot_silent: CauseTotal = Field(description="the other gave no word for hours, or not yet, or no more")
    signal_differs: CauseTotal = Field(
        description="the other took the pair under another tag or side; or, of the backtest's, had room and was there"
    )
    unknown: CauseTotal


class DriftPair(Document):
    """Two trades that are one: what live made less what the backtest made, line by line."""

    live: str
    backtest: str
    instrument: str
    side: Literal["long", "short"]
    tag: str
    entry_at: str = Field(description="of the live trade")
    entry_delay_s: float = Field(description="live entry less backtest entry")
    live_exit: str = Field(description="its exit reason; `open` where it is held at the end")
    backtest_exit: str
    difference: float
    entry_price: float
    exit_price: float
    exit_reason: float
    size: float
    fees: float
    funding: float


class UnmatchedTrade(Document):
    """A trade that only one of the two took."""

    only: Literal["live", "backtest"]
    trade: str
    instrument: str
    side: Literal["long", "short"]
    tag: str
    entry_at: str
    pnl: float = Field(description="what it made")
    cause: DriftCause
    knock_on: list[str] = Field(
        description="trades of the other that held the slot and are a difference themselves: it follows from those"
    )


class DriftTag(Document):
    """The trades of one entry tag; lines as of the whole."""

    tag: str
    matched: int
    live_only: int
    backtest_only: int
    live: float
    backtest: float
    difference: float
    lines: DriftLines


class DriftSensitivity(Document):
    """The same with another window: what of the answer is the window's."""

    within: float = Field(description="candles")
    matched: int
    lines: DriftLines


class DriftSummary(Document):
    """Live less backtest over the trades entered in a review's period, as far as both tell of it; null where they do not."""

    agent: str = Field(description="the agent the backtest was read as")
    live: float | None
    backtest: float | None
    difference: float | None
    matched: int
    live_only: int
    backtest_only: int
    line: str | None = Field(description="the line that adds most, either way; null where all are 0")
    amount: float | None = Field(description="what that line adds")
    reasons: Reasons = Field(default={})


class DriftReport(Document):
    """Trades entered in [start, end), a pair by its live entry; open ones at their mark. Lines add up to the difference.

    Null where the two have no time in common.
    """

    live: float | None
    backtest: float | None
    difference: float | None
    matched: int
    lines: DriftLines | None
    live_only: DriftCauses | None
    backtest_only: DriftCauses | None
    pairs: list[DriftPair]
    unmatched: list[UnmatchedTrade]
    by_tag: list[DriftTag]
    sensitivity: list[DriftSensitivity]
    within: float = Field(description="candles between entries that may be one trade")
    start: str | None
    end: str | None
    reasons: Reasons = Field(default={})
