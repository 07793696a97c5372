"""How an agent stands and what it does again and again: state, habits, beliefs, markers, strategies; and its halt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retro.app.experience.door import memory
from retro.app.experience.settings import memory_settings
from retro.app.questions.document import documents_of
from retro.app.questions.experience import MemoryQuestion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memory import Belief, Habit, Marker, Performance, Seed, State
    from retro.app.questions.experience import Experience

__all__ = [
    "Behaviour",
    "HabitsQuestion",
    "MarkersQuestion",
    "behaviour",
    "beliefs",
    "habits",
    "halt",
    "markers",
    "performance",
    "resume",
    "seed_belief",
    "state",
]


def state(experience: Experience, question: MemoryQuestion) -> State:
    """Confidence, streaks and the halt flag from the ledger; the drawdown from the newest reviews, where there are any."""
    with experience.reading() as conn:
        settings = experience.settings(conn, question.agent)
        marked = experience.marked(conn, question, settings)
        return memory.state(conn, question.agent, as_of=question.as_of, settings=settings, marked=marked)


def performance(experience: Experience, question: MemoryQuestion) -> tuple[Performance, ...]:
    """How each of its strategies has done, the most traded first."""
    with experience.reading() as conn:
        settings = experience.settings(conn, question.agent)
        return memory.performance(conn, question.agent, as_of=question.as_of, settings=settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class HabitsQuestion(MemoryQuestion):
    """Habits with one strategy or symbol, or with each."""

    strategy: str | None = None
    symbol: str | None = None


def habits(experience: Experience, question: HabitsQuestion) -> tuple[Habit, ...]:
    """What it does again and again with each strategy and symbol, and what comes of it."""
    with experience.reading() as conn:
        return memory.habits(
            conn,
            question.agent,
            as_of=question.as_of,
            strategy=question.strategy,
            symbol=question.symbol,
            settings=experience.settings(conn, question.agent),
        )


def beliefs(experience: Experience, question: MemoryQuestion) -> tuple[Belief, ...]:
    """Its beliefs, seeded and induced, with their posteriors."""
    with experience.reading() as conn:
        settings = experience.settings(conn, question.agent)
        return memory.beliefs(conn, question.agent, as_of=question.as_of, settings=settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkersQuestion(MemoryQuestion):
    """Situations that misled: those most like `context` first, without one the newest first."""

    context: Mapping[str, Any] | None = None


def markers(experience: Experience, question: MarkersQuestion) -> tuple[Marker, ...]:
    """Situations that felt better than they were, or were left at the wrong moment."""
    with experience.reading() as conn:
        settings = experience.settings(conn, question.agent)
        return memory.markers(
            conn, question.agent, context=question.context, as_of=question.as_of, settings=settings
        )


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Habits, beliefs and somatic markers together."""

    habits: tuple[Habit, ...]
    beliefs: tuple[Belief, ...]
    markers: tuple[Marker, ...]

    def document(self) -> dict[str, Any]:
        """Three lists under their names."""
        return {
            "habits": documents_of(self.habits),
            "beliefs": documents_of(self.beliefs),
            "markers": documents_of(self.markers),
        }


def behaviour(experience: Experience, question: HabitsQuestion) -> Behaviour:
    """All of it; strategy and symbol limit the habits alone."""
    everything = MemoryQuestion(agent=question.agent, as_of=question.as_of)
    return Behaviour(
        habits(experience, question),
        beliefs(experience, everything),
        markers(experience, MarkersQuestion(agent=question.agent, as_of=question.as_of)),
    )


# what somebody decides about it


def seed_belief(experience: Experience, seed: Seed) -> None:
    """State a belief that later episodes are to bear out."""
    with experience.writing() as conn:
        memory.seed_belief(conn, seed, registry=memory_settings(experience.config).registry)


def halt(experience: Experience, agent: str, reason: str, *, at: int) -> None:
    """Raise the flag that says stop, from an instant on."""
    with experience.writing() as conn:
        memory.halt(conn, agent, at=at, reason=reason)


def resume(experience: Experience, agent: str, reason: str, *, at: int) -> None:
    """Take the flag down again."""
    with experience.writing() as conn:
        memory.resume(conn, agent, at=at, reason=reason)
