"""What screens are read from, whoever shows them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from retro.app.settlement.lookup import named_agent
from retro.app.settlement.settings import base_currency_of
from retro.periods import DAY
from retro.store.facts.agents import first_event

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["House"]


@dataclass(frozen=True, slots=True)
class House:
    """What screens are read from: the database, the configuration, a clock in microseconds, and the examination."""

    store: Store
    config: Config
    settings_for: Callable[[Agent], AgentSettings]
    clock: Callable[[], int]
    examine: Callable[[], list[tuple[str, str, str]]]

    def first_day(self) -> int:
        """The UTC day, numbered since 1970, of the first event that anybody tells of; without one, today."""
        with self.store.read() as conn:
            first = first_event(conn)
        return (self.clock() if first is None else first) // DAY

    def agent(self, name: str | None) -> Agent:
        """The agent of that name, or the only one; `UnknownError` where there is none."""
        with self.store.read() as conn:
            return named_agent(conn, name)

    def playbook(self, agent: str) -> Path | None:
        """The agent's PLAYBOOK.md, when the configuration names one."""
        table = self.config.agent.get(agent)
        return None if table is None or table.playbook is None else Path(table.playbook)

    def currency(self, agent: str) -> str:
        """The base currency of an agent: a position does not say its unit."""
        return base_currency_of(self.config, self.agent(agent))
