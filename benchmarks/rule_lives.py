"""Lives of rules whose worth is known, for `benchmarks.peeking`: trades of many sorts, and positions on driftless prices.

Money is in standard deviations of one trade, or of one day's price. Everything comes from the generator given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Draw: TypeAlias = Callable[[np.random.Generator, tuple[int, ...]], Floats]

EARLIER: Final = 13
"""Weeks of the agent before its rules are cited for the first time."""
LOOKS: Final = 52
A_WEEK: Final = 3
LONGEST: Final = 60
"""Days after which the patient among the exits close what they held on to."""


@dataclass(frozen=True)
class Tally:
    """Outcomes that resolved week by week, as sums: arrays (rules, weeks)."""

    count: Floats
    total: Floats
    squares: Floats

    def so_far(self) -> Tally:
        return Tally(*(np.cumsum(part, axis=1) for part in (self.count, self.total, self.squares)))


@dataclass(frozen=True)
class Weeks:
    """A life week by week, arrays (rules, weeks): what is bet on, and the outcomes that resolved.

    `role` (1, weeks) are the outcomes of other labels that resolved, those of earlier weeks in the first column;
    `pool_week`, `pool_sum` the week sums of other labels, the rules' first week being 0.
    """

    money: Floats
    resolved: Tally
    role: Tally
    pool_week: list[int]
    pool_sum: list[float]


# Lives of independent trades


def unequal(won: float, rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    """Wins of that share, exponential, and losses of one size: mean 0, standard deviation 1."""
    gain = (1 - won) / won
    scale = math.sqrt(2 * won * gain**2 + 1 - won)
    return np.where(rng.random(size) < won, rng.exponential(gain, size), -1.0) / scale


def shocks(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    """Trades of one week (last axis) share a shock, correlation 0.2."""
    shared = rng.normal(size=(*size[:-1], 1))
    return np.asarray(math.sqrt(0.2) * shared + math.sqrt(0.8) * rng.normal(size=size))


SORTS: Final[dict[str, Draw]] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "heavy tails (t3)": lambda rng, size: rng.standard_t(3, size) / math.sqrt(3),
    "wins seldom and big (35 %)": lambda rng, size: unequal(0.35, rng, size),
    "lottery (wins 10 %)": lambda rng, size: unequal(0.1, rng, size),
    "takes profits (wins 90 %)": lambda rng, size: -unequal(0.1, rng, size),
    "weeks share a shock": shocks,
}


def tally_of(outcomes: Floats) -> Tally:
    """Sums over the trades of each week: (rules, weeks, trades)."""
    return Tally(np.full(outcomes.shape[:2], outcomes.shape[2]) * 1.0, outcomes.sum(2), (outcomes**2).sum(2))


def trades(rng: np.random.Generator, sort: str, means: tuple[float, ...], earlier: int = EARLIER) -> Weeks:
    """Rules of so many trades a week, with these means in standard deviations; no trade is open at a week's end."""
    outcomes = SORTS[sort](rng, (len(means), LOOKS, A_WEEK)) + np.array(means)[:, None, None]
    before = SORTS[sort](rng, (1, earlier, A_WEEK))
    role = Tally(*(np.zeros((1, LOOKS)) for _ in range(3)))
    for part, values in vars(tally_of(before)).items():
        getattr(role, part)[0, 0] = values.sum()
    sums = before.sum(2)[0].tolist()
    return Weeks(outcomes.sum(2), tally_of(outcomes), role, [*range(-earlier, 0)], sums)


# Lives of positions on one driftless price

Exit: TypeAlias = Callable[[Floats], Flags]
"""Says of each position and day (n, days) how far it stands from its entry, whether it is closed."""

EXITS: Final[dict[str, tuple[Exit, int | None]]] = {
    "after 4 days": (lambda gain: np.zeros(gain.shape, dtype=bool), 4),
    "stop and target": (lambda gain: np.abs(gain) >= 2, None),
    "target, losers kept 60 days": (lambda gain: gain >= 2, LONGEST),
    "winners closed, losers kept": (lambda gain: gain >= 1, None),
    "losers closed, winners kept 60 days": (lambda gain: gain <= -1, LONGEST),
    "losers closed, winners kept": (lambda gain: gain <= -1, None),
}


def weekly(week: NDArray[np.int64], value: Floats) -> Floats:
    """Sums of values by week, (weeks,)."""
    return np.asarray(np.bincount(week, value, EARLIER + LOOKS), dtype=np.float64)


def positions(rng: np.random.Generator, exits: str, source: str) -> Weeks:
    """One unit bought three times a week on one random walk; `source` of the money bet on: marked or resolved."""
    closes, limit = EXITS[exits]
    days = 7 * (EARLIER + LOOKS)
    step = rng.normal(size=days)
    price = np.concatenate(([0.0], np.cumsum(step)))
    entry = (7 * np.arange(EARLIER + LOOKS)[:, None] + np.array([0, 2, 4])).ravel()
    gain = price - price[entry][:, None]
    after = np.arange(days + 1) > entry[:, None]
    closed = after & closes(gain)
    if limit:
        closed |= np.arange(days + 1) >= entry[:, None] + limit
    leave = np.where(closed.any(axis=1), closed.argmax(axis=1), days + 1)
    own = entry >= 7 * EARLIER
    marked, tally = [], []
    for owners in (~own, own):
        change = np.bincount(entry[owners], minlength=days + 2) - np.bincount(
            leave[owners], minlength=days + 2
        )
        marked.append((np.cumsum(change)[:days] * step).reshape(-1, 7).sum(axis=1))
        over = owners & (leave <= days)
        week, value = (leave[over] - 1) // 7, gain[over, leave[over]]
        tally.append([weekly(week, part) for part in (value**0, value, value**2)])
    money = marked if source == "marked" else [part[1] for part in tally]
    role = np.array(tally[0])
    role[:, EARLIER] += role[:, :EARLIER].sum(axis=1)
    pool = np.flatnonzero(money[0])
    return Weeks(
        money[1][None, EARLIER:],
        Tally(*(part[None, EARLIER:] for part in tally[1])),
        Tally(*(part[None, EARLIER:] for part in role)),
        (pool - EARLIER).tolist(),
        money[0][pool].tolist(),
    )
