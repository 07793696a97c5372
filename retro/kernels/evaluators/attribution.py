"""What was in front of an agent when it decided, and how those decisions turned out: decayed credit, and lift.

Presence is not cause: what is always at hand when it is easy has the same figures as what makes it easy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from retro.kernels import audit, uncertainty

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retro.kernels.uncertainty import Floats, Integers

__all__ = ["Lift", "PresenceCredit", "lifts", "multipliers", "presence_credit"]

LEAST_WITH: Final = 20
LEAST_WITHOUT: Final = 5
"""Signals with an item and without it below which nothing is said of the difference."""

_SHRINKAGE: Final = 2.0
_FURTHEST: Final = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class PresenceCredit:
    """Of each item (m,), decayed to the last step: how much went well and badly with it, and the weight of both.

    `value` lies in (-1, 1), above 0 where more went well; `appearances` are not decayed.
    """

    well: Floats
    badly: Floats
    weight: Floats
    appearances: Integers

    @property
    def value(self) -> Floats:
        """The difference of both, shrunk towards 0 as if two more had come to nothing."""
        return (self.well - self.badly) / (self.weight + _SHRINKAGE)


@dataclass(frozen=True, slots=True)
class Lift:
    """Mean signal with an item less the mean without it, and the two-sided p of a difference by chance, by days."""

    lift: float
    p: float | None


def presence_credit(
    signal: Floats, item: Integers, step: Integers, items: int, decay: float
) -> PresenceCredit:
    """Add up the signals (n,), each in [-1, 1] and in order of resolution, of each item's decisions.

    `item` and `step` (k,) are the pairs of an item and a step at which it was there, each pair once, in order of step. A
    contribution is worth `decay` ** (steps since). With a decay of d per step this is the lazy rule: multiply the sums by
    d ** elapsed whenever the item appears, then add.
    """
    if not len(step):
        nothing = np.zeros(items)
        return PresenceCredit(nothing, nothing, nothing, np.zeros(items, np.int64))
    worth = decay ** (len(signal) - 1.0 - step)
    earned = signal[step]
    return PresenceCredit(
        well=_sums(item, worth * np.maximum(earned, 0.0), items),
        badly=_sums(item, worth * np.maximum(-earned, 0.0), items),
        weight=_sums(item, worth, items),
        appearances=np.bincount(item, minlength=items),
    )


def _sums(item: Integers, values: NDArray[Any], items: int) -> Floats:
    return np.asarray(np.bincount(item, values, items), np.float64)


def multipliers(value: Floats) -> Floats:
    """What recall makes of values (m,): 1 + value, at most a half more or less."""
    return 1.0 + np.clip(value, -_FURTHEST, _FURTHEST)


def lifts(
    signal: Floats, day: Integers, item: Integers, step: Integers, items: int, seed: int
) -> list[Lift | None]:
    """The lift of each item (m,); None below 20 signals with it or 5 without.

    `signal` and `day` (n,) are by step, `item` and `step` (k,) the pairs as for `presence_credit`. The p moves whole days
    (`uncertainty.permutation_of_days`); each item draws from the `seed` anew, so that no item's p depends on another.
    """
    out: list[Lift | None] = [None] * items
    counts = np.bincount(item, minlength=items)
    judged = np.flatnonzero((counts >= LEAST_WITH) & (len(signal) - counts >= LEAST_WITHOUT))
    if not len(judged):
        return out
    whole = audit.sample_of(signal, day)
    order = np.argsort(item, kind="stable")
    begins = np.concatenate([[0], np.cumsum(counts)])
    for number in judged.tolist():
        shown = step[order[begins[number] : begins[number + 1]]]
        present = shown.tolist()
        own = uncertainty.by_day(signal[shown], day[shown])
        without = whole.days_without(present)
        mean_without = whole.mean_without(present)
        if mean_without is None:
            continue
        p = uncertainty.permutation_of_days(own, without, np.random.default_rng(seed))
        mean_with = math.fsum(signal[shown].tolist()) / len(present)
        out[number] = Lift(mean_with - mean_without, p)
    return out
