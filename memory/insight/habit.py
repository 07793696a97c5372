"""Habits: what the agent does again and again with one strategy on one symbol, and what comes of it.

Every figure has a formula and a unit here, or it is not kept; each is a function of the ledger as of an instant, over a
rolling window of 20 + 80 * stability trades.
Source: docs/memory.md, Formulas: Habits; disposition effect: Shefrin and Statman (1985), Odean (1998).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from memory.episodic import cache
from memory.episodic.columns import FOREVER
from memory.episodic.episode import Episode, from_document
from memory.episodic.results import results_of
from memory.insight.drift import Drift, drift
from memory.insight.practice import (
    NARROW,
    PAIRS,
    SIDES,
    disposition,
    entry_advantage,
    exit_advantage,
    full_kelly,
    holds,
    loss_aversion,
    median,
    recency_bias,
    risked,
    size_vs_kelly,
    stability,
    timing,
    variation,
    win_rate,
)
from memory.settings import STANDARD, Settings
from memory.situation.context import code
from memory.store import ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from memory.episodic.columns import EpisodeColumns
    from memory.situation.context import Codes, Floats

WIDE: Final = 100
UNKNOWN_STABILITY: Final = 0.5


@dataclass(frozen=True, slots=True)
class Habit:
    """One strategy on one symbol; a figure that cannot be computed is None and `reasons` says why.

    `win_rate` of decided trades in the window; `mean_r`; `median_hold_s` of winners and losers; `disposition` their
    ratio losers / winners (above 1: losers are held longer) with a 95 % interval; `size_vs_kelly` mean risked share
    of equity over the window's full Kelly, `size_variation` the coefficient of variation of the amount risked;
    `loss_aversion` median |R| of losers / winners; `recency_bias` rank correlation of size with the last result;
    `entry_timing`, `exit_timing` median advantage over the stated target as a share of it (above 0: better);
    `stability` 1 - IQR of R over windows / IQR of all, in 0..1; `drift` the fields of `memory.insight.drift.Drift` and
    `words`, what they say in a sentence, over all complete weeks and not the window.
    """

    agent: str
    strategy: str | None
    symbol: str | None
    trades: int
    window: int
    first_at: int
    last_at: int
    win_rate: float | None
    mean_r: float | None
    median_hold_s_winners: float | None
    median_hold_s_losers: float | None
    disposition: float | None
    disposition_interval: tuple[float, float] | None
    winners: int
    losers: int
    kelly: float | None
    size_vs_kelly: float | None
    size_variation: float | None
    loss_aversion: float | None
    recency_bias: float | None
    entry_timing: float | None
    exit_timing: float | None
    stability: float | None
    drift: dict[str, Any]
    reasons: dict[str, str] = field(default_factory=dict)


def habits(
    conn: Connection,
    agent: str,
    *,
    as_of: int | None = None,
    strategy: str | None = None,
    symbol: str | None = None,
    settings: Settings = STANDARD,
    seed: int = 0,
) -> tuple[Habit, ...]:
    """The agent's habits per strategy and symbol as of an instant (default: now), the most practised first.

    `seed` draws the bootstrap of the disposition interval: the same ledger and seed give the same interval.
    """
    columns = cache.columns(conn, agent, settings.registry)
    n = columns.until(FOREVER if as_of is None else as_of)
    # no clock is asked: without an instant, a week is complete once something later was told or reviewed
    complete_at = columns.complete_at if as_of is None else as_of
    rows = []
    for places in _practised(columns, n, strategy, symbol):
        numbers = [int(number) for number in columns.number[places[-WIDE:]]]
        documents = ledger.numbered(conn, agent, numbers)
        last = [from_document(documents[number]) for number in numbers]
        equity = _equity_before(columns, places[-WIDE:], settings.capital)
        rows.append(_habit(agent, columns, places, last, equity, seed, complete_at))
    return tuple(sorted(rows, key=lambda habit: (-habit.trades, habit.strategy or "", habit.symbol or "")))


def _practised(columns: EpisodeColumns, n: int, strategy: str | None, symbol: str | None) -> list[Codes]:
    """The places of the trades with an outcome of each strategy and symbol, in order of time."""
    chosen = ~np.isnan(results_of(columns)[:n])
    if strategy is not None:
        chosen &= columns.strategy[:n] == code(strategy)
    if symbol is not None:
        chosen &= columns.symbol[:n] == code(symbol)
    places = np.flatnonzero(chosen)
    if not len(places):
        return []
    strategies, symbols = columns.strategy[places], columns.symbol[places]
    order = np.lexsort((symbols, strategies))
    edges = (np.diff(strategies[order]) != 0) | (np.diff(symbols[order]) != 0)
    return [np.sort(places[piece]) for piece in np.split(order, np.flatnonzero(edges) + 1)]


def _equity_before(columns: EpisodeColumns, places: Codes, capital: float | None) -> Floats | None:
    """The agent's equity just before each of these trades was booked, from all its trades; None without capital."""
    if capital is None:
        return None
    total = np.cumsum(np.concatenate(([capital], np.where(np.isnan(columns.pnl), 0.0, columns.pnl))))
    return np.asarray(total[places])


def _figure(reasons: dict[str, str], name: str, value: float | None, why: str) -> float | None:
    """The value; where there is none, why is noted under its name."""
    if value is None:
        reasons[name] = why
    return value


def _habit(
    agent: str,
    columns: EpisodeColumns,
    places: Codes,
    last: Sequence[Episode],
    equity: Floats | None,
    seed: int,
    complete_at: int,
) -> Habit:
    with_r = places[~np.isnan(columns.r[places])]
    r_all = columns.r[with_r]
    # the window follows stability: a strategy that changes is judged by its last trades, a steady one by up to a hundred
    steady = stability(r_all[-WIDE:])
    window = round(NARROW + (WIDE - NARROW) * (UNKNOWN_STABILITY if steady is None else steady))
    episodes = list(last[-window:])
    reasons: dict[str, str] = {}
    figure = partial(_figure, reasons)
    winner_s, loser_s = holds(episodes)
    r = np.array([episode.pnl_r for episode in episodes if episode.pnl_r is not None])
    full = full_kelly(r)
    ratio, interval = disposition(winner_s, loser_s, seed=seed)
    if interval is None:
        reasons["disposition_interval"] = f"fewer than {SIDES} winners or losers with a holding time"
    return Habit(
        agent=agent,
        strategy=last[-1].strategy,
        symbol=last[-1].symbol,
        trades=len(places),
        window=len(episodes),
        first_at=int(columns.at[places[0]]),
        last_at=int(columns.at[places[-1]]),
        win_rate=figure("win_rate", win_rate(episodes), "no trade in the window won or lost"),
        mean_r=figure("mean_r", float(r.mean()) if len(r) else None, "no outcome in R"),
        median_hold_s_winners=figure("median_hold_s_winners", median(winner_s), "no winner's holding time"),
        median_hold_s_losers=figure("median_hold_s_losers", median(loser_s), "no loser's holding time"),
        disposition=figure("disposition", ratio, "no holding times of both winners and losers"),
        disposition_interval=interval,
        winners=len(winner_s),
        losers=len(loser_s),
        kelly=figure("kelly", full, "needs wins and losses in R"),
        size_vs_kelly=figure("size_vs_kelly", *size_vs_kelly(episodes, equity, full)),
        size_variation=figure(
            "size_variation", variation(risked(episodes)), "fewer than two trades whose risk is known"
        ),
        loss_aversion=figure("loss_aversion", loss_aversion(r), "needs wins and losses in R"),
        recency_bias=figure(
            "recency_bias",
            recency_bias(episodes),
            f"fewer than {PAIRS} sizes after a result, or all sizes equal",
        ),
        entry_timing=figure(
            "entry_timing", timing(episodes, "entry_target", entry_advantage), "no entry target is stated"
        ),
        exit_timing=figure(
            "exit_timing", timing(episodes, "exit_target", exit_advantage), "no exit target is stated"
        ),
        stability=figure("stability", steady, f"fewer than {2 * NARROW} outcomes in R"),
        drift=_drift_document(drift(columns.at[with_r], r_all, until=complete_at), reasons),
        reasons=reasons,
    )


def _drift_document(outcome_drift: Drift, reasons: dict[str, str]) -> dict[str, Any]:
    """The drift with its sentence beside it; why nothing can be said is noted.

    It is that of the whole life, not of the window: where a change began may lie before it.
    """
    if outcome_drift.reason is not None:
        reasons["drift"] = outcome_drift.reason
    return {**asdict(outcome_drift), "words": outcome_drift.words}
