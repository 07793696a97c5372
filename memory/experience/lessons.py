"""Lessons: the decisions that cost most against what hindsight knows, one trade each. Examples, never a rate.

They follow from the newest retrospective of each episode and are not stored. Source: docs/memory.md, What a review changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING

from memory.episodic.episode import from_document
from memory.experience.hindsight import retrospective_of
from memory.store import ledger

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from memory.experience.hindsight import Retrospective, Unit


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one decision came to, known at `at` (microseconds).

    `pnl` is in the agent's money; `vs_inaction` (below 0: worse than doing nothing) and `regret` (how much better its
    best exit was, 0 or above) are in `unit`.
    """

    episode: str
    symbol: str | None
    direction: str | None
    at: int
    pnl: float | None
    vs_inaction: float | None
    regret: float | None
    unit: Unit


def lessons(conn: Connection, agent: str, *, as_of: int | None = None, limit: int = 3) -> tuple[Lesson, ...]:
    """The largest lessons known at `as_of`, the largest first; only those in the unit of the newest review compare.

    A lesson is as large as the larger of what was lost against doing nothing and what the best exit would have added.
    """
    newest: dict[int, Retrospective] = {}
    for row in ledger.latest_judgements(conn, agent, as_of):
        if row.episode not in newest:
            newest[row.episode] = retrospective_of(row)
    if not newest:
        return ()
    unit = next(iter(newest.values())).unit
    costs = {
        number: max(-(found.vs_inaction or 0.0), found.regret or 0.0)
        for number, found in newest.items()
        if found.unit == unit
    }
    largest = nlargest(limit, (number for number in costs if costs[number] > 0), key=lambda n: (costs[n], -n))
    documents = ledger.numbered(conn, agent, largest)
    return tuple(_lesson(documents[number], newest[number]) for number in largest)


def _lesson(document: str, found: Retrospective) -> Lesson:
    episode = from_document(document)
    return Lesson(
        episode=episode.id,
        symbol=episode.symbol,
        direction=episode.direction,
        at=episode.at,
        pnl=episode.pnl if found.pnl is None else found.pnl,
        vs_inaction=found.vs_inaction,
        regret=found.regret,
        unit=found.unit,
    )
