"""The bets on what was cited after a proposal, by which it is judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from retro.evaluate.audit.bets import bets_of, number_of
from retro.evaluate.audit.rules import Rule
from retro.kernels import betting
from retro.kernels.betting import Bounds, WeekGrid

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from retro.evaluate.audit.citations import Role
    from retro.evaluate.audit.history import History
    from retro.evaluate.audit.rules import AuditRules, Unit

__all__ = ["LaterBets", "later_bets"]


@dataclass(frozen=True, slots=True)
class LaterBets:
    """The bets on later citations alone, at the end of a week: outcomes that resolved, and E; None without a bound."""

    resolved: int
    e_against: float | None
    e_for: float | None


def later_bets(
    history: History,
    rules: AuditRules,
    until: int,
    names: Iterable[str],
    role: Role,
    since: int,
    unit: Unit,
    bound: float | None,
) -> list[LaterBets]:
    """The bets on what was first cited from `since` on for any of these names, week by week, B as it was.

    Without a `bound` that of today's audit counts: of a proposal that was made before there were bets.
    """
    cited = set(names)
    alone = replace(rules, unit=unit, rules={name: Rule(name, "", (), since) for name in cited})
    bets = bets_of(history.of_names(cited), alone, until)
    rows = [row for row, key in enumerate(bets.keys) if key[1] == role]
    if not rows:
        return []
    keys = [bets.keys[row] for row in rows]
    size = np.full(len(rows), bound) if bound else _sizes_today(history, rules, until, keys, unit)
    grid = WeekGrid(bets.grid.first, bets.grid.sums[rows], bets.grid.outcomes[rows])
    wealth = betting.wealth(grid, Bounds(size, np.where(size > 0, 0, -1), 0))
    row = int(
        np.argmax(grid.outcomes.sum(axis=1))
    )  # a label and its number are one heuristic: the busier speaks
    resolved = np.cumsum(grid.outcomes[row]).tolist()
    e_values = [betting.e_value(log_e[row]).tolist() for log_e in (wealth.log_against, wealth.log_for)]
    looks = zip(resolved, *e_values, strict=True)
    return [LaterBets(n, number_of(against), number_of(in_favour)) for n, against, in_favour in looks]


def _sizes_today(
    history: History, rules: AuditRules, until: int, keys: Sequence[tuple[str, Role]], unit: Unit
) -> NDArray[np.float64]:
    bets = bets_of(history, replace(rules, unit=unit), until)
    return np.array([bets.bound.size[bets.index[key]] if key in bets.index else nan for key in keys])
