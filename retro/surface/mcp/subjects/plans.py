"""Tools about plans: which a situation meets, and making one."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from retro.app.questions import plans
from retro.app.questions.document import document_of
from retro.surface.mcp.size import page
from retro.surface.mcp.subjects.parameters import (
    Agent,
    AsOf,
    Cursor,
    Desk,
    Detail,
    Document,
    Situation,
    clock,
    instant_of,
)

__all__ = ["PlanTools"]


class PlanTools(Desk):
    """The plans of an agent."""

    def check_active_plans(
        self,
        agent: Agent = None,
        context: Situation = {},  # noqa: B006  as above
        as_of: AsOf = None,
        cursor: Cursor = 0,
        detail: Detail = False,
    ) -> Document:
        """Which plans this situation meets. Looks only: nothing is triggered or re-armed by asking."""
        at = instant_of(as_of)
        name = self.experience.agent(agent)
        question = plans.PlanChecksQuestion(agent=name, context=context, as_of=clock() if at is None else at)
        checks = [plans.check_document(check) for check in plans.check_plans(self.experience, question)]
        return {"checks": checks} if detail else page("checks", checks, cursor)

    def create_trading_plan(
        self,
        trigger: Annotated[
            dict[str, Any],
            Field(
                description='{"all": [{"field": "drawdown_pct", "op": ">", "value": 0.1}]}, or any, nested'
            ),
        ],
        action: Annotated[
            dict[str, Any],
            Field(description='{"type": "skip_trade"}; also resize, adjust_param, force_exit, alert'),
        ],
        reasoning: str,
        agent: Agent = None,
        priority: Annotated[float, Field(ge=0, le=1)] = 0.5,
        expires_at: Annotated[str | None, Field(description="RFC 3339; default: in 30 days")] = None,
    ) -> Document:
        """Make a plan: when the trigger becomes true, the action. It is scored by the trades that follow or skip."""
        draft = plans.PlanDraft(
            agent=self.experience.agent(agent),
            trigger=trigger,
            action=action,
            reasoning=reasoning,
            at=clock(),
            priority=priority,
            expires_at=instant_of(expires_at, "expires_at"),
            source="agent",
        )
        return {"plan": document_of(plans.create_plan(self.experience, draft))}
