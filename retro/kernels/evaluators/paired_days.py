"""Whether one daily series is better than another: bounds of the mean difference, and Holm over several comparisons.

Stationary bootstrap: Politis and Romano, "The Stationary Bootstrap", JASA 89 (1994): blocks of geometric length, on a
circle of days, so that days that hang together stay together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.kernels.uncertainty import Floats

DRAWS = 4_999
_MOST_CELLS = 2_000_000  # days looked up at once


def block_length(days: int) -> int:
    """How many days hang together on average in the draws: the cube root of their number, at least one."""
    return max(1, int(days ** (1 / 3) + 0.5))


def stationary_means(differences: Floats, rng: np.random.Generator, draws: int = DRAWS) -> Floats:
    """Means (draws,) of days (d,), one or more, drawn in blocks whose mean length is `block_length`."""
    days = len(differences)
    ends = 1 / block_length(days)
    step = max(1, _MOST_CELLS // days)
    means = []
    for first in range(0, draws, step):
        shape = (min(step, draws - first), days)
        starts = rng.integers(0, days, shape)
        begins = rng.random(shape) < ends
        begins[:, 0] = True
        column = np.broadcast_to(np.arange(days), shape)
        begun = np.maximum.accumulate(np.where(begins, column, 0), axis=1)
        day = (np.take_along_axis(starts, begun, axis=1) + column - begun) % days
        means.append(np.add.reduce(differences[day], axis=1) / days)
    return np.concatenate(means)


def chance_of_none(means: Floats) -> float:
    """How often the drawn mean is not above 0: (1 + draws at or below) / (1 + draws)."""
    return float((1 + int((means <= 0).sum())) / (1 + len(means)))


def holm_levels(p: Sequence[float], level: float) -> list[float]:
    """At which level each of several comparisons is judged, step by step from the smallest p: Holm (1979).

    0 for those behind the first that fails: nothing is said of them, however small their p.
    """
    levels, passing = [0.0] * len(p), True
    for rank, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        if passing:
            levels[i] = level / (len(p) - rank)
            passing = p[i] <= levels[i]
    return levels


def peak(opened_at: Sequence[int], closed_at: Sequence[int], size: Sequence[float]) -> float:
    """The largest sum of sizes that stood at one time; what closes at an instant makes room for what opens then."""
    changes = [(at, 1, amount) for at, amount in zip(opened_at, size, strict=True)]
    changes += [(at, 0, -amount) for at, amount in zip(closed_at, size, strict=True)]
    standing = np.cumsum([amount for _, _, amount in sorted(changes)])
    return float(max(0.0, standing.max())) if len(standing) else 0.0
