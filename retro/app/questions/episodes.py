"""The episodes themselves: one as it stands, and telling the memory of more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retro.app.experience.door import memory
from retro.app.experience.imports import import_episodes, import_file
from retro.app.experience.settings import memory_settings
from retro.app.questions.experience import MemoryQuestion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from retro.app.experience.imports import ImportResult
    from retro.app.questions.experience import Experience

__all__ = ["Reflection", "ReflectionQuestion", "reflect", "remember", "remember_file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionQuestion(MemoryQuestion):
    """One past decision, by its episode's id."""

    episode: str


@dataclass(frozen=True, slots=True)
class Reflection:
    """A past decision with hindsight applied; an episode holds fields of the agent's own, so it stays a mapping.

    Among them are `amendments`, what reviews changed in order of time, and `original_valence`, how it felt.
    """

    episode: dict[str, Any]

    def document(self) -> dict[str, Any]:
        """The episode's fields, instants as RFC 3339 text."""
        document: dict[str, Any] = memory.as_document(self.episode)
        return document


def reflect(experience: Experience, question: ReflectionQuestion) -> Reflection:
    """The episode as it stands, what reviews made of it, and the history of their amendments."""
    with experience.reading() as conn:
        return Reflection(memory.find_episode(conn, question.agent, question.episode, as_of=question.as_of))


def remember(
    experience: Experience, episodes: Iterable[Mapping[str, Any]], *, not_after: int | None = None
) -> ImportResult:
    """Store episodes, all in one transaction; each is stored, unchanged, a conflict or at fault.

    One that knows its outcome later than `not_after` is a fault.
    """
    return import_episodes(
        experience.store, memory_settings(experience.config), episodes, not_after=not_after
    )


def remember_file(experience: Experience, path: str, *, not_after: int | None = None) -> ImportResult:
    """Store the episodes of a file of JSON Lines (.gz too, - for stdin); what cannot be used is kept as faults."""
    return import_file(experience.store, memory_settings(experience.config), path, not_after=not_after)
