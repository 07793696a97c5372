"""Which decisions came before what they explain: only those prove anything, the others are hindsight.

A decision proves nothing of a position when it is dated after the fill it explains (after the last one that it could),
after the position's exit, or when its agent corrected it once the outcome was known: then what it said before counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from playbook.ids import ids_cited_in
from retro.accounting.order import natural_key
from retro.model import Decision

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from retro.accounting.movements import Retelling
    from retro.accounting.track import PositionHistory

__all__ = ["ENTRY_ACTIONS", "EXIT_ACTIONS", "Cited", "citations_in", "cites_of", "foreseen", "retold_of"]

ENTRY_ACTIONS: Final = frozenset({"enter", "increase", "hold", "skip"})
EXIT_ACTIONS: Final = frozenset({"exit", "reduce"})
_OPENING: Final = frozenset({"enter", "increase"})


class Cited(msgspec.Struct, frozen=True, array_like=True):
    """One decision's citations, as the agent wrote them; stored as a list of its fields.

    `after_the_fact`: it is a citation and no evidence. `told_at` is the clock by which it was told first, if any was
    looked at.
    """

    id: str
    at: int
    action: str
    cites: tuple[str, ...]
    after_the_fact: bool = False
    told_at: int | None = None


def cites_of(decision: Decision) -> tuple[str, ...]:
    """What a decision cites, each once in order: its list, else the ids of the form H-7 in its reasoning."""
    cites = decision.cites if decision.cites is not None else ids_cited_in(decision.reasoning)
    labels = [cite for cite in cites if cite]
    return tuple(dict.fromkeys(labels) if len(labels) > 1 else labels)


def retold_of(track: PositionHistory, retold: Iterable[Retelling]) -> list[Retelling]:
    """Of what was corrected, that which concerns a position: its own event, and decisions that named it or now do."""
    name, decided = track.position.position, {decision.id for decision in track.decisions}
    return [
        retelling
        for retelling in retold
        if retelling.fact.position == name
        or (isinstance(retelling.fact, Decision) and retelling.fact.id in decided)
    ]


def foreseen(track: PositionHistory) -> list[Decision]:
    """The decisions that count as evidence, as they stood when the outcome became known; in order of time."""
    decisions, last = _as_of_the_exit(track).values(), _last_put_in(track)
    return sorted(
        (d for d in decisions if d.position == track.position.position and not _dated_late(d, track, last)),
        key=_order,
    )


def citations_in(track: PositionHistory, told_at: Mapping[str, int]) -> tuple[Cited, ...]:
    """Every citation about a position: what counts as evidence, and what came after the fact; in order of time."""
    counted = foreseen(track)
    rows = [(decision, False) for decision in counted]
    known = {(d.id, d.at, d.action, cites_of(d)) for d in counted}
    rows += [(d, True) for d in track.decisions if (d.id, d.at, d.action, cites_of(d)) not in known]
    rows.sort(key=lambda row: (_order(row[0]), row[1]))
    return tuple(
        Cited(decision.id, decision.at, decision.action, cites, late, told_at.get(decision.id))
        for decision, late in rows
        if (cites := cites_of(decision))
    )


def _as_of_the_exit(track: PositionHistory) -> dict[str, Decision]:
    """Each decision as it stood when the position was closed: of one corrected since, what it said first."""
    standing = {decision.id: decision for decision in track.decisions}
    if track.closed_at is None:
        return standing
    before: dict[str, Decision] = {}
    for told_at, fact in track.retold:
        if isinstance(fact, Decision) and told_at >= track.closed_at:
            before.setdefault(fact.id, fact)
    return {**standing, **before}


def _last_put_in(track: PositionHistory) -> int:
    """When something was put in last."""
    put_in = [opening.at for opening in track.openings] if track.is_fill_based else track.deposits
    return max(put_in, default=track.opened_at)


def _dated_late(decision: Decision, track: PositionHistory, last_put_in: int) -> bool:
    """Whether a decision is dated after the last fill it could explain; of a position that is open, nobody can say."""
    if track.closed_at is None:
        return False
    return decision.at > (last_put_in if decision.action in _OPENING else track.closed_at)


def _order(decision: Decision) -> tuple[int, tuple[str, ...]]:
    return decision.at, natural_key(decision.id)
