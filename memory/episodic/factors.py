"""The factors of a recall that do not depend on the situation: outcome quality, recency, affect.

Source: docs/memory.md, Formulas: Scores.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from memory.instants import DAY

if TYPE_CHECKING:
    from memory.episodic.columns import EpisodeColumns
    from memory.situation.context import Codes, Floats

SENSITIVITY: Final = 2.0
"""k of the outcome quality."""
WINDOW: Final = 100
"""Outcomes that set the scale of R."""
PRIOR_SCALE: Final = 1.5
PRIOR_WEIGHT: Final = 10
LEAST_SCALE: Final = 0.5
AFFECT: Final = 0.3
"""alpha of the affect factor: its supremum is 1 + .3 * .5 = 1.15."""
BOOST: Final = 1.5
EPISODE_TAU: Final = 30.0
EPISODE_DECAY: Final = 0.5
BELIEF_TAU: Final = 180.0
BELIEF_DECAY: Final = 0.3
_SHARPE_DAYS: Final = 30
_SHARPE_LEAST: Final = 5
_SHARPE_UNKNOWN: Final = 0.75


def scale(r: Floats) -> float:
    """The scale of R multiples, sigma: root mean square about zero, shrunk to 1.5 with 10 pseudo-trades, at least .5.

    `r` holds the last outcomes (at most 100 count), without gaps; none gives the prior's 1.5.
    """
    last = r[-WINDOW:]
    total = math.fsum(value * value for value in last.tolist())
    return max(LEAST_SCALE, math.sqrt((total + PRIOR_WEIGHT * PRIOR_SCALE**2) / (len(last) + PRIOR_WEIGHT)))


def scale_at(columns: EpisodeColumns, n: int) -> float:
    """Sigma as of the first n episodes: of the last 100 that have an R, whatever was asked for."""
    if "r" not in columns.memo:
        columns.memo["r"] = np.flatnonzero(~np.isnan(columns.r))
    places = columns.memo["r"]
    stop = int(np.searchsorted(places, n, side="left"))
    return scale(columns.r[places[max(0, stop - WINDOW) : stop]])


def quality(r: Floats, sigma: float) -> Floats:
    """Q = sigmoid(2 r / sigma) in [0, 1]; .5 where there is no R."""
    with np.errstate(over="ignore"):  # exp(+large) is inf and Q is then the 0 it should be
        q = np.exp(r * (-SENSITIVITY / sigma))
    q += 1.0
    np.reciprocal(q, out=q)
    q[np.isnan(q)] = 0.5
    return q


def recency(at: Codes, as_of: int, tau: float = EPISODE_TAU, decay: float = EPISODE_DECAY) -> Floats:
    """Rec = (1 + age / tau)^-decay in (0, 1] with the age in fractional days; no `at` lies after `as_of`."""
    age = (as_of - at).astype(np.float64)
    age *= 1.0 / (DAY * tau)
    age += 1.0
    if decay == 0.5:
        np.sqrt(age, out=age)
        return np.reciprocal(age, out=age)
    return np.asarray(age**-decay)


def affect(r: Floats, drawdown_state: float | None, losing_streak: int) -> Floats:
    """Aff = 1 + .3 relevance in [1, 1.15].

    In a drawdown_state above .5, losses beyond -1.5 R weigh .5 and gains beyond 2 R .3; else, in a losing streak of
    three or more, winners weigh .3. Losses are warnings and are never suppressed. No R is neutral.
    """
    factor = np.ones(len(r), dtype=np.float64)
    if drawdown_state is not None and drawdown_state > 0.5:
        factor[r < -1.5] += AFFECT * 0.5
        factor[r > 2.0] += AFFECT * 0.3
    elif losing_streak >= 3:
        factor[r > 0] += AFFECT * 0.3
    return factor


def boost(judged: Codes, as_of: int) -> Floats:
    """1.5 for episodes that a review had judged by then, else 1: set, never multiplied."""
    return np.where(judged <= as_of, BOOST, 1.0)


def sharpe_weight(columns: EpisodeColumns, n: int) -> Floats:
    """The optional multiplier of the first n episodes: .5 + .5 * clip(Sharpe of the 30 days up to each, 0, 3).

    The window trails, so nothing looks ahead; the Sharpe of the R multiples is scaled by the square root of the
    trades a year that the window's rate implies. Fewer than 5 outcomes, or no spread: .75.
    """
    r, at = columns.r[:n], columns.at[:n]
    has_r = ~np.isnan(r)
    filled = np.where(has_r, r, 0.0)
    start = np.searchsorted(at, at - _SHARPE_DAYS * DAY, side="right")
    stop = np.searchsorted(at, at, side="right")

    def summed(values: Floats) -> Floats:
        total = np.concatenate(([0.0], np.cumsum(values)))
        return np.asarray(total[stop] - total[start])

    count, total, squares = summed(has_r.astype(np.float64)), summed(filled), summed(filled * filled)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / count
        spread = np.sqrt((squares - count * mean * mean) / (count - 1))
        sharpe = mean / spread * np.sqrt(count * (365.0 / _SHARPE_DAYS))
    weight = 0.5 + 0.5 * np.clip(sharpe, 0.0, 3.0)
    usable = (count >= _SHARPE_LEAST) & (spread > 1e-9)
    return np.where(usable, weight, _SHARPE_UNKNOWN)
