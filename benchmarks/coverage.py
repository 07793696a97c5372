"""How often the audit's intervals hold the truth, and its words speak of nothing: simulated lives without any edge.

    python benchmarks/coverage.py [LIVES]

Six sorts of trades, as real ones are: normal, heavy-tailed, trend followers (a third win, and win much), mean reverters
(nine of ten win, and lose much), a mixture of calm and wild, and stops and targets (-1R, +2R). Each has a true mean of 0;
a rule has one trade a day, its role a hundred outcomes of the same sort. Of the 95 % interval: how often it holds 0 by the
rule's own spread alone, and beside its role's; then rates and regroupings where the three trades of a day move together.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from retro.kernels.uncertainty import (
    DaySums,
    by_day,
    jeffreys_interval,
    mean_estimate,
    permutation_of_days,
    permutation_p,
    rate_interval,
    spread_of,
)

Floats: TypeAlias = NDArray[np.float64]
Draw: TypeAlias = Callable[[np.random.Generator, int], Floats]

DAYS: Final = (3, 5, 8, 10, 14, 15, 20, 30, 60)
ROLE: Final = 100
ALIKE: Final = 0.4
"""Correlation of the outcomes of one day."""


def trend(rng: np.random.Generator, n: int) -> Floats:
    """35 of 100 win, exponentially; the others lose about as much as pays for that."""
    wins = rng.random(n) < 0.35
    return np.where(wins, rng.exponential(2.0, n), -rng.uniform(0.5, 1.5, n) * 0.35 * 2 / 0.65)


def mean_reversion(rng: np.random.Generator, n: int) -> Floats:
    """90 of 100 win a little; ten lose nine times that."""
    wins = rng.random(n) < 0.9
    return np.where(wins, rng.uniform(0.5, 1.5, n), -9 * rng.uniform(0.5, 1.5, n))


def mixture(rng: np.random.Generator, n: int) -> Floats:
    """One of twenty is six times as wild."""
    return rng.normal(size=n) * np.where(rng.random(n) < 0.05, 6.0, 1.0)


SORTS: Final[dict[str, Draw]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "t3": lambda rng, n: rng.standard_t(3, n),
    "mixture": mixture,
    "trend": trend,
    "meanrev": mean_reversion,
    "stops": lambda rng, n: np.where(rng.random(n) < 1 / 3, 2.0, -1.0),
}


def holds(interval: tuple[float, float] | None, truth: float) -> bool:
    """Whether an interval holds a value; where there is none, nothing was claimed."""
    return interval is None or interval[0] <= truth <= interval[1]


def coverage(draw: Draw, days: int, lives: int, rng: np.random.Generator) -> tuple[float, float]:
    """Share of lives whose interval holds 0: by the rule's own outcomes, and beside a hundred of its role."""
    alone = beside = 0
    for _ in range(lives):
        role = draw(rng, ROLE)
        sample = DaySums(role[:days], np.ones(days))
        own = mean_estimate(sample)
        # the own interval has no width where nothing varies: such a one holds 0 only if it is 0
        alone += holds(own.interval or (own.mean or 0.0,) * 2, 0.0)
        beside += holds(mean_estimate(sample, spread_of(role, np.arange(ROLE))).interval, 0.0)
    return alone / lives, beside / lives


def together(rng: np.random.Generator, days: int, a_day: int) -> Floats:
    """Normal outcomes, those of a day correlated."""
    luck = np.repeat(rng.normal(size=days), a_day) * ALIKE**0.5
    return np.asarray(luck + rng.normal(size=days * a_day) * (1 - ALIKE) ** 0.5)


def of_days(
    days: int, lives: int, rng: np.random.Generator, a_day: int = 3
) -> tuple[float, float, float, float]:
    """Days of three trades: coverage of a rate of 1/2 by trades and by days, false p <= 0.05 by trades and by days."""
    counts = [0, 0, 0, 0]
    day = np.repeat(np.arange(days), a_day)
    for _ in range(lives):
        value = together(rng, days, a_day)
        won = (value > 0).astype(np.float64)
        counts[0] += holds(jeffreys_interval(float(won.sum()), len(won)), 0.5)
        counts[1] += holds(rate_interval(by_day(won, day)), 0.5)
        half = a_day * (days // 2)
        first, second = value[:half], value[half:]
        counts[2] += (permutation_p(first, second, rng) or 1.0) <= 0.05
        counts[3] += (
            permutation_of_days(by_day(first, day[:half]), by_day(second, day[half:]), rng) or 1.0
        ) <= 0.05
    return counts[0] / lives, counts[1] / lives, counts[2] / lives, counts[3] / lives


def main(lives: int) -> None:
    """Print both tables."""
    rng = np.random.default_rng(9)
    print("95 % interval holds the true mean: own spread / and the role's below 15 days")
    print("days  " + "".join(f"{name:>14}" for name in SORTS))
    for days in DAYS:
        shares = [coverage(draw, days, lives, rng) for draw in SORTS.values()]
        print(f"{days:4}  " + "".join(f"{alone:>8.3f} {beside:.3f}" for alone, beside in shares))
    print("\ndays of three trades that move together (0.4): Jeffreys holds 1/2, and p <= 0.05 of nothing")
    print("days      by trade    by day   by trade    by day")
    for days in (6, 10, 20, 40):
        rates = of_days(days, max(1, lives // 4), rng)
        print(f"{days:4}  " + "".join(f"{rate:>10.3f}" for rate in rates))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
