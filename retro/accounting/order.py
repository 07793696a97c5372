"""The order of events (`journal.md`): by instant, within it by what they do, then by id compared naturally.

Within an instant: the position, deposits and opening fills, accruals, funding and costs, snapshots, withdrawals and
closing fills, exit, decisions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from retro.model import Cost, Exit, Fill, Flow, Position, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retro.model import Fact

__all__ = ["in_order", "natural_key", "opening_side"]

_NUMBER: Final = re.compile(r"(\d+)")


def natural_key(text: str) -> tuple[str, ...]:
    """Sort key under which e2 comes before e10."""
    parts = _NUMBER.split(text)
    for i in range(1, len(parts), 2):
        digits = parts[i].lstrip("0")
        parts[i] = f"{len(digits):09d}{digits}"
    return tuple(parts)


def in_order(facts: Sequence[Fact], opening: str | None) -> list[Fact]:
    """A position's events in their order; `opening` is the side of the fills that enlarge it.

    Ids are compared only where instants and ranks leave it open.
    """
    keys = [(fact.at, _rank(fact, opening)) for fact in facts]
    if len(set(keys)) < len(keys):
        return sorted(facts, key=lambda fact: (fact.at, _rank(fact, opening), natural_key(fact.id)))
    return [facts[place] for place in sorted(range(len(keys)), key=keys.__getitem__)]


def _rank(fact: Fact, opening: str | None) -> int:
    if isinstance(fact, Fill):
        return 1 if fact.side == opening else 5
    if isinstance(fact, Flow):
        return _FLOWS.get(fact.kind, 2)
    return _RANKS.get(type(fact), 7)


_FLOWS: Final = {"deposit": 1, "withdrawal": 5, "funding_received": 3, "funding_paid": 3}
_RANKS: Final[dict[type, int]] = {Position: 0, Cost: 3, Snapshot: 4, Exit: 6}


def opening_side(position: Position, facts: Iterable[Fact]) -> str | None:
    """The side of the fills that enlarge a position: as told, else that of its first fill."""
    if position.side is not None:
        return "buy" if position.side == "long" else "sell"
    fills = [fact for fact in facts if isinstance(fact, Fill)]
    return min(fills, key=lambda fill: (fill.at, natural_key(fill.id))).side if fills else None
