"""The bets on every rule of an agent: its weeks of marked money against a bound, and what is said of each at every look.

All rows of both roles are one family (evidence.md). Weeks and outcomes are cut to complete weeks here; what the kernel
sees is a grid of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import fsum, isnan
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from retro.kernels import betting
from retro.kernels.audit import ExactSum, recommend
from retro.kernels.betting import GRADES, Bounds, WeekGrid
from retro.kernels.evaluators import anytime
from retro.kernels.series import union
from retro.periods import FOREVER, week_of, week_start

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from zoneinfo import ZoneInfo

    from numpy.typing import NDArray

    from retro.evaluate.audit.citations import Role
    from retro.evaluate.audit.history import History
    from retro.evaluate.audit.rules import AuditRules, Unit
    from retro.kernels.audit import Grade, Kind
    from retro.kernels.betting import Wealth
    from retro.kernels.terms import Thresholds

__all__ = ["Bets", "OddsByWeek", "RuleEvidence", "WeekLook", "bets_of", "in_unit", "number_of", "since_of"]

Key = tuple[str, "Role"]

_DRAWN: Final = 104
_AT_ONCE: Final = 1024  # rows whose evidence is reckoned together
_ROLES: Final[tuple[Role, ...]] = ("entry", "exit")


class OddsByWeek(NamedTuple):
    """E at the end of each week from `first` on, at most the newest 104, six digits."""

    first: int
    against: list[float]
    in_favour: list[float]


@dataclass(frozen=True, slots=True)
class RuleEvidence:
    """What the bets say of one heuristic in one role; money in the threshold unit, None where there is no such figure.

    `n` outcomes on `days` days of entry resolved in complete weeks, `average` of them. `interval` is of the mean outcome
    and holds at every look; `since` is when something was held for it first; an end that no bet can reject is None. `pool` are the week sums that its role has.
    """

    grade: Grade
    since: int | None
    n: int
    days: int
    average: float | None
    pool: int
    bets: int
    bound: float | None = None
    bound_since: int | None = None
    e_against: float | None = None
    e_for: float | None = None
    anytime_p: float | None = None
    interval: tuple[float | None, float | None] | None = None
    no_interval: str | None = None
    clipped: float | None = None
    break_even: anytime.BreakEven | None = None
    ripening: anytime.Ripening | None = None
    stopped_working: anytime.StoppedWorking | None = None
    path: OddsByWeek | None = None

    @property
    def e(self) -> float | None:
        """E of the direction that the average has."""
        if not self.average:
            return None
        return self.e_against if self.average < 0 else self.e_for


class WeekLook(NamedTuple):
    """A row at the end of one week: outcomes that resolved in it, what it changed, and what was said of the row then."""

    week: int
    n: int
    x: float
    e_against: float | None
    e_for: float | None
    grade: Grade
    kind: Kind


@dataclass(frozen=True, eq=False)
class Bets:
    """Rows of one family: what they made week by week, and what is bet on them. Row i of everything is `keys[i]`.

    `resolved` (rows, weeks) are the outcomes of each week in the threshold unit, added up; `values` the outcomes of a
    row, `days` of how many days of entry; `since` (rows,) when something was first held for it.
    """

    keys: Sequence[Key]
    grid: WeekGrid
    bound: Bounds
    resolved: NDArray[np.float64]
    values: Sequence[Sequence[float]]
    days: Sequence[int]
    since: NDArray[np.int64]
    pool: Mapping[Role, int]
    zone: ZoneInfo | None

    @property
    def last(self) -> int:
        """The last complete week, by its number."""
        return self.grid.first + len(self.grid.sums.T) - 1

    @property
    def until(self) -> int:
        """The end of the last complete week, in microseconds."""
        return week_start(self.last + 1, self.zone)

    @cached_property
    def index(self) -> dict[Key, int]:
        """The row of each key."""
        return {key: row for row, key in enumerate(self.keys)}

    @cached_property
    def wealth(self) -> Wealth:
        """The wealth of the bets at the end of every week: of all rows, as only a history asks for it."""
        return betting.wealth(self.grid, self.bound)

    @cached_property
    def grades(self) -> NDArray[np.int8]:
        """What is said of every row at the end of every week, (rows, weeks), as places in `betting.GRADES`."""
        n = np.cumsum(self.grid.outcomes, axis=1)
        averages = np.cumsum(self.resolved, axis=1) / np.maximum(n, 1)
        e_values = (betting.e_value(log_e) for log_e in (self.wealth.log_against, self.wealth.log_for))
        return betting.grade_numbers(n, averages, *e_values)

    @cached_property
    def grades_now(self) -> NDArray[np.int8]:
        """What is said of every row at the end of the last complete week, (rows,)."""
        n = self.grid.outcomes.sum(axis=1)
        averages = np.cumsum(self.resolved, axis=1)[:, -1] / np.maximum(n, 1)
        logs = betting.wealth_now(self.grid, self.bound)
        return betting.grade_numbers(n, averages, *map(betting.e_value, logs))

    def supported(self) -> set[str]:
        """The heuristics whose evidence is `supported` now, in whichever role."""
        now = (self.grades_now == GRADES.index("supported")).tolist()
        return {name for (name, _), is_supported in zip(self.keys, now, strict=True) if is_supported}

    def looks(self, key: Key, since: int, thresholds: Thresholds) -> list[WeekLook]:
        """Every complete week of a row since an instant, as it stood at each week's end."""
        if key not in self.index:
            return []
        row, first = self.index[key], week_of(since, self.zone)
        begins = max(first, self.grid.first)
        out = [
            WeekLook(week, 0, 0.0, None, None, "none", "insufficient_data")
            for week in range(first, min(begins, self.last + 1))
        ]
        after = slice(begins - self.grid.first, None)
        columns = (
            self.grid.outcomes[row, after],
            self.grid.sums[row, after],
            betting.e_value(self.wealth.log_against[row, after]),
            betting.e_value(self.wealth.log_for[row, after]),
            self.grades[row, after],
            self.resolved[row, after],
        )
        n, total = 0, ExactSum()
        for week, look in enumerate(zip(*(column.tolist() for column in columns), strict=True), start=begins):
            outcomes, x, against, in_favour, grade, resolved = look
            n += outcomes
            total.add(resolved)
            kind = recommend(n, total.value / n if n else None, thresholds)
            odds = number_of(against), number_of(in_favour)
            out.append(WeekLook(week, outcomes, x, *odds, GRADES[grade], kind))
        return out

    def evidence(self, keys: Sequence[Key], thresholds: tuple[float, float]) -> dict[Key, RuleEvidence]:
        """What is known now of these rows, as far as they are in the family; `thresholds` are demote's and keep's."""
        rows = np.array([self.index[key] for key in keys if key in self.index], np.int64)
        out: dict[Key, RuleEvidence] = {}
        for start in range(0, len(rows), _AT_ONCE):
            out |= self._evidence(rows[start : start + _AT_ONCE], thresholds)
        return out

    def _evidence(self, rows: NDArray[np.int64], thresholds: tuple[float, float]) -> dict[Key, RuleEvidence]:
        grid = WeekGrid(self.grid.first, self.grid.sums[rows], self.grid.outcomes[rows])
        bound = Bounds(self.bound.size[rows], self.bound.column[rows], 0)
        averages = [
            fsum(values) / len(values) if values else None for values in map(self.values.__getitem__, rows)
        ]
        sides = [None if not average else int(average > 0) for average in averages]
        wealth = betting.wealth(grid, bound)
        logs = (wealth.log_against, wealth.log_for)
        e_values = [betting.e_value(log_e[:, -1]) for log_e in logs]
        p_values = [betting.anytime_p(log_e)[:, -1] for log_e in logs]
        intervals = anytime.mean_intervals(grid, bound)
        clipped = anytime.clipped_shares(grid, bound)
        ripe = anytime.weeks_to_verdict(grid, bound, [thresholds[side == 1] for side in sides])
        stopped = anytime.stopped_working(grid, bound)
        bets = wealth.bets[:, -1].tolist()
        out: dict[Key, RuleEvidence] = {}
        for i, row in enumerate(rows.tolist()):
            interval, side, column = intervals[i], sides[i], int(bound.column[i])
            out[self.keys[row]] = RuleEvidence(
                grade=GRADES[self.grades_now[row]],
                since=None if self.since[row] == FOREVER else int(self.since[row]),
                n=len(self.values[row]),
                days=self.days[row],
                average=averages[i],
                pool=self.pool[self.keys[row][1]],
                bets=bets[i],
                bound=number_of(bound.size[i]),
                bound_since=None if column < 0 else week_start(grid.first + column, self.zone),
                e_against=number_of(e_values[0][i]),
                e_for=number_of(e_values[1][i]),
                anytime_p=None if side is None else number_of(p_values[side][i]),
                interval=None if interval.reason else (interval.low, interval.high),
                no_interval=interval.reason,
                clipped=None if side is None else number_of(clipped[side][i]),
                break_even=anytime.break_even(self.values[row]),
                ripening=ripe[i],
                stopped_working=stopped[i],
                path=_path(grid.first, column, *(log_e[i] for log_e in logs)),
            )
        return out


def _path(first: int, begins: int, *logs: NDArray[np.float64]) -> OddsByWeek | None:
    """E at the end of each week of a row, from the column of its bound on; None without one."""
    if begins < 0:
        return None
    begins = max(begins, len(logs[0]) - _DRAWN)
    return OddsByWeek(first + begins, *(_six_digits(betting.e_value(log_e[begins:])) for log_e in logs))


def _six_digits(values: NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.6g}") for value in values.tolist()]


def number_of(value: Any) -> float | None:
    """A figure of the kernel; None where it is NaN."""
    return None if isnan(value) else float(value)


def bets_of(history: History, rules: AuditRules, until: int) -> Bets:
    """The bets of a life on every heuristic cited in it, over the weeks that are complete at an instant."""
    zone, stands_since = rules.zone, since_of(rules)
    since = np.array([stands_since.get(name, -FOREVER) for name in history.names], np.int64)
    last = week_of(until, zone) - 1
    weeks = history.weeks[history.weeks["week"] <= last]
    changes = in_unit(weeks, weeks["change"], rules.unit)
    weeks, changes = weeks[~np.isnan(changes)], changes[~np.isnan(changes)]
    records = history.cited()
    records = records[records["resolved_at"] < week_start(last + 1, zone)]
    records = records[records["told_at"] >= since[records["name"]]]
    values = in_unit(records, records["value"], rules.unit)
    records, values = records[~np.isnan(values)], values[~np.isnan(values)]
    first = int(weeks["week"].min()) if len(weeks) else last
    if len(records):
        first = min(first, week_of(int(records["resolved_at"].min()), zone))
    starts = np.array([week_start(week, zone) for week in range(first, last + 2)], np.int64)
    column = np.searchsorted(starts, records["resolved_at"], side="right") - 1

    standing = weeks["told_at"] >= since[weeks["name"]]
    kinds = union(_kind(weeks[standing]), _kind(records))
    own = _sums(weeks[standing], changes[standing])
    shape = (len(kinds), last - first + 1)
    sums = np.zeros(shape)
    sums[np.searchsorted(kinds, own.kind), own.week - first] = own.total
    row = np.searchsorted(kinds, _kind(records))
    outcomes, resolved = np.zeros(shape, np.int64), np.zeros(shape)
    np.add.at(outcomes, (row, column), 1)
    np.add.at(resolved, (row, column), values)
    grid = WeekGrid(first, sums, outcomes)
    bound, pool = _bounds(grid, kinds, _sums(weeks, changes))
    since_held = np.full(len(kinds), FOREVER)
    np.minimum.at(since_held, np.searchsorted(kinds, _kind(weeks[standing])), weeks["held_at"][standing])
    edges = np.searchsorted(row, np.arange(len(kinds) + 1))  # records are in order of their kind
    return Bets(
        keys=[(history.names[kind // 2], _ROLES[kind % 2]) for kind in kinds.tolist()],
        grid=grid,
        bound=bound,
        resolved=resolved,
        values=[values[a:b].tolist() for a, b in pairwise(edges.tolist())],
        days=np.bincount(_distinct(row, records["day"]), minlength=len(kinds)).tolist(),
        since=since_held,
        pool=pool,
        zone=zone,
    )


def _distinct(row: NDArray[np.int64], day: NDArray[np.int32]) -> NDArray[np.int64]:
    """The row of each different day of a row."""
    order = np.lexsort((day, row))
    row, day = row[order], day[order]
    first: NDArray[np.bool_] = (np.diff(row, prepend=-1) != 0) | (np.diff(day, prepend=-1) != 0)
    return np.asarray(row[first])


def since_of(rules: AuditRules) -> dict[str, int]:
    """From when on the text of each rule stands: before that, nothing that cites it counts for it."""
    return {rule.id: rule.since for rule in rules.rules.values() if rule.since is not None}


def in_unit(rows: NDArray[Any], amounts: NDArray[np.float64], unit: Unit) -> NDArray[np.float64]:
    """Money in the threshold unit; NaN where the position does not know its size in it."""
    if unit == "usd":
        return amounts
    measured: NDArray[np.float64] = amounts / (rows["risk"] if unit == "r" else rows["notional"] / 1e4)
    return measured


def _kind(rows: NDArray[Any]) -> NDArray[np.int64]:
    return np.asarray(rows["name"].astype(np.int64) * 2 + rows["exit"])


@dataclass(frozen=True, slots=True, eq=False)
class _WeekSums:
    """Arrays (sums,): the heuristic and role, the week, and what all its positions changed in it; not 0."""

    kind: NDArray[np.int64]
    week: NDArray[np.int64]
    total: NDArray[np.float64]


def _sums(weeks: NDArray[Any], changes: NDArray[np.float64]) -> _WeekSums:
    """Add up by heuristic, role and week; within a sum in the order of positions, which no telling moves."""
    kind, week = _kind(weeks), weeks["week"].astype(np.int64)
    order = np.lexsort((changes, weeks["position"], week, kind))
    kind, week, changes = kind[order], week[order], changes[order]
    if not len(kind):
        return _WeekSums(kind, week, changes)
    begins = np.flatnonzero(np.concatenate(([True], (np.diff(kind) != 0) | (np.diff(week) != 0))))
    total = np.add.reduceat(changes, begins)
    moved = total != 0
    return _WeekSums(kind[begins][moved], week[begins][moved], total[moved])


def _bounds(grid: WeekGrid, kinds: NDArray[np.int64], pool: _WeekSums) -> tuple[Bounds, dict[Role, int]]:
    """The bound of each row, from the week sums of all labels of its role."""
    size, column = np.full(len(kinds), np.nan), np.full(len(kinds), -1)
    pools: dict[Role, int] = {}
    for number, role in enumerate(_ROLES):
        rows, of_role = kinds % 2 == number, pool.kind % 2 == number
        part = WeekGrid(grid.first, grid.sums[rows], grid.outcomes[rows])
        fixed = betting.bounds(part, pool.week[of_role], pool.total[of_role])
        size[rows], column[rows], pools[role] = fixed.size, fixed.column, fixed.pool
    return Bounds(size, column, 0), pools
