"""Positions on prices that go nowhere on average, as a what-if sees them: no rule can be better than another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

import numpy as np

from retro.evaluate.whatif.entered import EnteredLives, MarkLine
from retro.kernels.evaluators.counterfactual import EnteredPositions, HeldStates

if TYPE_CHECKING:
    from retro.kernels.uncertainty import Floats

HOUR: Final = 3_600_000_000
START: Final = 1_704_067_200_000_000  # a Monday, 1 January 2024


def driftless_lives(
    seed: int, *, positions: int = 120, a_day: float = 1.0, hours: int = 20, edge: float = 0.0
) -> EnteredLives:
    """Long and short positions of one instrument, entered at random, held about `hours`, on hourly marks.

    Steps of the price have Student's t of 4 degrees, half a percent; with an `edge` the price falls by so much an hour
    from the second half of each holding time on, so that leaving earlier is better.
    """
    rng = np.random.default_rng(seed)
    hours_held = rng.integers(hours // 2, hours * 3 // 2, positions)
    entry = np.sort(rng.integers(1, max(2, int(24 * positions / a_day)), positions))
    marks = int(entry[-1]) + 2 * hours + 2
    price = 100 * np.exp(np.cumsum(rng.standard_t(4, marks) * 0.005 / 2**0.5))
    at = START + HOUR * np.arange(marks)
    side = rng.choice([1.0, -1.0], positions)
    quantity = rng.uniform(0.5, 2.0, positions)
    lines, real = [], np.empty(positions)
    for i in range(positions):
        first, last = int(entry[i]), int(entry[i] + hours_held[i])
        drift = -side[i] * edge * np.maximum(0, np.arange(last - first + 1) - hours_held[i] // 2)
        path: Floats = price[first : last + 1] * np.exp(drift)
        lines.append(MarkLine(at[first + 1 : last], path[1:-1]))
        real[i] = side[i] * quantity[i] * (path[-1] - path[0])
    paid = -side * quantity * price[entry]
    return EnteredLives(
        zone=ZoneInfo("UTC"),
        names=tuple(f"p{i}" for i in range(positions)),
        real=real,
        left_at=at[entry + hours_held],
        closed=np.ones(positions, dtype=np.bool_),
        notional=np.abs(paid),
        cost_rate=np.zeros(positions),
        entered=EnteredPositions(side, price[entry], at[entry], quantity, np.abs(paid) * 0.02),
        states=HeldStates(at[entry], paid, side * quantity, np.arange(positions + 1)),
        marks=tuple(lines),
        beside={},
        cites=(frozenset(),) * positions,
        labels=(frozenset(),) * positions,
        regimes=(None,) * positions,
        hours=(0,) * positions,
    )
