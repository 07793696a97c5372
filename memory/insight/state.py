"""The agent's state: confidence, drawdown, streaks. A function of the ledger as of an instant, so it cannot drift.

Source: docs/memory.md, Formulas: State.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from memory.episodic import cache
from memory.episodic.factors import LEAST_SCALE, PRIOR_SCALE, PRIOR_WEIGHT, WINDOW
from memory.episodic.results import (
    _equity_path,
    appetite,
    drawdown_of,
    equity_of,
    results_of,
    signs,
    streaks,
)
from memory.errors import RefusedError
from memory.instants import written
from memory.settings import STANDARD, Settings
from memory.store import intents, ledger

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from memory.episodic.columns import EpisodeColumns
    from memory.episodic.results import MarkedEquity

PERSISTENCE: Final = 0.9
"""lambda of the confidence's moving average."""
NEUTRAL: Final = 0.5
_REMEMBERED: Final = 500
"""Trades after which the start of the moving average weighs less than a float can hold: .9 ** 500 < 1e-22."""
_PAIRS: Final = 20
_SHOWN: Final = 50


@dataclass(frozen=True, slots=True)
class TradeState:
    """The state after one trade."""

    at: int
    confidence: float | None
    equity: float | None


@dataclass(frozen=True, slots=True)
class State:
    """How the agent stands. Shares are of 1; a figure that cannot be computed is None and `reasons` says why.

    `drawdown` = (peak - equity) / peak, `drawdown_basis` says of what: of marked equity at `drawdown_at`, with the highest
    since `drawdown_start_at`, else of closed trades only. `equity`, `peak_equity` and `risk_appetite` are of the same;
    `drawdown_state` = min(1, drawdown / limit);
    `momentum_bias` in -1..1: how far entries follow (+) or oppose (-) the direction that the last trade showed right.
    """

    agent: str
    as_of: int | None
    trades: int
    confidence: float
    risk_appetite: float | None
    drawdown: float | None
    drawdown_state: float | None
    drawdown_basis: Literal["marked equity", "closed trades only"] | None
    drawdown_at: int | None
    drawdown_start_at: int | None
    momentum_bias: float | None
    consecutive_wins: int
    consecutive_losses: int
    equity: float | None
    peak_equity: float | None
    halted: bool
    halt_reason: str | None
    history: tuple[TradeState, ...]
    reasons: dict[str, str] = field(default_factory=dict)


def state(
    conn: Connection,
    agent: str,
    *,
    as_of: int | None = None,
    settings: Settings = STANDARD,
    marked: MarkedEquity | None = None,
) -> State:
    """The agent's state from every episode known at `as_of` (default: the newest); `marked`: what it was worth then."""
    columns = cache.columns(conn, agent, settings.registry)
    instant = columns.latest if as_of is None else as_of
    stopped = intents.halted(conn, agent, instant if as_of is not None else None)
    n = len(columns) if instant is None else columns.until(instant)
    return state_of(columns, n, agent=agent, as_of=instant, settings=settings, stopped=stopped, marked=marked)


def halt(conn: Connection, agent: str, *, at: int, reason: str) -> None:
    """Halt the agent from an instant on: the one thing that says stop."""
    _flag(conn, agent, at, reason, halted=True)


def resume(conn: Connection, agent: str, *, at: int, reason: str) -> None:
    """Lift the halt from an instant on."""
    _flag(conn, agent, at, reason, halted=False)


def _flag(conn: Connection, agent: str, at: int, reason: str, *, halted: bool) -> None:
    written(at)
    if not reason.strip():
        raise RefusedError("a halt and its end each need a reason")
    ledger.lock(conn, agent)
    intents.set_halt(conn, agent, at, reason, halted=halted)


def state_of(
    columns: EpisodeColumns,
    n: int,
    *,
    agent: str,
    as_of: int | None,
    settings: Settings = STANDARD,
    stopped: tuple[bool, str | None] = (False, None),
    marked: MarkedEquity | None = None,
) -> State:
    """The state after the first n episodes."""
    results = results_of(columns)[:n]
    wins, losses = streaks(results)
    drawdown = drawdown_of(columns, n, settings.capital, marked)
    equity, peak = equity_of(columns, n, settings.capital) if marked is None else (marked.equity, marked.peak)
    share = None if drawdown is None else min(1.0, drawdown / settings.drawdown_limit)
    momentum = momentum_bias(columns, n)
    reasons = {} if peak is not None else {"peak_equity": "nothing is left of what it was worth"}
    if drawdown is None:
        why = "no capital is known"
        reasons = dict.fromkeys(("risk_appetite", "drawdown", "drawdown_state", "equity", "peak_equity"), why)
    if momentum is None:
        reasons["momentum_bias"] = "fewer than two trades with a direction and an outcome"
    path = confidences(columns, n)
    return State(
        agent=agent,
        as_of=as_of,
        trades=int(np.count_nonzero(~np.isnan(results))),
        confidence=float(path[-1][1]) if path else NEUTRAL,
        risk_appetite=None if drawdown is None else appetite(drawdown, settings.drawdown_limit),
        drawdown=drawdown,
        drawdown_state=share,
        drawdown_basis=None
        if drawdown is None
        else "closed trades only"
        if marked is None
        else "marked equity",
        drawdown_at=None if drawdown is None else as_of if marked is None else marked.at,
        drawdown_start_at=None if marked is None else marked.start_at,
        momentum_bias=momentum,
        consecutive_wins=wins,
        consecutive_losses=losses,
        equity=equity,
        peak_equity=peak,
        halted=stopped[0],
        halt_reason=stopped[1],
        history=_history(columns, n, path[-_SHOWN:], settings.capital),
        reasons=reasons,
    )


def confidences(columns: EpisodeColumns, n: int) -> list[tuple[int, float]]:
    """(position, confidence) after each of the last trades: moving average .9 of sigmoid(r / sigma as of then)."""
    places = np.flatnonzero(~np.isnan(columns.r[:n]))[-_REMEMBERED - WINDOW :]
    r = columns.r[places]
    squares = np.concatenate((np.zeros(WINDOW - 1), r * r))
    sums = np.lib.stride_tricks.sliding_window_view(squares, WINDOW).sum(axis=1) if len(r) else squares[:0]
    counts = np.minimum(np.arange(1, len(r) + 1), WINDOW)
    sigma = np.maximum(LEAST_SCALE, np.sqrt((sums + PRIOR_WEIGHT * PRIOR_SCALE**2) / (counts + PRIOR_WEIGHT)))
    skip = max(0, len(r) - _REMEMBERED)
    confidence, path = NEUTRAL, []
    for place, ratio in zip(places[skip:].tolist(), (r / sigma)[skip:].tolist(), strict=True):
        confidence = PERSISTENCE * confidence + (1.0 - PERSISTENCE) * _sigmoid(ratio)
        path.append((place, confidence))
    return path


def _sigmoid(x: float) -> float:
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    grown = math.exp(x)
    return grown / (1.0 + grown)


def momentum_bias(columns: EpisodeColumns, n: int) -> float | None:
    """Mean over the last 20 trades of entry direction times the direction the trade before showed right."""
    tail = slice(max(0, n - 10 * _PAIRS), n)
    side, result = signs(columns.direction[tail]), np.sign(results_of(columns)[tail])
    usable = (side != 0) & ~np.isnan(result)
    side, result = side[usable][-_PAIRS - 1 :], result[usable][-_PAIRS - 1 :]
    if len(side) < 2:
        return None
    return float(np.mean(side[1:] * side[:-1] * result[:-1]))


def _history(
    columns: EpisodeColumns, n: int, path: list[tuple[int, float]], capital: float | None
) -> tuple[TradeState, ...]:
    if not path:
        return ()
    equity = None if capital is None else _equity_path(columns.pnl[:n], capital)
    return tuple(
        TradeState(int(columns.at[place]), confidence, None if equity is None else float(equity[place + 1]))
        for place, confidence in path
    )
