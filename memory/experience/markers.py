"""Somatic markers: situations that felt better than they were, or that were left at the wrong moment.

They follow from the newest retrospective of each episode and are not stored. Source: docs/memory.md, Formulas: Hindsight.
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
    episodes = {
        number: from_document(text) for number, text in ledger.numbered(conn, agent, list(marked)).items()
    }
    marks = [
        marker
        for number, retrospective in marked.items()
        for marker in markers_of(episodes[number], retrospective)
    ]
    if context is None:
        return tuple(sorted(marks, key=lambda marker: (-marker.at, marker.episode, marker.outcome))[:limit])
    columns = encode(settings.registry, [marker.context for marker in marks])
    alike = similarity(settings.registry, context, columns, len(marks)).tolist()
    near = [replace(marker, similarity=share) for marker, share in zip(marks, alike, strict=True)]
    return tuple(
        sorted(
            near, key=lambda marker: (-(marker.similarity or 0.0), -marker.at, marker.episode, marker.outcome)
        )[:limit]
    )


def _marked(conn: Connection, agent: str, as_of: int | None, wanted: int | None) -> dict[int, Retrospective]:
    """Episode number -> its newest retrospective, of those that mark it; enough of the newest for `wanted` markers."""
    numbers: set[int] = set()
    marked: dict[int, Retrospective] = {}
    edge: int | None = None
    for row in ledger.latest_judgements(conn, agent, as_of):
        if edge is not None and row.at < edge:
            break  # all of one instant are read, since their order is that of the ids
        if row.episode in numbers:
            continue
        numbers.add(row.episode)
        retrospective = retrospective_of(row)
        if _regretted(retrospective) or _missed(retrospective):
            marked[row.episode] = retrospective
            if wanted is not None and len(marked) >= wanted:
                edge = row.at
    return marked


def _regretted(retrospective: Retrospective) -> bool:
    return retrospective.vs_inaction is not None and retrospective.vs_inaction < -HARM


def _missed(retrospective: Retrospective) -> bool:
    return retrospective.regret is not None and retrospective.regret > MISSED


def markers_of(episode: Episode, retrospective: Retrospective) -> list[Marker]:
    """The markers one retrospective registers: none, one or both."""
    marks = []
    if retrospective.vs_inaction is not None and _regretted(retrospective):
        sure = min(1.0, abs(retrospective.vs_inaction) / SURE)
        marks.append(
            Marker(
                episode.id,
                "Regret",
                "IncreaseCaution",
                sure,
                episode.context,
                retrospective.review,
                retrospective.at,
            )
        )
    if retrospective.regret is not None and _missed(retrospective):
        context = retrospective.peak_context if retrospective.peak_context is not None else episode.context
        sure = min(1.0, retrospective.regret / SURE)
        marks.append(
            Marker(
                episode.id,
                "MissedExit",
                "TightenExits",
                sure,
                context,
                retrospective.review,
                retrospective.at,
            )
        )
    return marks
