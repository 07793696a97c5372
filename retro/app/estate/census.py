"""What there is of one agent: rows by table, files, its memory, the names it had, and which sources tell of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from memory.store import ledger
from retro.app.estate.folders import file_counts
from retro.errors import UsageError
from retro.periods import format_instant
from retro.store.estate.holdings import counts, has_rows
from retro.store.estate.removal import own_sources
from retro.store.facts import agents
from retro.store.facts.departures import departures, departures_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.app.estate.folders import EstateFolders, FileCounts
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["Estate", "estate_of", "known_name"]


@dataclass(frozen=True, slots=True)
class Estate:
    """Everything of an agent in numbers. `agent` is None of one that the memory alone knows.

    `rows` by table; `sources` told of nobody else; `earlier` are (name, why, when) of the lives that went to it.
    """

    name: str
    agent: Agent | None
    rows: dict[str, int]
    files: FileCounts
    sources: tuple[str, ...]
    earlier: tuple[tuple[str, str, int], ...]

    def document(self) -> dict[str, Any]:
        """What `retro agents show --json` prints."""
        agent, grid = self.agent, None if self.agent is None else self.agent.grid
        return {
            "agent": self.name,
            "first_event": None
            if agent is None or agent.first_at is None
            else format_instant(agent.first_at),
            "last_event": None if agent is None or agent.last_at is None else format_instant(agent.last_at),
            "capital": None if agent is None or agent.capital is None else float(agent.capital),
            "base_currency": None if agent is None else agent.base_currency,
            "origin": None if agent is None else agent.origin,
            "time_zone": None if grid is None else grid.time_zone,
            "epoch_interval_days": None if grid is None else grid.epoch_days,
            "rows": self.rows,
            "files": asdict(self.files),
            "sources": list(self.sources),
            "earlier_names": [
                {"agent": name, "reason": reason, "at": format_instant(at)}
                for name, reason, at in self.earlier
            ],
        }


def known_name(conn: Connection, name: str) -> str:
    """The name, where anything is known of it; `UsageError` says what became of an agent that is there no more."""
    if has_rows(conn, name):
        return name
    gone = departures(conn).of(name)
    if gone is None:
        known = sorted({*(agent.name for agent in agents.agents(conn)), *ledger.names(conn)})
        raise UsageError(f"there is no agent {name!r}; known: {', '.join(known) or 'none yet'}")
    raise UsageError(gone.sentence(name))


def estate_of(store: Store, folders: EstateFolders, name: str) -> Estate:
    """Everything of an agent in numbers; `UsageError` for a name that nobody has."""
    with store.read() as conn:
        known_name(conn, name)
        return Estate(
            name,
            agents.agent(conn, name),
            counts(conn, name),
            file_counts(folders, name),
            tuple(own_sources(conn, name)),
            tuple(departures_of(conn, name)),
        )
