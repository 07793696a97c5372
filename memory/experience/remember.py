"""Telling the memory: one call stores what happened, and everything that follows from it is updated with it.

The ledger of episodes is the only thing that grows here. Beliefs, habits and the state are functions of it, so late
and repeated telling cannot make them drift; plans that an episode says it followed are scored in the same transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from memory.episodic import cache
from memory.episodic.episode import Episode, EpisodeFault, document, entering, episode_of, verified
from memory.errors import RefusedError
from memory.planning.score import TAG, credit
from memory.settings import STANDARD, Settings
from memory.store import ledger

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from memory.situation.context import Registry

_BATCH: Final = 2000


@dataclass(frozen=True, slots=True)
class Disputed:
    """An episode that was told again with other content; what was told first stands."""

    agent: str
    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of the episodes told: every one is stored, unchanged, disputed or at fault."""

    stored: int = 0
    unchanged: int = 0
    conflicts: tuple[Disputed, ...] = ()
    faults: tuple[EpisodeFault, ...] = ()

    @property
    def events(self) -> int:
        """How many were told."""
        return self.stored + self.unchanged + len(self.conflicts) + len(self.faults)

    def __add__(self, other: Remembered) -> Remembered:
        return Remembered(
            self.stored + other.stored,
            self.unchanged + other.unchanged,
            self.conflicts + other.conflicts,
            self.faults + other.faults,
        )


def remember(
    conn: Connection,
    told: Iterable[Episode | Mapping[str, Any] | EpisodeFault],
    *,
    settings: Settings = STANDARD,
    not_after: int | None = None,
    where: str = "-",
) -> Remembered:
    """Store episodes, as objects or as the contract's mappings; `EpisodeFault`s among them are passed through.

    An episode told twice changes nothing, one told differently is a conflict and is not applied. One that knows its
    outcome later than `not_after` is a fault, as is one with a value that may not enter; `where` names their source.
    """
    source, line, total = iter(told), 0, Remembered()
    while batch := list(islice(source, _BATCH)):
        by_agent: dict[str, list[Episode]] = {}
        faults = []
        for item in batch:
            line += 1
            try:
                if isinstance(item, EpisodeFault):
                    faults.append(item)
                else:
                    episode = verified(item) if isinstance(item, Episode) else episode_of(item)
                    entering(episode, settings.registry, not_after)
                    by_agent.setdefault(episode.agent, []).append(episode)
            except RefusedError as error:
                faults.append(EpisodeFault(where, line, str(error)))
        total += Remembered(faults=tuple(faults))
        for agent in sorted(by_agent):  # one order of locks for every writer
            total += _stored(conn, agent, by_agent[agent], settings.registry)
    return total


def _stored(conn: Connection, agent: str, episodes: list[Episode], registry: Registry) -> Remembered:
    before = ledger.lock(conn, agent)
    documents = ledger.documents_of(conn, agent, [episode.id for episode in episodes])
    rows, fresh, disputed, unchanged = [], [], [], 0
    for episode in episodes:
        text = document(episode)
        if episode.id not in documents:
            documents[episode.id] = text
            rows.append((episode.id, episode.at, text))
            fresh.append(episode)
        elif documents[episode.id] == text:
            unchanged += 1
        else:
            disputed.append(Disputed(agent, episode.id, "told before with other content"))
    now = ledger.append(conn, agent, before, rows)
    cache.seal_episodes(conn, agent, registry, now)
    if any(tag.startswith(TAG) for episode in fresh for tag in episode.tags):
        credit(conn, agent, fresh)
    return Remembered(len(rows), unchanged, tuple(disputed))
