"""The weeks of marked money that a heuristic is cited for."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, NamedTuple

from playbook.citation import resolve
from retro.evaluate.audit.citations import every_item

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from retro.evaluate.audit.citations import CreditItem, Role
    from retro.evaluate.audit.rules import AuditRules
    from retro.evaluate.position.levels import WeekLevels, WeeklyMoney
    from retro.evaluate.position.summary import PositionSummary

__all__ = ["WeekCredit", "week_credits"]


class WeekCredit(NamedTuple):
    """What one week of a position changed for a heuristic cited for it in one role, in base currency.

    `told_at` is when it was first cited, `held_at` since when the position counts for it: its entry (of an exit: when it
    left), or the citation if that came later; `day` the entry's. `notional`, as far as it was put in by then, and `risk`
    are NaN where the position does not know them.
    """

    heuristic: str
    role: Role
    position: str
    day: int
    told_at: int
    held_at: int
    week: int
    change: float
    notional: float
    risk: float


def week_credits(
    row: PositionSummary, money: WeeklyMoney, rules: AuditRules, claims: Mapping[str, str]
) -> Iterator[WeekCredit]:
    """Credit the weeks of one position to what its decisions cite, as `items_of` credits its outcomes."""
    items = every_item(row, rules, claims)
    entry, leaving = items[0], items[-1]
    beaten = set(entry.cites)
    credited: list[tuple[CreditItem, str, WeekLevels | None]] = [
        (entry, heuristic, money.entry) for heuristic in entry.cites
    ]
    for cites, levels in money.increases:
        own = (heuristic for heuristic in resolve(cites, claims) if heuristic not in beaten)
        credited += [(entry, heuristic, levels) for heuristic in own]
    credited += [(leaving, heuristic, money.exit) for heuristic in leaving.cites]
    for item, heuristic, known in credited:
        if known is not None:
            yield from _credits(row, item, heuristic, item.cited_at(heuristic), known)


def _credits(
    row: PositionSummary, item: CreditItem, heuristic: str, told_at: int, levels: WeekLevels
) -> Iterator[WeekCredit]:
    begins = row.opened_at if item.role == "entry" or row.closed_at is None else row.closed_at
    for week, change in levels.changes(told_at).items():
        yield WeekCredit(
            heuristic,
            item.role,
            item.position,
            item.day,
            told_at,
            max(begins, told_at),
            week,
            change,
            item.notional * levels.size(week) if item.notional else nan,
            item.risk or nan,
        )
