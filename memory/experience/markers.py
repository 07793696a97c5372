"""Somatic markers: situations that felt better than they were, or that were left at the wrong moment.

They follow from the newest retrospective of each episode and are not stored. Source: docs/memory.md, Formulas: Hindsight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from memory.episodic import cache
from memory.episodic.columns import FOREVER
from memory.episodic.episode import Episode, from_document
from memory.episodic.factors import WINDOW
from memory.experience.hindsight import HARM, Retrospective, retrospective_of
from memory.settings import STANDARD, Settings
from memory.situation.context import Context, encode, similarity
from memory.store import ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from memory.episodic.columns import EpisodeColumns

MISSED: Final = 2.0
"""Regret above this registers a missed exit."""
SURE: Final = 10.0
"""The size at which a marker's confidence is 1."""
_KNOWN_FROM: Final = 10
"""Outcomes from which on it is known what an agent's usual one is."""
_NORMAL_MEDIAN: Final = 0.6745
"""The median of |x| of a normal x with standard deviation 1."""
_CHUNK: Final = 200


@dataclass(frozen=True, slots=True)
class Marker:
    """Situations like `context` felt better than they were (`Regret`) or were left too late (`MissedExit`).

    `scale` is what counted as 1, in the unit of the review's figures.
    """

    episode: str
    outcome: Literal["Regret", "MissedExit"]
    bias: Literal["IncreaseCaution", "TightenExits"]
    confidence: float
    context: dict[str, Any]
    review: str
    at: int
    similarity: float | None = None
    scale: float = 1.0


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
    usual = None
    if settings.usual_outcomes:
        columns = cache.columns(conn, agent, settings.registry)
        usual = usual_outcome(columns, columns.until(FOREVER if as_of is None else as_of), settings)
    marks: list[Marker] = []
    for judged in _judged(conn, agent, as_of):
        texts = ledger.numbered(conn, agent, list(judged))
        for number, retrospective in judged.items():
            marks += markers_of(from_document(texts[number]), retrospective, usual)
        if context is None and len(marks) >= limit:
            break
    if context is None:
        return tuple(sorted(marks, key=lambda marker: (-marker.at, marker.episode, marker.outcome))[:limit])
    encoded = encode(settings.registry, [marker.context for marker in marks])
    alike = similarity(settings.registry, context, encoded, len(marks)).tolist()
    near = [replace(marker, similarity=share) for marker, share in zip(marks, alike, strict=True)]
    return tuple(
        sorted(
            near, key=lambda marker: (-(marker.similarity or 0.0), -marker.at, marker.episode, marker.outcome)
        )[:limit]
    )


def _judged(conn: Connection, agent: str, as_of: int | None) -> Iterator[dict[int, Retrospective]]:
    """Episode number -> its newest retrospective, of those that may mark it; newest first, some at a time.

    Those of one instant come together, since their order is that of the ids.
    """
    numbers: set[int] = set()
    judged: dict[int, Retrospective] = {}
    newest = None
    for row in ledger.latest_judgements(conn, agent, as_of):
        if len(judged) >= _CHUNK and row.at != newest:
            yield judged
            judged = {}
        newest = row.at
        if row.episode not in numbers:
            numbers.add(row.episode)
            retrospective = retrospective_of(row)
            if (retrospective.vs_inaction or 0.0) < 0 or (retrospective.regret or 0.0) > 0:
                judged[row.episode] = retrospective
    if judged:
        yield judged


def usual_outcome(columns: EpisodeColumns, n: int, settings: Settings) -> float | None:
    """The usual size of an agent's outcomes, in its money, by the last 100 of the first n episodes.

    The median of |pnl| over 0.6745, which is the standard deviation where outcomes are normal and lets no single one
    decide. None where the owner chose a unit, or fewer than 10 outcomes are known: then 1 of the unit counts as 1.
    """
    if not settings.usual_outcomes:
        return None
    pnl = columns.pnl[:n]
    sizes = np.abs(pnl[~np.isnan(pnl)][-WINDOW:])
    sizes = sizes[sizes > 0]
    return float(np.median(sizes)) / _NORMAL_MEDIAN if len(sizes) >= _KNOWN_FROM else None


def markers_of(episode: Episode, retrospective: Retrospective, usual: float | None = None) -> list[Marker]:
    """The markers one retrospective registers: none, one or both; `usual` is the size of the agent's usual outcome."""
    scale = _scale(episode, retrospective, usual)
    harm, regret = -(retrospective.vs_inaction or 0.0) / scale, (retrospective.regret or 0.0) / scale
    marks = []
    if harm > HARM:
        marks.append(
            Marker(
                episode=episode.id,
                outcome="Regret",
                bias="IncreaseCaution",
                confidence=min(1.0, harm / SURE),
                context=episode.context,
                review=retrospective.review,
                at=retrospective.at,
                scale=scale,
            )
        )
    if regret > MISSED:
        context = retrospective.peak_context if retrospective.peak_context is not None else episode.context
        marks.append(
            Marker(
                episode=episode.id,
                outcome="MissedExit",
                bias="TightenExits",
                confidence=min(1.0, regret / SURE),
                context=context,
                review=retrospective.review,
                at=retrospective.at,
                scale=scale,
            )
        )
    return marks


def _scale(episode: Episode, retrospective: Retrospective, usual: float | None) -> float:
    """What counts as 1, in the unit of the retrospective: one usual outcome of the agent, of R always one R."""
    if usual is None or retrospective.unit == "r":
        return 1.0
    if retrospective.unit == "usd":
        return usual
    notional = (episode.entry_price or 0.0) * (episode.size or 0.0)
    return usual / notional * 1e4 if notional > 0 else 1.0
