"""What trading journals break down: closed positions by label, fee drag, concentration, streaks, disposition.

Arrays run over positions (n,), money in base currency, NaN where a figure is absent. Labels are opaque texts;
a position labelled None belongs to no row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = NDArray[np.float64]

RANKED_FROM = 3  # positions a row needs to be compared with others
HOUR, DAY = 3600.0, 86400.0
HOLDING_TIMES = ("< 1h", "1h - 4h", "4h - 1d", "1d - 3d", "3d - 7d", "7d - 14d", "14d - 30d", ">= 30d")
_HOLDING_EDGES = np.array([HOUR, 4 * HOUR, DAY, 3 * DAY, 7 * DAY, 14 * DAY, 30 * DAY])
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOURS = tuple(f"{hour:02d}" for hour in range(24))


@dataclass(frozen=True, slots=True, eq=False)
class ClosedPositions:
    """Closed positions as columns (n,): pnl, R multiple, holding time in seconds, regret ratio, vs_inaction.

    Only `pnl` is always there; elsewhere NaN is absent.
    """

    pnl: Floats
    r: Floats
    hold_s: Floats
    regret_ratio: Floats
    vs_inaction: Floats


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """The closed positions of one label. `expectancy` is the mean pnl; a mean over nothing is None."""

    key: str
    n: int
    pnl: float
    win_rate: float
    expectancy: float
    expectancy_r: float | None
    mean_hold_s: float | None
    mean_regret_ratio: float | None
    share_below_inaction: float | None
    ranked: bool


@dataclass(frozen=True, slots=True)
class Disposition:
    """Sales and paper positions on days with a sale, counted by sign, and the proportions realised.

    `pgr` above `plr` is the disposition effect: winners are sold and losers kept. None over no gains or no losses.
    """

    realised_gains: int
    paper_gains: int
    realised_losses: int
    paper_losses: int
    pgr: float | None
    plr: float | None


@dataclass(frozen=True, slots=True)
class DayPnl:
    """One day's pnl and how many entries made it up."""

    day: int
    pnl: float
    n: int


def breakdown(
    labels: Sequence[str | None], closed: ClosedPositions, order: Sequence[str] | None = None
) -> tuple[GroupFigures, ...]:
    """Break closed positions down by their `labels` (n,): one row a label that occurs.

    Rows of 3 positions or more come first, best pnl first, then the unranked by key; with `order` (hours,
    weekdays, holding times) all rows follow it instead.
    """
    names = sorted({label for label in labels if label is not None})
    code_of = {name: code for code, name in enumerate(names)}
    codes = np.array([-1 if label is None else code_of[label] for label in labels], dtype=np.int64)
    rows = [
        _row(name, closed, members) for name, members in zip(names, _groups(codes, len(names)), strict=True)
    ]
    if order is not None:
        place = {name: i for i, name in enumerate(order)}
        return tuple(sorted(rows, key=lambda row: place.get(row.key, len(place))))
    return tuple(sorted(rows, key=lambda row: (not row.ranked, -row.pnl if row.ranked else 0.0, row.key)))


def _groups(codes: NDArray[np.int64], groups: int) -> list[NDArray[np.intp]]:
    """Return the positions of each code 0..groups-1, in their order; negative codes belong nowhere."""
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(groups + 1))
    return [order[start:stop] for start, stop in pairwise(bounds)]


def _row(key: str, closed: ClosedPositions, members: NDArray[np.intp]) -> GroupFigures:
    pnl, n = closed.pnl[members], len(members)
    total = math.fsum(pnl.tolist())
    below = _present(closed.vs_inaction[members])
    return GroupFigures(
        key=key,
        n=n,
        pnl=total,
        win_rate=float(np.mean(pnl > 0)),
        expectancy=total / n,
        expectancy_r=_mean(closed.r[members]),
        mean_hold_s=_mean(closed.hold_s[members]),
        mean_regret_ratio=_mean(closed.regret_ratio[members]),
        share_below_inaction=float(np.mean(below < 0)) if len(below) else None,
        ranked=n >= RANKED_FROM,
    )


def _present(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def _mean(values: Floats) -> float | None:
    present = _present(values).tolist()
    return math.fsum(present) / len(present) if present else None


def holding_times(hold_s: ArrayLike) -> list[str | None]:
    """Label holding times in seconds (n,) by the buckets of `HOLDING_TIMES`, each without its end; NaN: None."""
    seconds = np.asarray(hold_s, dtype=np.float64)
    bucket = np.searchsorted(_HOLDING_EDGES, seconds, side="right").tolist()
    return [None if absent else HOLDING_TIMES[b] for b, absent in zip(bucket, np.isnan(seconds), strict=True)]


def fee_drag(pnl: ArrayLike, costs: ArrayLike, unallocated: float = 0.0) -> float | None:
    """Fees and costs over gross gains: what share of the winnings trading itself ate.

    `pnl` (n,) is net of its own `costs` (n,), positive magnitudes; gross gains are the positive pnl before costs.
    `unallocated` costs belong to no position. None without a gross gain.
    """
    net, cost = np.asarray(pnl, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    gross = math.fsum(gain for gain in (net + cost).tolist() if gain > 0)
    return (math.fsum(cost.tolist()) + unallocated) / gross if gross > 0 else None


def concentration(pnl: ArrayLike) -> float | None:
    """Largest single gain over net pnl (n,): above 1, all the rest together lost. None unless the net is above 0."""
    value = np.asarray(pnl, dtype=np.float64)
    net = math.fsum(value.tolist())
    return float(value.max()) / net if net > 0 else None


def longest_losing_streak(pnl: ArrayLike) -> int:
    """Most losses (pnl < 0) in a row, `pnl` (n,) in the order of the exits."""
    losing = np.concatenate(([0], np.asarray(pnl, dtype=np.float64) < 0, [0])).astype(np.int8)
    edges = np.diff(losing)
    lengths = np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)
    return int(lengths.max(initial=0))


def disposition(
    realised: ArrayLike, realised_day: ArrayLike, paper: ArrayLike, paper_day: ArrayLike
) -> Disposition:
    """Count gains and losses sold and kept, on days with a sale (Odean 1998); exactly 0 is neither.

    `realised` (s,) is the pnl of each sale and `realised_day` its day; `paper` (p,) the open pnl of each position
    not sold, at the end of `paper_day`, one row a position and day.
    """
    sold, unsold = np.asarray(realised, dtype=np.float64), np.asarray(paper, dtype=np.float64)
    unsold = unsold[np.isin(np.asarray(paper_day), np.asarray(realised_day))]
    sold_up, sold_down = int(np.sum(sold > 0)), int(np.sum(sold < 0))
    unsold_up, unsold_down = int(np.sum(unsold > 0)), int(np.sum(unsold < 0))
    return Disposition(
        realised_gains=sold_up,
        paper_gains=unsold_up,
        realised_losses=sold_down,
        paper_losses=unsold_down,
        pgr=sold_up / (sold_up + unsold_up) if sold_up + unsold_up else None,
        plr=sold_down / (sold_down + unsold_down) if sold_down + unsold_down else None,
    )


def calendar(days: ArrayLike, pnl: ArrayLike, first: int, last: int) -> tuple[DayPnl, ...]:
    """Add up `pnl` (n,) by its `days` (n,), integers: every day from `first` to `last`, both included, has an entry.

    A day without pnl is 0 with n = 0; pnl of other days is left out.
    """
    day, value = np.asarray(days, dtype=np.int64), np.asarray(pnl, dtype=np.float64)
    length = max(0, last - first + 1)
    codes = np.where((day >= first) & (day <= last), day - first, -1)
    return tuple(
        DayPnl(first + i, math.fsum(value[members].tolist()), len(members))
        for i, members in enumerate(_groups(codes, length))
    )
