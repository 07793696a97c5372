"""What past residuals say of the next prediction: a bias, and an interval from their signed ranks.

A residual is the actual less the predicted centre. What is used for a prediction rests on residuals known before it was
made (split conformal, prequential): the ring of the newest ones, oldest first. Signed ranks keep a bias in the interval,
which ranks of absolute residuals would spread to both sides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from retro.kernels.terms import RingTerms
    from retro.kernels.uncertainty import Floats, Integers

_MOST_CELLS = 1_000_000  # residuals sorted at once


@dataclass(frozen=True, slots=True, eq=False)
class Corrections:
    """What was known for each of m predictions, arrays (m,).

    `resolved` residuals stood in the ring; `bias` is their mean (NaN without any); `low` and `high` are the offsets that
    make the interval around what was predicted, NaN where their rank lies outside the ring or the ring is too short.
    """

    resolved: Integers
    bias: Floats
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.resolved)


@dataclass(frozen=True, slots=True)
class Correction:
    """The same for one prediction; None where `Corrections` have NaN."""

    resolved: int
    bias: float | None
    low: float | None
    high: float | None


def ranks(n: int, quantile: float) -> tuple[int, int]:
    """Ranks, from 1, of the lower and upper end among n sorted residuals; 0 or n + 1 lie outside.

    floor((n + 1) a / 2) and ceil((n + 1)(1 - a / 2)) with a = 1 - quantile, in exact decimals: the tenth of ten is no 9.
    """
    half = (1 - Decimal(str(quantile))) / 2
    lower = (n + 1) * half
    upper = (n + 1) * (1 - half)
    return int(lower.to_integral_value("ROUND_FLOOR")), int(upper.to_integral_value("ROUND_CEILING"))


def corrections(residuals: Floats, resolved: Integers, terms: RingTerms) -> Corrections:
    """What the residuals of a key say at m instants.

    `residuals` (n,) in the order in which they became known; `resolved` (m,), how many of them were at each instant.
    """
    instants, place = np.unique(np.asarray(resolved, dtype=np.int64), return_inverse=True)
    bias, low, high = (np.full(len(instants), np.nan) for _ in range(3))
    for first, last in _chunks(instants, terms.size):
        chosen = instants[first:last]
        ends = np.minimum(chosen, terms.size)
        table = _rings(residuals, chosen, terms.size)
        bias[first:last] = [
            math.fsum(row[:n].tolist()) / n if n else math.nan
            for row, n in zip(table, ends.tolist(), strict=True)
        ]
        for row, n in enumerate(ends.tolist()):
            if n < max(1, terms.minimum):
                continue
            lower, upper = ranks(n, terms.quantile)
            if lower >= 1:
                low[first + row] = table[row, lower - 1]
            if upper <= n:
                high[first + row] = table[row, upper - 1]
    ring = np.minimum(instants, terms.size)
    return Corrections(ring[place], bias[place], low[place], high[place])


def correction(ring: Sequence[float], terms: RingTerms) -> Correction:
    """What `corrections` say at one instant, of the residuals (n,) that had become known by then."""
    newest = ring[-terms.size :] if terms.size else ()
    n = len(newest)
    bias = math.fsum(newest) / n if n else None
    if n < max(1, terms.minimum):
        return Correction(n, bias, None, None)
    ordered = sorted(newest)
    lower, upper = ranks(n, terms.quantile)
    low, high = ordered[lower - 1] if lower >= 1 else None, ordered[upper - 1] if upper <= n else None
    return Correction(n, bias, low, high)


def _rings(residuals: Floats, resolved: Integers, size: int) -> Floats:
    """The rings at these instants, each sorted, (instants, size); what is beyond a short one is infinite."""
    width = int(min(size, resolved.max(initial=0)))
    index = resolved[:, None] - np.arange(1, width + 1)
    table = np.where(index >= 0, residuals[np.maximum(index, 0)] if len(residuals) else 0.0, np.inf)
    table.sort(axis=1)
    return np.asarray(table, dtype=np.float64)


def _chunks(instants: Integers, size: int) -> Iterator[tuple[int, int]]:
    step = max(1, _MOST_CELLS // max(1, size))
    return pairwise([*range(0, len(instants), step), len(instants)])


def effective_size(start: Integers, end: Integers) -> int:
    """The largest number of the n claims whose spans [start, end] (n,) do not overlap; spans that touch do not.

    Greedily by the earliest end: what overlaps in time was decided by the same stretch of market. What was made after
    its end is a moment: its start.
    """
    count, free = 0, -math.inf
    spans = zip(start.tolist(), np.maximum(start, end).tolist(), strict=True)
    for begin, finish in sorted(spans, key=lambda span: (span[1], span[0])):
        if begin >= free:
            count, free = count + 1, finish
    return count
