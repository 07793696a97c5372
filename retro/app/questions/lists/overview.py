"""All that one agent remembers, at once: how it stands, its habits, beliefs, markers and plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retro.app.questions import behaviour, plans
from retro.app.questions.document import document_of, documents_of
from retro.app.questions.experience import MemoryQuestion

if TYPE_CHECKING:
    from memory import Belief, Habit, Marker, PlanStatus, State
    from retro.app.questions.experience import Experience

__all__ = ["MemoryOverview", "memory_overview"]


@dataclass(frozen=True, slots=True)
class MemoryOverview:
    """What the commands of the same names print, together."""

    state: State
    habits: tuple[Habit, ...]
    beliefs: tuple[Belief, ...]
    markers: tuple[Marker, ...]
    plans: tuple[PlanStatus, ...]

    def document(self) -> dict[str, Any]:
        """What `retro memory --json` prints."""
        return {
            "state": document_of(self.state),
            "habits": documents_of(self.habits),
            "beliefs": documents_of(self.beliefs),
            "markers": documents_of(self.markers),
            "plans": documents_of(self.plans),
        }


def memory_overview(experience: Experience, agent: str, as_of: int | None, *, now: int) -> MemoryOverview:
    """By what was known at `as_of`; None: by all that is known, and of plans what may still fire at `now`."""
    question = MemoryQuestion(agent=agent, as_of=as_of)
    habits = behaviour.HabitsQuestion(agent=agent, as_of=as_of)
    everything = behaviour.behaviour(experience, habits)
    planned = plans.PlansQuestion(agent=agent, as_of=now if as_of is None else as_of)
    return MemoryOverview(
        behaviour.state(experience, question),
        everything.habits,
        everything.beliefs,
        everything.markers,
        plans.plans(experience, planned),
    )
