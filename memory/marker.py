"""Somatic markers: situations that felt better than they were, or that were left at the wrong moment.

They follow from the newest retrospective of each episode and are not stored. Source: numbers.md section 5, seed 004.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from memory.context import Context, encode, similarity
from memory.episode import Episode, from_document
from memory.hindsight import HARM, Retrospective, retrospective_of
from memory.settings import STANDARD, Settings
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
    """The somatic markers known at `as_of`: nearest to `context` first when there is one, else newest first."""
    newest: dict[int, Retrospective] = {}
    for row in ledger.judgements(conn, agent):
        if as_of is None or row.at <= as_of:
            newest[row.episode] = retrospective_of(row)
    marked = {number: found for number, found in newest.items() if _marks(found)}
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


def _marks(found: Retrospective) -> bool:
    regrets = found.vs_inaction is not None and found.vs_inaction < -HARM
    return regrets or (found.regret is not None and found.regret > MISSED)


def markers_of(episode: Episode, found: Retrospective) -> list[Marker]:
    """The markers one retrospective registers: none, one or both."""
    made = []
    if found.vs_inaction is not None and found.vs_inaction < -HARM:
        sure = min(1.0, abs(found.vs_inaction) / SURE)
        made.append(
            Marker(episode.id, "Regret", "IncreaseCaution", sure, episode.context, found.review, found.at)
        )
    if found.regret is not None and found.regret > MISSED:
        where = found.peak_context if found.peak_context is not None else episode.context
        sure = min(1.0, found.regret / SURE)
        made.append(Marker(episode.id, "MissedExit", "TightenExits", sure, where, found.review, found.at))
    return made
