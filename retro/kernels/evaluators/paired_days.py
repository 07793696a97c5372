"""Whether one daily series is better than another: bounds of the mean difference, and Holm over several comparisons.

Stationary bootstrap: Politis and Romano, "The Stationary Bootstrap", JASA 89 (1994): blocks of geometric length, on a
circle of days, so that days that hang together stay together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.kernels.uncertainty import Floats, Integers

DRAWS = 999
_CELLS = 32_768  # blocks drawn at once


def block_length(days: int) -> int:
    """How many days hang together on average in the draws: the cube root of their number, at least one."""
    return max(1, int(days ** (1 / 3) + 0.5))


def stationary_means(differences: Floats, rng: np.random.Generator, draws: int = DRAWS) -> Floats:
    """Means (s, draws) of s series of days (s, d), one day or more, in blocks whose mean length is `block_length`.

    All series are drawn on the same days. Whole blocks are drawn, each as a difference of running sums, so that what a
    draw costs is the number of its blocks.
    """
    days = differences.shape[1]
    mean = block_length(days)
    # the floor of an exponential is geometric
    scale = np.float32(-1 / np.log1p(-1 / mean)) if mean > 1 else np.float32(0)
    width = int(days / mean + 4 * (days / mean) ** 0.5) + 2
    step = max(1, _CELLS // width)
    sums = [np.concatenate([[0.0], np.cumsum(np.concatenate([row, row]))]) for row in differences]
    means = np.empty((len(differences), draws))
    # arrays of this size are pages anew each time they are asked for: that cost more than the sums
    drawn, passed = np.zeros((step, width)), np.zeros((step, width))
    waits, ends = np.zeros((step, width), np.float32), np.zeros((step, width), np.int32)
    stop = np.empty((step, width), np.int64)
    for first in range(0, draws, step):
        shape = min(step, draws - first), width
        rows = slice(0, shape[0])
        rng.standard_exponential(out=waits[rows], dtype=np.float32)
        waits *= scale
        ends[rows] = waits[rows]
        ends += 1
        np.cumsum(ends, axis=1, dtype=np.int32, out=ends)
        np.minimum(ends, days, out=ends)
        ends[:, -1] = days  # of blocks that all came out short, once in tens of thousands, the last is longer
        start = rng.integers(0, days, shape)
        np.add(start, ends[rows], out=stop[rows])
        stop[rows, 1:] -= ends[rows, :-1]
        for number, running in enumerate(sums):
            # nothing lies outside the sums: `clip` writes where it is told to, without a copy
            running.take(stop[rows], out=drawn[rows], mode="clip")
            running.take(start, out=passed[rows], mode="clip")
            np.subtract(drawn, passed, out=drawn)
            means[number, first : first + shape[0]] = np.add.reduce(drawn[rows], axis=1) / days
    return means


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


def peak(opened_at: Integers, closed_at: Integers, size: Floats) -> float:
    """The largest sum of sizes that stood at one time; what closes at an instant makes room for what opens then."""
    at = np.concatenate([opened_at, closed_at])
    opens = np.repeat([1, 0], [len(opened_at), len(closed_at)])
    amount = np.concatenate([size, -np.asarray(size)])
    standing = np.cumsum(amount[np.lexsort((amount, opens, at))])
    return float(max(0.0, standing.max())) if len(standing) else 0.0
