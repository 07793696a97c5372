"""Somatic markers: situations that felt better than they were, or that were left at the wrong moment.

They follow from the newest retrospective of each episode and are not stored. Source: numbers.md section 5, seed 004.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from memory.episodic.episode import Episode, from_document
from memory.experience.hindsight import HARM, Retrospective, retrospective_of
from memory.settings import STANDARD, Settings
from memory.situation.context import Context, encode, similarity
from memory.store import ledger

if TYPE_CHECKING:
    from sqlalchemy import Connection

MISSED: Final = 2.0
"""Regret above this registers a missed exit."""
SURE: Final = 10.0
"""The size at which a marker's confidence is 1."""


@dataclass(frozen=True, slots=True)
class Marker:
    """Situations like `context` felt better than they were (`Regret`) or were left too late (`MissedExit`)."""

    episode: str
    outcome: Literal["Regret", "MissedExit"]
    bias: Literal["IncreaseCaution", "TightenExits"]
    confidence: float
    context: dict[str, Any]
    review: str
    at: int
    similarity: float | None = None


def markers(
    conn: Connection,
    agent: str,
    *,
    context: Context | None = None,
    as_of: int | None = None,
    limit: int = 100,
    settings: Settings = STANDARD,
) -> tuple[Marker, ...]:
    """The somatic markers known at `as_of`: nearest to `context` first when there is one, else newest first.

    Without a context no more is read than the newest that are wanted.
    """
    marked = _marked(conn, agent, as_of, limit if context is None else None)
    told = {
        number: from_document(text) for number, text in ledger.numbered(conn, agent, list(marked)).items()
    }
    found = [marker for number, one in marked.items() for marker in markers_of(told[number], one)]
    if context is None:
        return tuple(sorted(found, key=lambda marker: (-marker.at, marker.episode, marker.outcome))[:limit])
    columns = encode(settings.registry, [marker.context for marker in found])
    alike = similarity(settings.registry, context, columns, len(found)).tolist()
    near = [replace(marker, similarity=share) for marker, share in zip(found, alike, strict=True)]
    return tuple(
        sorted(
            near, key=lambda marker: (-(marker.similarity or 0.0), -marker.at, marker.episode, marker.outcome)
        )[:limit]
    )


def _marked(conn: Connection, agent: str, as_of: int | None, wanted: int | None) -> dict[int, Retrospective]:
    """Episode number -> its newest retrospective, of those that mark it; enough of the newest for `wanted` markers."""
    seen: set[int] = set()
    marked: dict[int, Retrospective] = {}
    edge: int | None = None
    for row in ledger.latest_judgements(conn, agent, as_of):
        if edge is not None and row.at < edge:
            break  # all of one instant are read, since their order is that of the ids
        if row.episode in seen:
            continue
        seen.add(row.episode)
        found = retrospective_of(row)
        if _regretted(found) or _missed(found):
            marked[row.episode] = found
            if wanted is not None and len(marked) >= wanted:
                edge = row.at
    return marked


def _regretted(found: Retrospective) -> bool:
    return found.vs_inaction is not None and found.vs_inaction < -HARM


def _missed(found: Retrospective) -> bool:
    return found.regret is not None and found.regret > MISSED


def markers_of(episode: Episode, found: Retrospective) -> list[Marker]:
    """The markers one retrospective registers: none, one or both."""
    made = []
    if found.vs_inaction is not None and _regretted(found):
        sure = min(1.0, abs(found.vs_inaction) / SURE)
        made.append(
            Marker(episode.id, "Regret", "IncreaseCaution", sure, episode.context, found.review, found.at)
        )
    if found.regret is not None and _missed(found):
        where = found.peak_context if found.peak_context is not None else episode.context
        sure = min(1.0, found.regret / SURE)
        made.append(Marker(episode.id, "MissedExit", "TightenExits", sure, where, found.review, found.at))
    return made
