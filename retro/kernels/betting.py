"""Bets against a rule and for it: evidence that holds at every look, for ever.

The unit is a week: what the positions of a rule made in it, marked (not resolved: how positions are closed can bend
that), in the threshold unit. Seven gamblers start with 1, each stakes a fixed part of what is in hand every week that
the rule loses money, and E is what they own on average. Were the rule worth nothing or more, the chance that E *ever*
comes to 1/a would be at most a: "10 to 1" is E = 10. No variance, normality or limit of losses is assumed; gains
beyond a bound B, fixed before the first bet, are not counted. Sources: Ville 1939; Waudby-Smith and Ramdas, JRSS-B 2024
(one-sided capital process, fixed mixture of bets); Wang and Ramdas, JRSS-B 2022 (e-BH); Robbins 1970 (Bernoulli).

Figures of all rules come at once, arrays (rows,) or (rows, weeks). They are NaN where a rule has no bound (yet), which
no border lets through. Weeks are whole numbers from any epoch, of complete weeks only, in a grid whose 0 is neutral:
a week in which nothing was held, or nothing changed, is no unit. Every sum over weeks is taken in their order, from the
first: so the order in which facts were told, and which other rules stand beside, do not matter for the last bit.

Thousands of rules may share a grid of years in which most hold something once or twice. So what is dear is reckoned for
the weeks bet on alone, a few thousand at once (`packed`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.kernels.audit import Grade

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

STAKES = np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95])
"""What part of the wealth each of the seven puts at stake; a full bound against a bet costs it just that."""
BOUND_WIDTH = 3.0
BOUND_FROM = 13
"""Week sums of its role that a rule's scale is read from, at least: three months of one rule, or a week of many."""
TEN_TO_ONE = 10.0
FALSE_DISCOVERIES = 0.10
GRADED_FROM, SUPPORTED_FROM = 3, 10
"""Outcomes below which nothing is said of a rule, and from which something may be `supported`."""

GRADES: tuple[Grade, ...] = ("none", "weak", "suggestive", "supported")
"""From nothing known to what changes a playbook."""

_CELLS = 1 << 15  # weeks of all rules that are reckoned at once: seven stakes of them lie near the processor
_LOG_STAKES = math.log(len(STAKES))
_LOG_LARGEST = math.log(1e300)  # wealth beyond is told as 1e300, so that no product of it leaves the floats


@dataclass(frozen=True, slots=True, eq=False)
class WeekGrid:
    """Week by week what rules made, (rows, weeks): `sums` in the threshold unit, `outcomes` that resolved.

    Column 0 is the week `first`; the last column is the last complete week.
    """

    first: int
    sums: Floats
    outcomes: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """The scale of each rule, (rows,): `size` B > 0, or NaN; `column`, the week in which it was fixed, or -1.

    `pool` is the number of week sums of the role up to the grid's end: below 13 no scale can be known.
    """

    size: Floats
    column: Integers
    pool: int


@dataclass(frozen=True, slots=True, eq=False)
class Wealth:
    """Logs of E at the end of every week, (rows, weeks), NaN before the bound; how many weeks were bet on by then."""

    log_against: Floats
    log_for: Floats
    bets: Integers


@dataclass(frozen=True, slots=True, eq=False)
class BetWeeks:
    """The weeks bet on of some rules, moved together to the left: `rows` (r,) of the grid, `column` (r, k) in it.

    Where `bet` (r, k) is False a rule has fewer than k.
    """

    rows: Integers
    column: Integers
    bet: Booleans

    def of(self, values: NDArray[np.float64]) -> Floats:
        """Values of the grid, (rows, weeks), in those weeks, (r, k); 0 where there is none."""
        return np.where(self.bet, values[self.rows[:, None], self.column], 0.0)


def bounds(grid: WeekGrid, pool_week: ArrayLike, pool_sum: ArrayLike) -> Bounds:
    """Fix each rule's bound, B = 3 rms of the pool, in its first week with at least 13 pool sums from weeks before it.

    `pool_week`, `pool_sum` (p,): the week sums of all labels of the role, whoever claims them, in any order. A pool
    that is nothing but 0 fixes nothing; the next week tries again. All rows belong to one role.
    """
    weeks = grid.first + np.arange(grid.sums.shape[1] + 1)
    week, value = np.asarray(pool_week, dtype=np.int64), np.asarray(pool_sum, dtype=np.float64)
    order = np.lexsort((value, week))
    before = np.searchsorted(week[order], weeks, side="left")
    squares = np.concatenate(([0.0], np.cumsum(value[order] ** 2)))[before]
    size = BOUND_WIDTH * np.sqrt(squares / np.maximum(before, 1))
    usable = (before >= BOUND_FROM) & (size > 0)
    eligible = (grid.sums != 0) & usable[:-1]
    column = np.where(eligible.any(axis=1), eligible.argmax(axis=1), -1)
    return Bounds(np.where(column >= 0, size[column], np.nan), column, int(before[-1]))


def bet_weeks(grid: WeekGrid, bound: Bounds) -> Booleans:
    """Say which weeks were bet on, (rows, weeks): from the bound's own on, those in which the marked money changed."""
    columns = np.arange(grid.sums.shape[1])
    begun: Booleans = (bound.column[:, None] >= 0) & (columns >= bound.column[:, None])
    return np.asarray(begun & (grid.sums != 0))


def packed(units: Booleans) -> Iterator[BetWeeks]:
    """The weeks bet on, (rows, weeks), of the rules that have any: rules of about as many together, few cells at once."""
    number = units.sum(axis=1)
    order = np.argsort(number, kind="stable")
    order = order[number[order] > 0]
    start = 0
    while start < len(order):
        ahead = order[start : start + _CELLS]
        fit = np.searchsorted(np.arange(1, len(ahead) + 1) * number[ahead], _CELLS, side="right")
        rows = ahead[: max(1, int(fit))]
        start += len(rows)
        row, week = np.nonzero(units[rows])
        place = np.arange(len(row)) - (np.cumsum(number[rows]) - number[rows])[row]
        column = np.zeros((len(rows), int(number[rows[-1]])), np.int64)
        bet = np.zeros(column.shape, dtype=bool)
        column[row, place], bet[row, place] = week, True
        yield BetWeeks(rows, column, bet)


def log_factors(sums: ArrayLike, size: ArrayLike) -> Floats:
    """What a week does to the log of each of the seven wealths against a rule, (..., 7): log(1 - c min(x, B)/B).

    `sums` and `size` broadcast. For a rule: the same of -x.
    """
    value = np.asarray(sums, dtype=np.float64)
    share = np.minimum(value, size) / size
    return np.log1p(-STAKES * share[..., None])


def log_wealth(log_sums: Floats) -> Floats:
    """Log of E from the log sums of the seven stakes, (..., 7) -> (...)."""
    highest = log_sums.max(axis=-1)
    spread = np.exp(log_sums - highest[..., None]).sum(axis=-1)
    return np.asarray(highest + np.log(spread) - _LOG_STAKES)


def wealth(grid: WeekGrid, bound: Bounds) -> Wealth:
    """The bets against every rule and for it, week by week, from its bound on."""
    units = bet_weeks(grid, bound)
    bets = np.cumsum(units, axis=1, dtype=np.int64)
    logs = np.full(grid.sums.shape, np.nan), np.full(grid.sums.shape, np.nan)
    for weeks in packed(units):
        last = bets[weeks.rows] - 1  # between two bets E stays
        for out, log_e in zip(logs, _logs_of(weeks, grid, bound), strict=True):
            out[weeks.rows] = np.where(
                last < 0, np.nan, np.take_along_axis(log_e, np.maximum(last, 0), axis=1)
            )
    return Wealth(logs[0], logs[1], bets)


def wealth_now(grid: WeekGrid, bound: Bounds) -> tuple[Floats, Floats]:
    """Logs of E at the grid's end, against every rule and for it, (rows,) each; NaN without a bet."""
    logs = np.full(len(grid.sums), np.nan), np.full(len(grid.sums), np.nan)
    for weeks in packed(bet_weeks(grid, bound)):
        for out, log_e in zip(logs, _logs_of(weeks, grid, bound), strict=True):
            out[weeks.rows] = log_e[:, -1]  # what lies beyond a rule's own weeks changes nothing
    return logs


def _logs_of(weeks: BetWeeks, grid: WeekGrid, bound: Bounds) -> Iterator[Floats]:
    """Logs of E after each of the weeks bet on, (r, k): against, then for."""
    x, size = weeks.of(grid.sums), bound.size[weeks.rows][:, None]
    for sums in (x, -x):  # a bet on nothing changes nothing: log1p(0) is 0
        yield log_wealth(np.cumsum(log_factors(sums, size), axis=1))


def e_value(log_e: ArrayLike) -> Floats:
    """E of its log, at most 1e300; NaN stays."""
    return np.exp(np.minimum(np.asarray(log_e, dtype=np.float64), _LOG_LARGEST))


def anytime_p(log_e: Floats) -> Floats:
    """1 over the largest E so far, at most 1, at the end of every week: (rows, weeks), NaN before the bound."""
    highest: Floats = np.fmax.accumulate(log_e, axis=1)
    return np.exp(-np.maximum(highest, 0.0))


def e_benjamini_hochberg(e: ArrayLike, family: ArrayLike, level: float = FALSE_DISCOVERIES) -> Booleans:
    """Choose among E of many rules, (rows,) or (rows, looks), so that false choices stay below `level` of all.

    The k largest for the last k with E_(k) >= m/(level k), m = `family`, a number for each look: all rows with a bound,
    candidates or not. Under any dependence between rules. What is no candidate is NaN, and never chosen.
    """
    value = np.nan_to_num(np.asarray(e, dtype=np.float64), nan=-1.0)
    ranked = -np.sort(-value, axis=0)
    rank = np.arange(1, len(value) + 1).reshape(-1, *[1] * (value.ndim - 1))
    passing = (ranked >= 0) & (ranked >= np.asarray(family) / (level * rank))
    least = np.where(passing, ranked, np.inf).min(axis=0, initial=np.inf)
    return np.asarray(value >= least)


def grade_numbers(
    outcomes: ArrayLike, averages: ArrayLike, e_against: ArrayLike, e_for: ArrayLike
) -> NDArray[np.int8]:
    """What the evidence on each rule is worth, as places in `GRADES`; all arrays (rows,) or (rows, looks), one family a look.

    Of the direction that the average has: `none` with fewer than 3 outcomes or without a bet (E is NaN), `supported`
    when chosen by e-BH at 0.10 and from 10 outcomes on, `suggestive` from 10 to 1 on, else `weak`. An average of exactly
    0 has no direction and is `weak`.
    """
    count, average = np.asarray(outcomes), np.asarray(averages, dtype=np.float64)
    against = np.where(average < 0, e_against, np.nan)
    in_favour = np.where(average > 0, e_for, np.nan)
    bet_on = np.isfinite(np.asarray(e_against, dtype=np.float64))
    family = bet_on.sum(axis=0)
    chosen = e_benjamini_hochberg(against, family) | e_benjamini_hochberg(in_favour, family)
    number = 1 + (np.nan_to_num(np.fmax(against, in_favour)) >= TEN_TO_ONE)
    number = np.where(chosen & (count >= SUPPORTED_FROM), 3, number)
    return np.where(bet_on & (count >= GRADED_FROM), number, 0).astype(np.int8)


def grades(outcomes: ArrayLike, averages: ArrayLike, e_against: ArrayLike, e_for: ArrayLike) -> list[Grade]:
    """The words of `grade_numbers` at one look, all arrays (rows,)."""
    return [GRADES[number] for number in grade_numbers(outcomes, averages, e_against, e_for).tolist()]


def bernoulli_e(wins: int, losses: int, stated: float) -> float:
    """E against a stated chance of winning, whichever way it is wrong: B(1 + w, 1 + l) / (p^w (1 - p)^l), at most 1e300.

    `stated` is clipped to 0.01..0.99, since 0 and 1 are refuted by a single outcome. Source: Robbins 1970.
    """
    p = min(0.99, max(0.01, stated))
    mixture = math.lgamma(1 + wins) + math.lgamma(1 + losses) - math.lgamma(2 + wins + losses)
    return math.exp(min(mixture - wins * math.log(p) - losses * math.log1p(-p), _LOG_LARGEST))
