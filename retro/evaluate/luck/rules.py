"""Whether a rule chooses better moments than chance does: its positions' percentiles, week by week."""

from __future__ import annotations

from collections import defaultdict
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from retro.accounting.order import natural_key
from retro.evaluate.audit.bets import number_of
from retro.kernels import betting, uncertainty
from retro.kernels.betting import Bounds, WeekGrid
from retro.periods import week_of
from retro.report.evaluators.luck import RuleLuck

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zoneinfo import ZoneInfo

    from retro.evaluate.luck.trades import ClosedTrade
    from retro.kernels.audit import Grade

__all__ = ["rule_rows"]

_CHANCE = 0.5


def rule_rows(ranked: Sequence[tuple[ClosedTrade, float]], now: int, zone: ZoneInfo | None) -> list[RuleLuck]:
    """A row a heuristic, of the trades whose entries cite it, each with its percentile.

    The bet's unit is a week that is over by `now`: the mean of 2u - 1 over the trades left in it, at most 1.
    """
    cited: dict[str, list[tuple[ClosedTrade, float]]] = defaultdict(list)
    for trade, percentile in ranked:
        for name in trade.cites:
            cited[name].append((trade, percentile))
    if not cited:
        return []
    names = sorted(cited, key=lambda name: (natural_key(name), name))
    grid = _weeks([cited[name] for name in names], week_of(now, zone) - 1, zone)
    bound = Bounds(np.ones(len(names)), np.zeros(len(names), np.int64), 0)
    bets = betting.bet_weeks(grid, bound).sum(axis=1).tolist()
    against, in_favour = (betting.e_value(log_e) for log_e in betting.wealth_now(grid, bound))
    outcomes = grid.outcomes.sum(axis=1)
    grades = betting.grades(
        outcomes, (grid.sums * grid.outcomes).sum(axis=1) / np.maximum(outcomes, 1), against, in_favour
    )
    return [
        _row(name, cited[name], number_of(against[i]), number_of(in_favour[i]), bets[i], grades[i])
        for i, name in enumerate(names)
    ]


def _weeks(
    rules: Sequence[Sequence[tuple[ClosedTrade, float]]], last: int, zone: ZoneInfo | None
) -> WeekGrid:
    """The mean of 2u - 1 of each rule (row) in each week (column) up to the `last`; 0 where it left nothing."""
    placed = [
        [(week_of(trade.closed_at, zone), 2 * (percentile - _CHANCE)) for trade, percentile in rule]
        for rule in rules
    ]
    first = min((week for rule in placed for week, _ in rule if week <= last), default=last)
    shape = (len(rules), last - first + 1)
    means, outcomes = np.zeros(shape), np.zeros(shape, np.int64)
    for row, rule in enumerate(placed):
        by_week: dict[int, list[float]] = defaultdict(list)
        for week, unit in rule:
            if week <= last:
                by_week[week - first].append(unit)
        for column, units in by_week.items():
            means[row, column], outcomes[row, column] = fsum(units) / len(units), len(units)
    return WeekGrid(first, means, outcomes)


def _row(
    name: str,
    ranked: Sequence[tuple[ClosedTrade, float]],
    e_against: float | None,
    e_for: float | None,
    weeks: int,
    evidence: Grade,
) -> RuleLuck:
    estimate = uncertainty.mean_estimate(
        uncertainty.by_day([percentile for _, percentile in ranked], [trade.day for trade, _ in ranked])
    )
    reasons = {}
    if estimate.interval is None:
        reasons["interval"] = (
            "entered on one day only" if estimate.reason == "too_few_days" else "all percentiles are alike"
        )
    if e_for is None:
        reasons["e_for"] = reasons["e_against"] = "no position of it was left in a week that is complete"
    return RuleLuck(
        heuristic=name,
        role="entry",
        n=len(ranked),
        mean_percentile=fsum(percentile for _, percentile in ranked) / len(ranked),
        interval=None
        if estimate.interval is None
        else (max(0.0, estimate.interval[0]), min(1.0, estimate.interval[1])),
        weeks=weeks,
        e_for=e_for,
        e_against=e_against,
        evidence=evidence,
        reasons=reasons,
    )
