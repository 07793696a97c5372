"""Whose memory is asked: one database, as one configuration sees it. The questions open it here and nowhere else.

Times are microseconds since the Unix epoch; a read hides everything that was not known at its `as_of`. What the memory
refuses becomes a `UsageError`, what it does not hold an `UnknownError`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from retro.app.experience.door import memory, translate_memory_errors
from retro.app.experience.equity import marked_equity
from retro.app.experience.settings import capital_of, memory_settings
from retro.app.proposals.files import playbook_of
from retro.app.settlement.settings import settings_of
from retro.errors import UnknownError, UsageError
from retro.periods import parse_instant
from retro.store.facts import agents
from retro.store.facts.departures import departure_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection

    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["Experience", "MemoryQuestion", "facts_and_settings", "stated_instant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryQuestion:
    """One agent's memory, by what was known at `as_of`; None: by all that is known."""

    agent: str
    as_of: int | None = None


@dataclass(frozen=True, slots=True)
class Experience:
    """The memory in one database, as one configuration sees it; of `only` this agent, where one is named."""

    store: Store
    config: Config
    only: str | None = None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A read transaction, with the memory's errors as ours."""
        with translate_memory_errors(), self.store.read() as conn:
            yield conn

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A write transaction, with the memory's errors as ours."""
        with translate_memory_errors(), self.store.write() as conn:
            yield conn

    def settings(self, conn: Connection, agent: str) -> memory.Settings:
        """What the memory of an agent is computed by."""
        return memory_settings(self.config, capital_of(conn, agent, self.config))

    def marked(
        self, conn: Connection, question: MemoryQuestion, settings: memory.Settings
    ) -> memory.MarkedEquity | None:
        """What the agent was worth at marks; None where nobody knows what it began with, or no review is stored."""
        return None if settings.capital is None else marked_equity(conn, question.agent, question.as_of)

    def agents(self) -> list[str]:
        """Everybody the database knows: by facts, or by episodes alone; of a memory that is one agent's, that one."""
        if self.only is not None:
            return [self.only]
        with self.reading() as conn:
            return sorted({*memory.agents(conn), *(agent.name for agent in agents.agents(conn))})

    def agent(self, name: str | None) -> str:
        """That agent, or the only one; `UsageError` lists them where one has to be chosen.

        An empty database takes any name: an agent asks before it acts, and there is nobody to mistake it for.
        """
        names = self.agents()
        if name is not None:
            if name not in names:
                self._refuse_departed(name)
            if names and name not in names:
                raise UsageError(f"there is no agent {name!r}; known: {', '.join(names)}")
            return name
        if not names:
            raise UnknownError("nothing is remembered yet; start with `retro remember FILE` or `retro run`")
        if len(names) > 1:
            raise UsageError(f"several agents; choose one with --agent: {', '.join(names)}")
        return names[0]

    def _refuse_departed(self, name: str) -> None:
        """`UsageError` for a name whose agent was forgotten, renamed or merged: nothing is told or asked under it."""
        with self.reading() as conn:
            gone = departure_of(conn, name)
        if gone is not None:
            raise UsageError(gone.sentence(name))

    def unknown_fields(self, context: Mapping[str, Any]) -> list[str]:
        """Fields of a situation that nothing is compared by."""
        registered = {field.name for field in memory_settings(self.config).registry.fields}
        return sorted(set(context) - registered)


def facts_and_settings(experience: Experience, name: str) -> tuple[Agent, AgentSettings]:
    """An agent that has facts, and what its figures depend on, with the playbook that the configuration names."""
    book = playbook_of(experience.config, name)
    with experience.store.read() as conn:
        agent = agents.existing_agent(conn, name)
    return agent, settings_of(experience.config, agent, book)


def stated_instant(stated: str | datetime | None) -> int | None:
    """The instant that a program states, as RFC 3339 text or an aware datetime; `UsageError` says what is wrong."""
    if stated is None:
        return None
    text = stated.isoformat() if isinstance(stated, datetime) else stated
    try:
        return parse_instant(text)
    except ValueError as error:
        raise UsageError(str(error)) from None
