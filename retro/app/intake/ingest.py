"""Take what an adapter read into the store, and bring the book up to date with it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from retro.app.intake.batches import batched
from retro.app.intake.invalidation import invalidate_for_facts, invalidate_for_marks
from retro.app.settlement.settle import settle
from retro.store.facts import agents, events, faults, marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlalchemy import Connection

    from retro.app.settlement.settings import AgentSettings
    from retro.model import Batch, Conflict, EventRow, Fault, MarkSeries
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["Ingested", "ingest", "refresh"]

_COMMIT_EVERY: Final = 100_000
_NAMES: Final = 1000
_SETTLE_BELOW: Final = 200_000


@dataclass(slots=True)
class Ingested:
    """What became of a source. `now` is the clock it was taken in by, for the agents that are new.

    `unread`: it could not be read at all, and its one fault says why.
    """

    source: str
    now: int | None = None
    events: int = 0
    stored: int = 0
    unchanged: int = 0
    conflicts: list[Conflict] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    unknown: dict[str, int] = field(default_factory=dict)
    facts: int = 0
    unread: bool = False

    @property
    def clean(self) -> bool:
        """Whether everything could be used."""
        return not self.conflicts and not self.faults

    def to_json(self) -> dict[str, Any]:
        """The JSON object that `retro ingest --json` prints."""
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
    settings_for: Callable[[Agent], AgentSettings],
    *,
    replace: str | None = None,
    dated: bool = False,
    strict: bool = False,
    dry_run: bool = False,
    continued: bool = False,
    now: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Ingested:
    """Store batches, a transaction every 100,000 events, then settle the agents they touched.

    `strict` keeps nothing when a row is bad; `dry_run` keeps nothing at all; `replace` (a reason) stores corrections.
    With `dated` the source says how far it was seen (`Batch.as_of`): it corrects what earlier readings of it told and
    nothing that a later one did, so that the order in which copies of a source are read makes no difference.
    `continued`: the source is read on from where it was left, and its earlier faults stand.
    """
    done = Ingested(source, now)
    whole = strict or dry_run
    since_commit = 0
    differing: list[Batch] = []
    read_until: dict[str, int] = {}
    stack = ExitStack()
    with stack:
        conn = stack.enter_context(store.write())
        if not (dry_run or continued):
            faults.forget(conn, source)  # this reading says afresh what is wrong with it
        stored_as_of = {agent.name: agent.as_of for agent in agents.agents(conn)} if dated else {}
        for batch in batches if dated else batched(batches):
            conflicts = len(done.conflicts)
            _take(conn, batch, done, None if dated else replace)
            if dated and len(done.conflicts) > conflicts:
                differing.append(batch)
            read_until |= batch.as_of
            since_commit += batch.events
            if since_commit >= _COMMIT_EVERY and not whole:
                stack.close()
                conn, since_commit = stack.enter_context(store.write()), 0
            if progress is not None:
                progress(done.events)
        if differing and replace is not None:
            older = {name for name, at in read_until.items() if at < (stored_as_of.get(name) or at)}
            _correct(conn, differing, done, replace, older)
        faults.add(conn, source, done.faults)
        if dry_run or (strict and not done.clean):
            conn.rollback()
            done.stored = 0 if strict and not dry_run else done.stored
            return done
    if done.facts <= _SETTLE_BELOW:
        refresh(store, done.agents, settings_for)
    return done


def refresh(store: Store, names: Iterable[str], settings_for: Callable[[Agent], AgentSettings]) -> None:
    """Settle these agents, each in its own transaction."""
    with store.read() as conn:
        agents_by_name = {agent.name: agent for agent in agents.agents(conn)}
    for name in sorted(set(names) & agents_by_name.keys()):
        with store.write() as conn:
            settle(conn, agents_by_name[name], settings_for(agents_by_name[name]))


def _take(conn: Connection, batch: Batch, done: Ingested, replace: str | None) -> None:
    done.events += batch.events
    distinct = len(batch.rows) + sum(len(series.t) for series in batch.marks)
    done.unchanged += max(0, batch.events - distinct)  # marks told twice, which the adapter let fall together
    done.faults += batch.faults
    for name, count in batch.unknown.items():
        if name in done.unknown or len(done.unknown) < _NAMES:
            done.unknown[name] = done.unknown.get(name, 0) + count
    if batch.rows:
        added = events.add(conn, batch.rows, where=done.source, lines=batch.lines or None, replace=replace)
        done.unchanged += added.unchanged
        done.conflicts += added.conflicts
        _count(conn, added, batch.rows, done)
    for series in batch.marks:
        got = marks.add(conn, series, where=done.source, replace=replace)
        done.unchanged += got.unchanged
        done.conflicts += got.conflicts
        _count_marks(conn, series, got, done)
    for agent in batch.as_of.keys() | batch.capital.keys() | batch.base_currency.keys():
        agents.note_agent(
            conn,
            agent,
            as_of=batch.as_of.get(agent),
            capital=batch.capital.get(agent),
            base_currency=batch.base_currency.get(agent),
        )
        done.agents.add(agent)


def _correct(
    conn: Connection, differing: Iterable[Batch], done: Ingested, replace: str, older: set[str]
) -> None:
    """A second look at what the store knows otherwise: a later reading corrects it, an `older` one is passed over."""
    done.unchanged += len(done.conflicts)
    done.conflicts.clear()
    for batch in differing:
        rows = [row for row in batch.rows if row.agent not in older]
        if rows:
            added = events.add(conn, rows, where=done.source, lines=None, replace=replace)
            done.unchanged -= added.replaced
            _count(conn, added, rows, done)
        for series in () if older else batch.marks:
            got = marks.add(conn, series, where=done.source, replace=replace)
            done.unchanged -= got.replaced
            _count_marks(conn, series, got, done)


def _count(conn: Connection, added: events.Added, rows: Iterable[EventRow], done: Ingested) -> None:
    done.facts += added.stored + added.replaced
    done.stored += added.stored + added.replaced
    last: dict[str, int] = {}
    for row in rows if added.first_at else ():
        last[row.agent] = max(row.at, last.get(row.agent, row.at))
    for agent, since in added.first_at.items():
        invalidate_for_facts(conn, agent, since, last[agent], done.now)
        done.agents.add(agent)


def _count_marks(conn: Connection, series: MarkSeries, added: marks.AddedMarks, done: Ingested) -> None:
    owner = series.agent
    done.stored += added.stored + added.replaced + added.completed
    if added.first_at is not None:
        invalidate_for_marks(conn, owner, added.first_at, int(series.t.max()) * 1000)
        done.agents |= {owner} if owner is not None else set()
