"""The figures of a habit, each a function of a window of closed trades in order of time."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from memory.episodic.results import signs
from memory.situation.context import code

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.episodic.episode import Episode
    from memory.situation.context import Floats

NARROW: Final = 20
"""Trades of the narrowest window, and of one window of the stability."""
SIDES: Final = 5
"""Winners and losers each, before an interval of their holding times is drawn."""
PAIRS: Final = 10
"""Sizes after a result, before they are correlated with it."""
_RESAMPLES: Final = 999
_FLAT: Final = 1e-12


def stability(r: Floats) -> float | None:
    """1 - IQR(means of R over consecutive windows of 20, newest last) / IQR(R), clipped to [0, 1].

    1 when every outcome is the same; None with fewer than two windows.
    """
    windows = len(r) // NARROW
    if windows < 2:
        return None
    used = r[len(r) - windows * NARROW :]
    spread = _iqr(used)
    means = _iqr(used.reshape(windows, NARROW).mean(axis=1))
    if spread < _FLAT:
        return 1.0 if means < _FLAT else 0.0
    return float(min(1.0, max(0.0, 1.0 - means / spread)))


def _iqr(values: Floats) -> float:
    low, high = np.percentile(values, [25, 75])
    return float(high - low)


def full_kelly(r: Floats) -> float | None:
    """Full Kelly p/a - q/b of outcomes in R, unweighted; None without wins or without losses."""
    wins, losses = r[r > 0], -r[r < 0]
    if not len(wins) or not len(losses):
        return None
    p = len(wins) / (len(wins) + len(losses))
    return float(p / losses.mean() - (1.0 - p) / wins.mean())


def disposition(
    winners: Floats, losers: Floats, *, seed: int = 0
) -> tuple[float | None, tuple[float, float] | None]:
    """Median holding time of losers / winners, and its 95 % percentile bootstrap interval.

    Times in seconds, > 0. None without both; the interval is None with fewer than 5 of either.
    """
    if not len(winners) or not len(losers):
        return None, None
    ratio = float(np.median(losers) / np.median(winners))
    if min(len(winners), len(losers)) < SIDES:
        return ratio, None
    rng = np.random.default_rng(seed)
    over = np.median(rng.choice(losers, (_RESAMPLES, len(losers))), axis=1)
    under = np.median(rng.choice(winners, (_RESAMPLES, len(winners))), axis=1)
    low, high = np.percentile(over / under, [2.5, 97.5])
    return ratio, (float(low), float(high))


def holds(episodes: Sequence[Episode]) -> tuple[Floats, Floats]:
    """Holding times in seconds of (winners, losers); a time of 0 is none."""
    timed = [
        (episode.held_for_s, episode.result)
        for episode in episodes
        if episode.held_for_s and episode.result is not None
    ]
    return (
        np.array([seconds for seconds, result in timed if result > 0], dtype=np.float64),
        np.array([seconds for seconds, result in timed if result < 0], dtype=np.float64),
    )


def median(values: Floats) -> float | None:
    """The median, or None of nothing."""
    return float(np.median(values)) if len(values) else None


def win_rate(episodes: Sequence[Episode]) -> float | None:
    """Share won of the trades that won or lost."""
    decided = [episode.result for episode in episodes if episode.result]
    return sum(result > 0 for result in decided) / len(decided) if decided else None


def risked(episodes: Sequence[Episode]) -> list[float | None]:
    """The amount at risk of each trade: its pnl over its R; None where that cannot be told."""
    return [
        episode.pnl / episode.pnl_r if episode.pnl is not None and episode.pnl_r else None
        for episode in episodes
    ]


def size_vs_kelly(
    episodes: Sequence[Episode], equity: Floats | None, full: float | None
) -> tuple[float | None, str]:
    """(mean risked share of equity / full Kelly, why not); `equity` runs parallel to the end of the window."""
    if equity is None:
        return None, "no capital is known"
    if full is None or full <= 0:
        return None, "the window has no positive Kelly fraction"
    amounts = zip(risked(episodes), equity[-len(episodes) :].tolist(), strict=True)
    shares = [amount / had for amount, had in amounts if amount is not None and amount > 0 and had > 0]
    if not shares:
        return None, "no trade whose risk is known"
    return math.fsum(shares) / len(shares) / full, ""


def variation(amounts: Sequence[float | None]) -> float | None:
    """Coefficient of variation (ddof 1) of the known positive amounts; None of fewer than two."""
    positive_amounts = np.array([amount for amount in amounts if amount is not None and amount > 0])
    return (
        float(positive_amounts.std(ddof=1) / positive_amounts.mean()) if len(positive_amounts) >= 2 else None
    )


def loss_aversion(r: Floats) -> float | None:
    """Median |R| of losers / of winners; None without both."""
    wins, losses = r[r > 0], -r[r < 0]
    return float(np.median(losses) / np.median(wins)) if len(wins) and len(losses) else None


def recency_bias(episodes: Sequence[Episode]) -> float | None:
    """Spearman's rank correlation of each trade's size with the result of the trade before it."""
    pairs = [
        (abs(now.size) * (now.entry_price or 1.0), before.result)
        for before, now in pairwise(episodes)
        if now.size is not None and before.result is not None
    ]
    if len(pairs) < PAIRS:
        return None
    size_ranks, result_ranks = (_ranks(np.array(side, dtype=np.float64)) for side in zip(*pairs, strict=True))
    size_ranks, result_ranks = size_ranks - size_ranks.mean(), result_ranks - result_ranks.mean()
    scale = math.sqrt(float((size_ranks**2).sum() * (result_ranks**2).sum()))
    return float((size_ranks * result_ranks).sum()) / scale if scale > _FLAT else None


def _ranks(values: Floats) -> Floats:
    """Ranks from 1, ties sharing their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2.0)[inverse])


def entry_advantage(episode: Episode, target: float, side: int) -> float | None:
    """How much better than the target it was entered, as a share of the target."""
    return None if episode.entry_price is None else side * (target - episode.entry_price) / target


def exit_advantage(episode: Episode, target: float, side: int) -> float | None:
    """How much better than the target it was left, as a share of the target."""
    return None if episode.exit_price is None else side * (episode.exit_price - target) / target


def timing(
    episodes: Sequence[Episode], name: str, advantage: Callable[[Episode, float, int], float | None]
) -> float | None:
    """The median advantage over the target that episodes state under this name; None when none does."""
    advantages = []
    for episode in episodes:
        target = episode.more.get(name)
        side = 0 if episode.direction is None else int(signs(np.array([code(episode.direction)]))[0])
        if side and isinstance(target, int | float) and not isinstance(target, bool) and target > 0:
            advantages.append(advantage(episode, float(target), side))
    priced = [value for value in advantages if value is not None]
    return float(np.median(priced)) if priced else None
