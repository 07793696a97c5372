"""What several tools take, with the words a model reads of it; and whose memory they are asked about."""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from retro.app.questions.experience import MemoryQuestion
from retro.periods import parse_instant

if TYPE_CHECKING:
    from retro.app.questions.experience import Experience

__all__ = [
    "ONLY",
    "Agent",
    "AsOf",
    "Cursor",
    "Desk",
    "Detail",
    "Document",
    "Situation",
    "clock",
    "instant_of",
]

Document = dict[str, Any]

Agent = Annotated[str | None, Field(description="the agent's name; needed when there are several")]
AsOf = Annotated[str | None, Field(description="RFC 3339 time; know nothing after it")]
Detail = Annotated[bool, Field(description="everything, however long; default: at most 4 KB")]
Cursor = Annotated[int, Field(description="where to go on: `next` of the answer before", ge=0)]
Situation = Annotated[
    dict[str, Any], Field(description='the situation, such as {"regime": "ranging", "atr_d1": 42.0}')
]

ONLY: Final[ContextVar[str | None]] = ContextVar("ONLY", default=None)
"""The agent that the call at hand is bound to; None: it may ask about everybody."""


class Desk:
    """Where tools are asked: one database and configuration, as far as the call at hand may see of it."""

    def __init__(self, experience: Experience) -> None:
        self._experience = experience

    @property
    def experience(self) -> Experience:
        """The memory: everybody's, or of a call that is bound its own agent's alone."""
        only = ONLY.get()
        return self._experience if only is None else replace(self._experience, only=only)

    def question(self, agent: str | None, as_of: str | None) -> MemoryQuestion:
        """One agent's memory, by what was known at `as_of`."""
        return MemoryQuestion(agent=self.experience.agent(agent), as_of=instant_of(as_of))


def instant_of(text: str | None, name: str = "as_of") -> int | None:
    """The instant that an argument names; `ToolError` says what is wrong with it."""
    try:
        return None if text is None else parse_instant(text)
    except ValueError as error:
        raise ToolError(f"{name}: {error}") from None


def clock() -> int:
    """The wall clock, in microseconds."""
    return time.time_ns() // 1000
