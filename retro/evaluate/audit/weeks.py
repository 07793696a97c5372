"""The weeks of marked money that a heuristic is cited for."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, NamedTuple

from playbook.citation import resolve
from retro.evaluate.audit.citations import every_item

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from retro.evaluate.audit.citations import AuditRules, CreditItem, Role
    from retro.evaluate.position.levels import WeeklyMoney
    from retro.evaluate.position.summary import PositionSummary

__all__ = ["WeekCredit", "week_credits"]


class WeekCredit(NamedTuple):
    """What the weeks of one position changed for a heuristic cited for it in one role.

    `changes` by the number of the week, in base currency; `told_at` is when it was first cited, `held_at` the entry (of an exit: when it left), `day` the entry's.
    `notional` and `risk` are NaN where the position does not know them.
    """

    heuristic: str
    role: Role
    position: str
    day: int
    told_at: int
    held_at: int
    changes: Mapping[int, float]
    notional: float
    risk: float


def week_credits(
    row: PositionSummary, money: WeeklyMoney, rules: AuditRules, claims: Mapping[str, str]
) -> Iterator[WeekCredit]:
    """Credit the weeks of one position to what its decisions cite, as `items_of` credits its outcomes."""
    items = every_item(row, rules, claims)
    entry, exit_item = items[0], items[-1]

    def credit(item: CreditItem, heuristic: str, changes: Mapping[int, float]) -> WeekCredit:
        told_at = item.cited_at(heuristic, claims)
        notional, risk = item.notional or nan, item.risk or nan
        held_at = row.opened_at if item.role == "entry" or row.closed_at is None else row.closed_at
        return WeekCredit(
            heuristic, item.role, item.position, item.day, told_at, held_at, changes, notional, risk
        )

    for heuristic in entry.cites:
        yield credit(entry, heuristic, money.entry)
    for cites, changes in money.increases:
        for heuristic in resolve(cites, claims):
            if heuristic not in entry.cites:
                yield credit(entry, heuristic, changes)
    for heuristic in exit_item.cites:
        yield credit(exit_item, heuristic, money.exit)
