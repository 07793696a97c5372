"""An agent's plans: how they stand, which a situation meets, and what somebody decides about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from retro.app.experience.door import memory
from retro.app.questions.document import document_of
from retro.app.questions.experience import MemoryQuestion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memory import PlanCheck, PlanStatus
    from retro.app.questions.experience import Experience

__all__ = [
    "PlanChecksQuestion",
    "PlanDraft",
    "PlanScore",
    "PlansQuestion",
    "cancel_plan",
    "check_document",
    "check_plans",
    "create_plan",
    "plans",
    "score_plan",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlansQuestion(MemoryQuestion):
    """All plans, or those that may still fire at `as_of`."""

    alive: bool = False


def plans(experience: Experience, question: PlansQuestion) -> tuple[PlanStatus, ...]:
    """The plans and how they stand, highest priority first."""
    with experience.reading() as conn:
        return tuple(memory.plans(conn, question.agent, as_of=question.as_of, alive=question.alive))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChecksQuestion(MemoryQuestion):
    """Which plans a situation meets."""

    context: Mapping[str, Any] = field(default_factory=dict)


def check_plans(experience: Experience, question: PlanChecksQuestion) -> tuple[PlanCheck, ...]:
    """The plans that are alive, held against the situation; nothing is written, nothing re-armed."""
    with experience.reading() as conn:
        return tuple(memory.check_plans(conn, question.agent, question.context, as_of=question.as_of))


def check_document(check: PlanCheck) -> dict[str, Any]:
    """A check as it is printed: the plan is what stands there, not its standing."""
    return {
        "plan": document_of(check.standing),
        "met": check.met,
        "fires": check.fires,
        "unevaluable": check.unevaluable,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDraft:
    """A plan to make at an instant: when `trigger` becomes true, `action`. Without `expires_at` it lives for 30 days.

    `source` says who makes it: a person or the agent itself.
    """

    agent: str
    trigger: Mapping[str, Any]
    action: Mapping[str, Any]
    reasoning: str
    at: int
    priority: float = 0.5
    expires_at: int | None = None
    source: str = "person"


def create_plan(experience: Experience, draft: PlanDraft) -> PlanStatus:
    """Make it; gives how it stands."""
    with experience.writing() as conn:
        plan = memory.create_plan(
            conn,
            draft.agent,
            at=draft.at,
            trigger=draft.trigger,
            action=draft.action,
            reasoning=draft.reasoning,
            priority=draft.priority,
            expires_at=draft.expires_at,
            source=draft.source,
        )
        standings = memory.plans(conn, draft.agent, as_of=draft.at)
        return next(standing for standing in standings if standing.plan.id == plan.id)


def cancel_plan(experience: Experience, agent: str, plan: str, reason: str, *, at: int) -> None:
    """Withdraw a plan from an instant on."""
    with experience.writing() as conn:
        memory.cancel_plan(conn, agent, plan, at=at, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanScore:
    """What became of a plan, in R: of a trade that followed it, or what a trade it skipped would have made."""

    agent: str
    plan: str
    at: int
    pnl_r: float | None = None
    would_have_made: float | None = None


def score_plan(experience: Experience, score: PlanScore) -> None:
    """Score a plan."""
    with experience.writing() as conn:
        memory.score_plan(
            conn,
            score.agent,
            score.plan,
            at=score.at,
            pnl_r=score.pnl_r,
            would_have_made=score.would_have_made,
        )
