"""Two agents of one strategy from the store: their trades, words and unfilled orders, read in one transaction.

Read from the facts and not from settled books: whose book is behind the other's facts changes nothing, and nothing is
settled for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from retro.accounting.currencies import DOLLARS
from retro.app.settlement.tracks import Extent, load_tracks
from retro.errors import UsageError
from retro.evaluate.drift.answer import DriftTerms, drift_of, summary_of
from retro.evaluate.drift.causes import Witness
from retro.evaluate.drift.trades import compared_trade
from retro.kernels.series import median_gap
from retro.model import Decision
from retro.periods import DAY, FOREVER
from retro.report.evaluators.drift import DriftSummary
from retro.store.facts import agents, events
from retro.store.facts.last_told import last_told
from retro.store.facts.silence import left_open, told_at
from retro.store.life import LifeReader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.periods import Period
    from retro.report.evaluators.drift import DriftReport
    from retro.store.facts.agents import Agent

__all__ = ["NOT_FILLED", "ComparedAgent", "drift_between", "drift_in"]

NOT_FILLED: Final = "not_filled"
"""What `context.order` says of a decision to skip whose order was never filled."""
_BESIDE: Final = 10 * DAY
"""How far beyond the time asked for trades are read: their partners, and what held the slots."""
_HELD_FOR: Final = 30 * DAY


@dataclass(frozen=True, slots=True)
class ComparedAgent:
    """One of the two, and what its figures depend on."""

    agent: Agent
    settings: AgentSettings

    @classmethod
    def of(cls, conn: Connection, name: str, settings: AgentSettings) -> ComparedAgent:
        """An agent beside another whose settings its figures are made by."""
        agent = agents.existing_agent(conn, name)
        return cls(agent, replace(settings, base_currency=agent.base_currency or settings.base_currency))

    def known_at(self, conn: Connection, as_of: int | None) -> int:
        """K, or its last word before `as_of` where that is not after K."""
        newest = self.agent.known_until
        return newest if as_of is None or as_of > newest else last_told(conn, self.agent, as_of - 1)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """What is read of a life: facts in [start, end), microseconds, positions valued at `now`."""

    start: int
    end: int
    now: int


def drift_between(
    conn: Connection,
    live: ComparedAgent,
    backtest: ComparedAgent,
    terms: DriftTerms,
    as_of: int | None = None,
) -> DriftReport:
    """Live less backtest by what both had told before `as_of`, open trades at their marks when the earlier of the two ends.

    `UsageError` where the two do not count in one currency.
    """
    _check(live, backtest)
    now = min(side.known_at(conn, as_of) for side in (live, backtest))
    stretch = _Stretch(
        -FOREVER if terms.start is None else terms.start - _BESIDE,
        min(now + 1, FOREVER if terms.end is None else terms.end + _BESIDE),
        now,
    )
    sides = [_witness(conn, side, stretch, as_of) for side in (live, backtest)]
    (ours, our_gaps), (theirs, their_gaps) = sides
    return drift_of(ours, theirs, our_gaps | their_gaps, terms)


def drift_in(book: SettledBook, period: Period, until: int) -> DriftSummary | None:
    """What a review says of its period by what was told before `until`; None without a backtest.

    What it reads lies within days of the period, however long both lives are.
    """
    name, conn = book.settings.backtest, book.conn
    if name is None:
        return None
    if agents.agent(conn, name) is None:
        return _absent(name, f"the database knows no agent {name}")
    live = ComparedAgent(book.agent, book.settings)
    backtest = ComparedAgent.of(conn, name, book.settings)
    ends = [side.known_at(conn, until) + 1 for side in (live, backtest)]
    start, end = max(period.start, backtest.agent.first_at or 0), min(period.end, *ends)
    if start >= end:
        return _absent(name, f"{name} tells nothing of this period that {book.name} tells of, too")
    try:
        return summary_of(name, drift_between(conn, live, backtest, DriftTerms(start=start, end=end), until))
    except UsageError as error:
        return _absent(name, str(error))


def _absent(name: str, why: str) -> DriftSummary:
    absent = ("live", "backtest", "difference", "line", "amount")
    return DriftSummary(
        agent=name,
        **dict.fromkeys(absent),
        matched=0,
        live_only=0,
        backtest_only=0,
        reasons=dict.fromkeys(absent, why),
    )


def _check(live: ComparedAgent, backtest: ComparedAgent) -> None:
    if live.agent.name == backtest.agent.name:
        return  # a life against itself: every line is 0
    ours, theirs = live.settings.base_currency, backtest.settings.base_currency
    if ours != theirs and not {ours.upper(), theirs.upper()} <= DOLLARS:
        raise UsageError(
            f"{live.agent.name} counts in {ours}, {backtest.agent.name} in {theirs}: [agent.{backtest.agent.name}]"
            f' base_currency = "{ours}" counts it in the same'
        )


def _witness(
    conn: Connection, side: ComparedAgent, stretch: _Stretch, as_of: int | None
) -> tuple[Witness, dict[str, int]]:
    """What is known of one side, and the median candle gap of its instruments."""
    life, name = LifeReader(conn, side.agent.name), side.agent.name
    names = {
        *events.positions_touched(conn, name, stretch.start, stretch.end),
        *left_open(conn, name, stretch.start - _HELD_FOR, stretch.start),
    }
    now = stretch.now
    loaded = load_tracks(life, side.settings, sorted(names), Extent(now, now + 1, now, now))
    candidates = (compared_trade(track, now, loaded.prices) for track in loaded.tracks.values())
    trades = tuple(trade for trade in candidates if trade is not None)
    return (
        Witness(
            trades,
            told_at(conn, name, stretch.start, stretch.end),
            _unfilled(events.between(conn, name, stretch.start, stretch.end, types=[Decision])),
            side.agent.first_at or 0,
            side.known_at(conn, as_of),
        ),
        {
            instrument: round(gap)
            for instrument in sorted({trade.instrument for trade in trades})
            if (gap := median_gap(loaded.prices.line(instrument).t, stretch.start, stretch.end))
        },
    )


def _unfilled(decisions: Iterable[Decision]) -> list[tuple[str, int]]:
    """Orders that were never filled, as a decision to skip says in its context: the instrument, and when."""
    return [
        (decision.instrument, decision.at)
        for decision in decisions
        if decision.action == "skip"
        and decision.instrument
        and (decision.context or {}).get("order") == NOT_FILLED
    ]
