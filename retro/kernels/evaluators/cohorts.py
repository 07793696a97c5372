"""Cohorts of a fleet: what the evidence on many rules is worth, and which of several models may be the best.

Rules by bets on what a week of the whole fleet made under them (`retro.kernels.betting`): agents of one week share its
market, so the week is the unit and not the outcome. Models by the Model Confidence Set: Hansen, Lunde and Nason, "The Model
Confidence Set", Econometrica 79 (2011), with its range statistic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retro.kernels import betting

if TYPE_CHECKING:
    from retro.kernels.audit import Grade

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CohortEvidence:
    """One row a cohort, in order of name: outcomes `n`, their `mean`, `weeks` in which any resolved, E and its grade.

    `e_against` and `e_for` are NaN without a bet; `grade` is chosen among all cohorts by e-BH at 0.10.
    """

    name: NDArray[Any]
    n: Integers
    mean: Floats
    weeks: Integers
    e_against: Floats
    e_for: Floats
    grade: list[Grade]


def cohort_evidence(cohort: ArrayLike, week: ArrayLike, value: ArrayLike) -> CohortEvidence:
    """The evidence on each cohort: names, whole weeks from any epoch, and outcomes in one unit, (n,) each, n > 0.

    Give complete weeks only. That an outcome belongs to the week in which it resolved lets a rule look better whose
    losers are held on to.
    """
    name, row = np.unique(np.asarray(cohort), return_inverse=True)
    at, outcome = np.asarray(week, dtype=np.int64), np.asarray(value, dtype=np.float64)
    order = np.lexsort((outcome, at, row))  # whoever told first, the last bit is the same
    row, at, outcome = row[order], at[order], outcome[order]
    first = int(at.min())
    shape = len(name), int(at.max()) - first + 1
    cell = row * shape[1] + (at - first)
    sums = np.bincount(cell, outcome, shape[0] * shape[1]).reshape(shape).astype(np.float64, copy=False)
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    grid = betting.WeekGrid(first, sums, counts)
    told = np.nonzero(counts)
    bound = betting.bounds(grid, first + told[1], sums[told])
    e_against, e_for = map(betting.e_value, betting.wealth_now(grid, bound))
    n = counts.sum(axis=1)
    mean = np.bincount(row, outcome, len(name)) / n
    grade = betting.grades(n, mean, e_against, e_for)
    return CohortEvidence(name, n, mean, (counts > 0).sum(axis=1), e_against, e_for, grade)


def confidence_set(loss: ArrayLike, drawn: ArrayLike) -> Floats:
    """The p of each model, (k,), two or more: those at or above a level are the set that holds the best with 1 - level.

    `loss` (k,) are the models' mean losses, `drawn` (k, draws) the means of draws of the same periods for all of them, such
    as `paired_days.stationary_means` gives. The worst is taken out while all being equal is less likely than chance allows;
    p is the largest met on the way. Models with the same mean are not told apart.
    """
    means, draws = np.asarray(loss, dtype=np.float64), np.asarray(drawn, dtype=np.float64)
    gaps = means[:, None] - means
    spread = draws[:, None, :] - draws - gaps[..., None]
    scale = np.sqrt((spread**2).mean(axis=2))
    scale[scale == 0] = np.inf
    statistic, spread = gaps / scale, spread / scale[..., None]
    left, p, highest = np.arange(len(means)), np.ones(len(means)), 0.0
    while len(left) > 1:
        among = np.ix_(left, left)
        largest = statistic[among].max()
        chance = float((largest < spread[among].max(axis=(0, 1))).mean()) if largest > 0 else 1.0
        worst = left[statistic[among].max(axis=1).argmax()]
        highest = max(highest, chance)
        p[worst] = highest
        left = left[left != worst]
    return p
