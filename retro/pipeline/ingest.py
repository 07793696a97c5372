"""Take what an adapter read into the store, and bring the book up to date with it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from retro.pipeline.settle import settle
from retro.store import agents as shelf_agents
from retro.store import book, facts, faults, marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlalchemy import Connection

    from retro.model import Batch, Conflict, Fault
    from retro.pipeline.settings import Settings
    from retro.store.agents import Agent
    from retro.store.engine import Store

__all__ = ["Ingested", "ingest"]

_COMMIT_EVERY: Final = 100_000
_SETTLE_BELOW: Final = 200_000


@dataclass(slots=True)
class Ingested:
    """What became of a source."""

    source: str
    events: int = 0
    stored: int = 0
    unchanged: int = 0
    conflicts: list[Conflict] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    facts: int = 0

    @property
    def clean(self) -> bool:
        """Whether everything could be used."""
        return not self.conflicts and not self.faults

    def to_json(self) -> dict[str, Any]:
        """The document of contract.md."""
        return {
            "source": self.source,
            "events": self.events,
            "stored": self.stored,
            "unchanged": self.unchanged,
            "conflicts": len(self.conflicts),
            "faults": [{"where": f.where, "line": f.line, "reason": f.reason} for f in self.faults],
        }


def ingest(
    store: Store,
    source: str,
    batches: Iterable[Batch],
    settings_for: Callable[[Agent], Settings],
    *,
    replace: str | None = None,
    strict: bool = False,
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Ingested:
    """Store batches, a transaction every 100,000 events, then settle the agents they touched.

    `strict` keeps nothing when a row is bad; `dry_run` keeps nothing at all; `replace` (a reason) stores corrections.
    """
    done = Ingested(source)
    whole = strict or dry_run
    since_commit = 0
    stack = ExitStack()
    with stack:
        conn = stack.enter_context(store.write())
        if not dry_run:
            faults.forget(conn, source)  # this reading says afresh what is wrong with it
        for batch in batches:
            _take(conn, batch, done, replace)
            since_commit += batch.events
            if since_commit >= _COMMIT_EVERY and not whole:
                stack.close()
                conn, since_commit = stack.enter_context(store.write()), 0
            if progress is not None:
                progress(done.events)
        faults.add(conn, source, done.faults)
        if dry_run or (strict and not done.clean):
            conn.rollback()
            done.stored = 0 if strict and not dry_run else done.stored
            return done
    if done.facts <= _SETTLE_BELOW:
        refresh(store, done.agents, settings_for)
    return done


def refresh(store: Store, names: Iterable[str], settings_for: Callable[[Agent], Settings]) -> None:
    """Settle these agents, each in its own transaction."""
    with store.read() as conn:
        known = {agent.name: agent for agent in shelf_agents.agents(conn)}
    for name in sorted(set(names) & known.keys()):
        with store.write() as conn:
            settle(conn, known[name], settings_for(known[name]))


def _take(conn: Connection, batch: Batch, done: Ingested, replace: str | None) -> None:
    done.events += batch.events
    done.faults += batch.faults
    if batch.rows:
        added = facts.add(conn, batch.rows, where=done.source, lines=batch.lines or None, replace=replace)
        done.facts += added.stored + added.replaced
        done.stored += added.stored + added.replaced
        done.unchanged += added.unchanged
        done.conflicts += added.conflicts
        for agent, since in added.first_at.items():
            book.mark_dirty(conn, agent, since)
            done.agents.add(agent)
    for series in batch.marks:
        got = marks.add(conn, series, where=done.source, replace=replace)
        done.stored += got.stored + got.replaced + got.completed
        done.unchanged += got.unchanged
        done.conflicts += got.conflicts
        if got.first_at is not None:
            book.mark_dirty(conn, series.agent, got.first_at)
            done.agents |= {series.agent} if series.agent is not None else set()
    for agent in batch.as_of.keys() | batch.capital.keys() | batch.base_currency.keys():
        shelf_agents.note_agent(
            conn,
            agent,
            as_of=batch.as_of.get(agent),
            capital=batch.capital.get(agent),
            base_currency=batch.base_currency.get(agent),
        )
        done.agents.add(agent)
