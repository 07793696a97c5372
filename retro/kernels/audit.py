"""The citation audit: what became of the decisions that cited a heuristic, and how much that proves.

Heuristics and outcomes are opaque indices. A citation is a pair (heuristic, outcome); the same pair twice counts
once. All credit is association, never cause: heuristics are cited when their condition holds.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retro.kernels.series import union
from retro.kernels.terms import Thresholds
from retro.kernels.uncertainty import DaySums, Floats, by_day

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Integers = NDArray[np.int64]
Kind = Literal["keep", "demote", "investigate", "insufficient_data"]
Grade = Literal["none", "weak", "suggestive", "supported"]

INSEPARABLE_ABOVE = 0.8
NEAREST = 100  # heuristics named beside one that cannot be told apart from them
EXACTLY = 1e-9  # an average this near a threshold is the threshold, rounded


@dataclass(frozen=True, slots=True, eq=False)
class Credit:
    """What each heuristic is credited with, arrays (heuristics,): a row without outcomes holds zeros.

    `full` gives every cited heuristic the whole outcome and so counts it several times; `shared` splits it evenly
    and adds up to the outcomes.
    """

    evaluated: Integers
    wins: Integers
    full: Floats
    shared: Floats


@dataclass(frozen=True, slots=True)
class LargestTrade:
    """The outcome of largest size: its share of the gains (or losses) it belongs to, and the average without it.

    `share` is None when all outcomes are 0, `average_without` when it was the only one.
    """

    index: int
    outcome: float
    share: float | None
    average_without: float | None
    recommendation_without: Kind


@dataclass(frozen=True, slots=True)
class Inseparable:
    """The heuristics that one is cited with, as (heuristic, Jaccard index), the nearest first; `count` of them in all."""

    nearest: tuple[tuple[int, float], ...]
    count: int


def recommend(evaluated: int, average: float | None, thresholds: Thresholds | None = None) -> Kind:
    """Judge a heuristic by its number of outcomes, then by their unrounded average.

    Exactly the demote threshold is still `investigate`, exactly the investigate threshold already `keep`.
    """
    limit = thresholds or Thresholds()
    if average is None or evaluated < limit.min_citations:
        return "insufficient_data"
    if _below(average, limit.demote):
        return "demote"
    return "investigate" if _below(average, limit.investigate) else "keep"


def _below(average: float, limit: float) -> bool:
    return limit - average > EXACTLY * max(1.0, abs(limit))


def credit(outcomes: ArrayLike, heuristic: ArrayLike, outcome: ArrayLike, heuristics: int) -> Credit:
    """Credit `outcomes` (m,), NaN where unresolved, to the heuristics cited for them.

    `heuristic` and `outcome` (c,) are the citations, by index; an outcome is shared among all heuristics cited for
    it. A win is an outcome above 0.
    """
    value = np.asarray(outcomes, dtype=np.float64)
    heuristic_index, outcome_index = _distinct_pairs(heuristic, outcome)
    set_size = np.bincount(outcome_index, minlength=len(value))
    resolved = np.isfinite(value[outcome_index])
    heuristic_index, outcome_index = heuristic_index[resolved], outcome_index[resolved]
    return Credit(
        evaluated=np.bincount(heuristic_index, minlength=heuristics),
        wins=np.bincount(heuristic_index[value[outcome_index] > 0], minlength=heuristics),
        full=_sums(heuristic_index, value[outcome_index], heuristics),
        shared=_sums(heuristic_index, value[outcome_index] / set_size[outcome_index], heuristics),
    )


def largest_trade(outcomes: ArrayLike, thresholds: Thresholds | None = None) -> LargestTrade | None:
    """Say how much of a heuristic's record is one trade; of equal sizes the first. None without outcomes (n,)."""
    value = np.asarray(outcomes, dtype=np.float64)
    if len(value) == 0:
        return None
    index = int(np.argmax(np.abs(value)))
    largest = float(value[index])
    gross = math.fsum(v for v in value.tolist() if v * largest > 0)
    remainder = np.delete(value, index).tolist()
    average = math.fsum(remainder) / len(remainder) if remainder else None
    return LargestTrade(
        index=index,
        outcome=largest,
        share=largest / gross if gross else None,
        average_without=average,
        recommendation_without=recommend(len(remainder), average, thresholds),
    )


def inseparable(
    heuristic: ArrayLike, outcome: ArrayLike, above: float = INSEPARABLE_ABOVE, most: int = NEAREST
) -> dict[int, Inseparable]:
    """Find for each heuristic those whose citations overlap with its own by more than `above` (Jaccard).

    `heuristic` and `outcome` (c,) are the citations, by index, resolved or not. Of each the `most` nearest are named, of
    equal ones those of the lowest index: all pairs of many cited for one outcome alone would be their square.
    """
    alike: dict[frozenset[int], list[int]] = {}
    for index, outcomes in _cited_by(heuristic, outcome):
        alike.setdefault(frozenset(outcomes), []).append(index)
    neighbours = _neighbours(list(alike), above)
    out: dict[int, Inseparable] = {}
    for cited, members in alike.items():
        near = sorted(
            (-jaccard, index) for jaccard, group in neighbours.get(cited, ()) for index in alike[group][:most]
        )
        count = len(members) - 1 + sum(len(alike[group]) for _, group in neighbours.get(cited, ()))
        for index in members if count else ():
            equal = [(other, 1.0) for other in members[: most + 1] if other != index]
            nearest = [*equal, *((other, -minus) for minus, other in near)][:most]
            out[index] = Inseparable(tuple(nearest), count)
    return out


def _cited_by(heuristic: ArrayLike, outcome: ArrayLike) -> Iterator[tuple[int, list[int]]]:
    """Each heuristic with the outcomes that cite it."""
    heuristics, outcomes = np.asarray(heuristic, dtype=np.int64), np.asarray(outcome, dtype=np.int64)
    order = np.argsort(heuristics, kind="stable")
    heuristics, outcomes = heuristics[order], outcomes[order]
    begins = np.flatnonzero(np.diff(heuristics, prepend=-1)).tolist()
    for start, end in pairwise([*begins, len(heuristics)]):
        yield int(heuristics[start]), outcomes[start:end].tolist()


def _neighbours(
    groups: list[frozenset[int]], above: float
) -> dict[frozenset[int], list[tuple[float, frozenset[int]]]]:
    """Which sets overlap by more than `above` without being equal, each with its Jaccard index.

    Two that do share one of their rarest elements: with all but ceil(above n) - 1 of n to choose from, one has to be
    shared (prefix filter; Chaudhuri, Ganti and Kaushik 2006). Sets too small to lose one element are equal or apart.
    """
    large = [group for group in groups if len(group) > above * (len(group) + 1)]
    large.sort(key=lambda group: (len(group), min(group)))
    frequency = Counter(element for group in large for element in group)
    sharing: dict[int, list[frozenset[int]]] = {}
    out: dict[frozenset[int], list[tuple[float, frozenset[int]]]] = {}
    for group in large:
        rarest = sorted(group, key=lambda element: (frequency[element], element))
        prefix = rarest[: len(group) - math.ceil(above * len(group)) + 1]
        candidates = {id(other): other for element in prefix for other in sharing.get(element, ())}
        for other in candidates.values():
            if len(other) > above * len(group):
                together = len(group & other)
                jaccard = together / (len(group) + len(other) - together)
                if jaccard > above:
                    out.setdefault(group, []).append((jaccard, other))
                    out.setdefault(other, []).append((jaccard, group))
        for element in prefix:
            sharing.setdefault(element, []).append(group)
    return out


def _distinct_pairs(heuristic: ArrayLike, outcome: ArrayLike) -> tuple[Integers, Integers]:
    """Return the distinct citations, sorted by outcome, then heuristic."""
    heuristic_index, outcome_index = (
        np.asarray(heuristic, dtype=np.int64),
        np.asarray(outcome, dtype=np.int64),
    )
    width = int(heuristic_index.max(initial=0)) + 1
    code = union(outcome_index * width + heuristic_index)
    return code % width, code // width


def _sums(group: Integers, value: Floats, groups: int) -> Floats:
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(groups + 1))
    ordered = value[order].tolist()
    return np.array([math.fsum(ordered[a:b]) for a, b in pairwise(bounds)])


# Everything but a few: each row is held against the outcomes that do not cite it


@dataclass(frozen=True, slots=True, eq=False)
class OutcomeSample:
    """Outcomes `value` (n,), in order of entry day and size, and where each day of them `begins`, (days + 1,).

    `place` (n,) says where an outcome stands, by its number as it was given. `exact` are floats whose sum is that of all
    outcomes without any rounding. Without a few of them it is, to the last bit, as if those had never been in it, and
    costs those few and their days.
    """

    value: Floats
    begins: Integers
    place: Integers
    sums: DaySums
    exact: tuple[float, ...]

    def mean_without(self, numbers: Sequence[int]) -> float | None:
        """Mean of all outcomes but these, each named once; None where none is left."""
        size = len(self.value) - len(numbers)
        if not size:
            return None
        return math.fsum([*self.exact, *(-self.value[self.place[numbers]]).tolist()]) / size

    def days_without(self, numbers: Sequence[int]) -> DaySums:
        """All outcomes but these, by entry day."""
        gone = np.sort(self.place[numbers])
        days = np.searchsorted(self.begins, gone, side="right") - 1
        sums, counts = self.sums.sums.copy(), self.sums.counts.copy()
        edges = np.flatnonzero(np.diff(days, prepend=-1, append=-1)).tolist()
        for start, end in pairwise(edges):
            day = days[start]
            first, last = self.begins[day], self.begins[day + 1]
            stays = np.ones(last - first, dtype=bool)
            stays[gone[start:end] - first] = False
            counts[day] = np.count_nonzero(stays)
            if counts[day]:  # added up as `by_day` does
                sums[day] = np.add.reduceat(self.value[first:last][stays], [0])[0]
        some = counts > 0
        return DaySums(sums, counts) if some.all() else DaySums(sums[some], counts[some])


def sample_of(values: ArrayLike, days: ArrayLike) -> OutcomeSample:
    """Make ready outcomes (n,) with their entry days, integers of any epoch."""
    value, day = np.asarray(values, dtype=np.float64), np.asarray(days)
    order = np.lexsort((value, day))
    place = np.empty(len(value), np.int64)
    place[order] = np.arange(len(value))
    sums = by_day(value, day)
    begins = np.concatenate(([0], np.cumsum(sums.counts))).astype(np.int64)
    return OutcomeSample(value[order], begins, place, sums, _exact(value.tolist()))


def _exact(values: list[float]) -> tuple[float, ...]:
    """The sum of values as floats that add up to it exactly: what rounding leaves over is summed again."""
    parts: list[float] = []
    while part := math.fsum([*values, *(-earlier for earlier in parts)]):
        parts.append(part)
    return tuple(parts)


class ExactSum:
    """A sum that goes on: after every number added its `value` is that of `math.fsum` of all so far.

    Source: Shewchuk 1997, partial sums that do not overlap.
    """

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        """Nothing yet: 0."""
        self._parts: list[float] = []

    @property
    def value(self) -> float:
        """All numbers so far, rounded once."""
        return math.fsum(self._parts)

    def add(self, number: float) -> None:
        """Add one more."""
        if number:
            parts = []
            for part in self._parts:
                large, small = (number, part) if abs(number) >= abs(part) else (part, number)
                number = large + small
                if error := small - (number - large):
                    parts.append(error)
            self._parts = [*parts, number]
