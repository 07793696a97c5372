"""Tools about what an agent remembers: past decisions, habits, how it stands; and telling it of one more."""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from retro.app.questions import behaviour, recall
from retro.app.questions.document import document_of, documents_of
from retro.app.questions.episodes import ReflectionQuestion, reflect, remember
from retro.periods import DAY
from retro.surface.mcp.items import episode_in_brief, memory_item
from retro.surface.mcp.size import brief, fitted, page
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

__all__ = ["MemoryTools"]


class MemoryTools(Desk):
    """The memory of an agent."""

    def recall_memories(
        self,
        agent: Agent = None,
        context: Situation = {},  # noqa: B006  it is read only, and stands in the schema as what it is
        as_of: AsOf = None,
        k: Annotated[int, Field(description="how many", ge=1, le=1000)] = 10,
        strategy: str | None = None,
        symbol: str | None = None,
        direction: str | None = None,
        regime: str | None = None,
        types: Annotated[list[str], Field(description="episode, belief, plan")] = ["episode"],  # noqa: B006  as above
        losses_first: bool = False,
        loss_floor: Annotated[
            bool, Field(description="at least a fifth are losses, while there are any")
        ] = False,
        cursor: Cursor = 0,
        detail: Detail = False,
    ) -> Document:
        """Past decisions in situations like this one, weighted by how they turned out in the end; best first.

        Each memory comes with its score and a reason in words; with detail also with the components of the score.
        """
        question = recall.RecallQuestion(
            agent=self.experience.agent(agent),
            context=context,
            as_of=instant_of(as_of),
            k=k,
            strategy=strategy,
            symbol=symbol,
            direction=direction,
            regime=regime,
            types=types,
            losses_first=losses_first,
            loss_floor=loss_floor,
        )
        memories = documents_of(recall.recall(self.experience, question))
        return {"memories": memories} if detail else page("memories", memories, cursor, shorten=memory_item)

    def get_behavioral_analysis(
        self,
        agent: Agent = None,
        strategy: str | None = None,
        symbol: str | None = None,
        as_of: AsOf = None,
        detail: Detail = False,
    ) -> Document:
        """Habits with each strategy and symbol (disposition, sizing, drift), beliefs, and situations that misled."""
        question = behaviour.HabitsQuestion(
            agent=self.experience.agent(agent), as_of=instant_of(as_of), strategy=strategy, symbol=symbol
        )
        document = document_of(behaviour.behaviour(self.experience, question))
        if detail:
            return document
        totals = {name: len(listed) for name, listed in document.items()}
        return fitted(lambda items, characters: brief(document, items, characters) | {"totals": totals})

    def get_agent_state(self, agent: Agent = None, as_of: AsOf = None, detail: Detail = False) -> Document:
        """Confidence, drawdown, streaks, appetite for risk, and whether the agent is halted; with detail its history."""
        document = document_of(behaviour.state(self.experience, self.question(agent, as_of)))
        if detail:
            return {"state": document}
        now = {name: value for name, value in document.items() if name != "history"}
        return fitted(lambda _, characters: {"state": brief(now, len(now), characters)})

    def get_strategy_performance(
        self, agent: Agent = None, as_of: AsOf = None, cursor: Cursor = 0, detail: Detail = False
    ) -> Document:
        """How each strategy has done: trades, win rate, total pnl, mean R, profit factor."""
        strategies = documents_of(behaviour.performance(self.experience, self.question(agent, as_of)))
        return {"strategies": strategies} if detail else page("strategies", strategies, cursor)

    def get_trade_reflection(
        self,
        id: Annotated[str, Field(description="the memory's id, as recalled")],  # noqa: A002  the field's name
        agent: Agent = None,
        as_of: AsOf = None,
        detail: Detail = False,
    ) -> Document:
        """One past decision as it stands, what reviews found out about it, and what they amended."""
        question = ReflectionQuestion(agent=self.experience.agent(agent), as_of=instant_of(as_of), episode=id)
        document = document_of(reflect(self.experience, question))
        if detail:
            return {"episode": document}
        return fitted(lambda items, characters: {"episode": episode_in_brief(document, items, characters)})

    def remember_trade(
        self,
        id: Annotated[str, Field(description="unique for the agent; telling it again changes nothing")],  # noqa: A002  as above
        agent: str,
        at: Annotated[str, Field(description="RFC 3339: when its outcome was known")],
        strategy: str | None = None,
        symbol: str | None = None,
        direction: Annotated[str | None, Field(description="long, short, skip, hold")] = None,
        entry_price: float | None = None,
        size: float | None = None,
        exit_price: float | None = None,
        pnl: float | None = None,
        pnl_r: Annotated[float | None, Field(description="in units of what was risked")] = None,
        held_for_s: float | None = None,
        mae: float | None = None,
        confidence: Annotated[float | None, Field(description="0 to 1")] = None,
        valence: Annotated[float | None, Field(description="-1 to 1, how it felt")] = None,
        tags: Annotated[list[str], Field(description="plan:ID scores that plan")] = [],  # noqa: B006  as above
        reflection: str | None = None,
        context: Situation = {},  # noqa: B006  as above
    ) -> Document:
        """Remember a decision and what came of it, deliberate inaction included. Idempotent by (agent, id)."""
        episode = {name: value for name, value in locals().items() if name != "self" and value is not None}
        done = remember(self.experience, [episode], not_after=clock() + DAY)
        for fault in done.done.faults:
            raise ToolError(fault.reason)
        for conflict in done.done.conflicts:
            raise ToolError(f"{conflict.id}: {conflict.reason}")
        return {"stored": done.done.stored, "unchanged": done.done.unchanged}
