"""What was cited in a period, gathered by heuristic and role: outcomes, decisions, positions that are still open."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np

from retro.evaluate.audit.bets import since_of
from retro.evaluate.audit.history import RECORD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from retro.evaluate.audit.citations import CitingDecisions, CreditItem, Role
    from retro.evaluate.audit.history import History
    from retro.evaluate.audit.rules import AuditRules, Unit

__all__ = ["Tally", "by_position", "inside", "tally", "tally_open"]


@dataclass(slots=True)
class Tally:
    """Everything about one (heuristic, role); `ever` are records of its history.

    `hindsight` are decisions that cite it after the fact, `left_out` the outcomes that only such decisions cite it for.
    `standing` is the pnl so far of the open positions whose entry cites it, None of those that have no price.
    """

    period: list[CreditItem] = field(default_factory=list)
    ever: NDArray[Any] = field(default_factory=lambda: np.empty(0, RECORD))
    decisions: set[str] = field(default_factory=set)
    hindsight: set[str] = field(default_factory=set)
    left_out: list[CreditItem] = field(default_factory=list)
    standing: list[float | None] = field(default_factory=list)


def tally(
    items: Iterable[CreditItem], history: History, rules: AuditRules, start: int, end: int
) -> dict[tuple[str, Role], Tally]:
    """Everything about each (heuristic, role): of the period [start, end), and of the history before its end."""
    table: dict[tuple[str, Role], Tally] = defaultdict(Tally)
    for key, records in history.before(end).by_heuristic(since_of(rules)).items():
        table[key].ever = records
    before: CitingDecisions | None = None
    for item in items:
        resolved = inside(item, start, end)
        if resolved:
            for heuristic in item.cites:
                table[heuristic, item.role].period.append(item)
            for heuristic in item.left_out:
                table[heuristic, item.role].left_out.append(item)
        if item.citing is before:  # the increases of a position resolve together, and share their decisions
            continue
        before = item.citing
        for decision, heuristics in before.decisions:
            if resolved or start <= decision.at < end:
                for heuristic in heuristics:
                    row = table[heuristic, item.role]
                    row.decisions.add(decision.id)
                    if decision.after_the_fact:
                        row.hindsight.add(decision.id)
    return table


def tally_open(
    table: dict[tuple[str, Role], Tally],
    items: Iterable[CreditItem],
    standing: Mapping[str, float | None],
    end: int,
) -> None:
    """Note with each heuristic what the positions are worth that it brought in and that nobody has closed."""
    waiting = dict(standing)
    for item in items:
        if item.role != "entry" or item.position not in waiting:
            continue
        pnl = waiting.pop(item.position)  # an increase that is an item of its own comes after the entry
        cited = (
            heuristic
            for decision, heuristics in item.citing.decisions
            if decision.action != "increase" and not decision.after_the_fact and decision.at < end
            for heuristic in heuristics
        )
        for heuristic in dict.fromkeys(cited):
            table[heuristic, "entry"].standing.append(pnl)


def by_position(items: Sequence[CreditItem], unit: Unit | None = None) -> list[tuple[CreditItem, float]]:
    """One outcome per position: several outcomes of one heuristic in one role there are added."""
    sums: dict[str, tuple[CreditItem, list[float]]] = {}
    for item in items:
        value = item.value if unit is None else item.in_unit(unit)
        if value is not None:
            sums.setdefault(item.position, (item, []))[1].append(value)
    return [(item, fsum(values)) for item, values in sums.values()]


def inside(item: CreditItem, start: int, end: int) -> bool:
    """Whether an outcome became known in [start, end)."""
    return item.resolved_at is not None and start <= item.resolved_at < end
