"""Why was live not the backtest? Two agents of one strategy, trade by trade."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from retro.app.reviews.drift import ComparedAgent, drift_between
from retro.app.settlement.settle import settled_book
from retro.errors import UsageError
from retro.evaluate.drift.answer import DriftTerms
from retro.periods import format_instant

if TYPE_CHECKING:
    from retro.app.settlement.settings import AgentSettings
    from retro.report.evaluators.drift import DriftReport
    from retro.store.database import Store

__all__ = ["DriftQuestion", "backtest_of", "drift"]

_WIDEST = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftQuestion:
    """Which time: trades entered in [start, end), microseconds; None: from and to where both tell anything.

    `within` candles may lie between the entries of one trade; `slots` is how many trades live may hold at once, None: as
    it shows. With `as_of` only what was told before that instant counts.
    """

    within: float = 3.0
    start: int | None = None
    end: int | None = None
    slots: int | None = None
    as_of: int | None = None


def backtest_of(settings: AgentSettings, live: str, backtest: str | None) -> str:
    """The agent a backtest was read as: the one that is named, else the configured one; `UsageError` without either."""
    name = settings.backtest if backtest is None else backtest
    if name is None:
        raise UsageError(f"BACKTEST: name the agent it was read as, or write backtest into [agent.{live}]")
    return name


def drift(store: Store, live: ComparedAgent, backtest: ComparedAgent, question: DriftQuestion) -> DriftReport:
    """Live less backtest, line by line; `UsageError` for a window that is none and for two currencies."""
    if not (isfinite(question.within) and 0 < question.within <= _WIDEST):
        raise UsageError(f"--within: {question.within:g} candles do not lie between 0 and {_WIDEST:,}")
    if question.slots is not None and question.slots < 1:
        raise UsageError(f"--slots: {question.slots} is no number of trades; 1 is the least")
    if question.start is not None and question.end is not None and question.start >= question.end:
        raise UsageError(
            f"--from {format_instant(question.start)} is not before --to {format_instant(question.end)}"
        )
    for side in (live, backtest):  # what prices a position without marks is looked up in the book
        with settled_book(store, side.agent.name, side.settings, measured=False):
            pass
    terms = DriftTerms(within=question.within, start=question.start, end=question.end, slots=question.slots)
    with store.read() as conn:
        return drift_between(conn, live, backtest, terms, question.as_of)
