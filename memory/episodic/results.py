"""Columns that follow from results: streaks, signs, equity, drawdown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from memory.situation.context import Codes, Floats, code

if TYPE_CHECKING:
    from memory.episodic.columns import EpisodeColumns
    from memory.settings import Settings


__all__ = [
    "LEAST_APPETITE",
    "MarkedEquity",
    "appetite",
    "drawdown_of",
    "drawdown_state",
    "equity_of",
    "results_of",
    "signs",
    "streaks",
]


LEAST_APPETITE: Final = 0.1


@dataclass(frozen=True, slots=True)
class MarkedEquity:
    """What an agent is worth with its open positions at their marks, as whoever knows prices computed it.

    `equity`: money at `at`. `drawdown`: share, 0 or above, below its highest since `start_at`, the owner's flows chained
    out. Episodes know closed trades alone, so the memory cannot compute it.
    """

    at: int
    start_at: int
    equity: float
    drawdown: float

    @property
    def peak(self) -> float | None:
        """The highest it was, in the money of `at`; None where nothing is left of it."""
        return self.equity / (1.0 - self.drawdown) if self.drawdown < 1.0 else None


def results_of(columns: EpisodeColumns) -> Floats:
    """Each episode's outcome whose sign says won or lost: R where known, else money, else NaN."""
    if "results" not in columns.memo:
        columns.memo["results"] = np.where(np.isnan(columns.r), columns.pnl, columns.r)
    results: Floats = columns.memo["results"]
    return results


def streaks(results: Floats) -> tuple[int, int]:
    """(wins, losses) in a row at the end; a scratch ends both, what has no outcome does not count."""
    for size in (64, 1024, len(results)):
        last = results[-size:] if size else results
        last = last[~np.isnan(last)]
        if not len(last):
            continue
        sign = np.sign(last[-1])
        other = np.flatnonzero(np.sign(last) != sign)
        if len(other) or size >= len(results):
            length = len(last) - (int(other[-1]) + 1 if len(other) else 0)
            return (length if sign > 0 else 0, length if sign < 0 else 0)
    return 0, 0


def equity_of(columns: EpisodeColumns, n: int, capital: float | None) -> tuple[float | None, float | None]:
    """(equity, peak equity) of closed trades after the first n episodes; (None, None) without capital."""
    if capital is None:
        return None, None
    key, (equity, peak) = columns.memo.get("equity", (None, (0.0, 0.0)))
    if key != (n, capital):
        path = _equity_path(columns.pnl[:n], capital)
        equity, peak = float(path[-1]), float(path.max())
        columns.memo["equity"] = ((n, capital), (equity, peak))
    return equity, peak


def _equity_path(pnl: Floats, capital: float) -> Floats:
    return np.cumsum(np.concatenate(([capital], np.where(np.isnan(pnl), 0.0, pnl))))


def drawdown_of(
    columns: EpisodeColumns, n: int, capital: float | None, marked: MarkedEquity | None
) -> float | None:
    """Share of the peak, 0 or above: of the marked equity where it is known, else of the first n closed trades."""
    if marked is not None:
        return marked.drawdown
    equity, peak = equity_of(columns, n, capital)
    return None if equity is None or peak is None else (peak - equity) / peak


def drawdown_state(columns: EpisodeColumns, n: int, settings: Settings) -> float | None:
    """min(1, drawdown / limit) of closed trades after the first n episodes; None without capital."""
    drawdown = drawdown_of(columns, n, settings.capital, None)
    return None if drawdown is None else min(1.0, drawdown / settings.drawdown_limit)


def appetite(drawdown: float, limit: float) -> float:
    """risk_appetite = max(.1, 1 - (drawdown / limit)^2): it lessens, it never stops; stopping is the halt flag."""
    return max(LEAST_APPETITE, 1.0 - min(1.0, drawdown / limit) ** 2)


def signs(direction: Codes) -> npt.NDArray[np.int8]:
    """+1 for a long, -1 for a short, 0 for anything else."""
    long = (direction == code("long")) | (direction == code("buy"))
    short = (direction == code("short")) | (direction == code("sell"))
    return np.asarray(long.astype(np.int8) - short.astype(np.int8), dtype=np.int8)
