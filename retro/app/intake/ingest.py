"""Take what an adapter read into the store, and bring the book up to date with it."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from retro.app.intake.batches import batched, portions
from retro.app.intake.figures import correct_checks, take_checks
from retro.app.intake.identity import BotIdentity, take_the_place
from retro.app.intake.redirection import Redirection, agents_of
from retro.app.settlement.invalidation import (
    invalidate_for_backtest,
    invalidate_for_facts,
    invalidate_for_marks,
    united,
)
from retro.app.settlement.settle import replays_more_than, settle
from retro.errors import DamagedRowError, OtherBotError
from retro.model import Fault
from retro.store.facts import agents, events, faults, marks
from retro.store.locks import lock_agents, lock_estate, lock_many, share_estate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from retro.app.intake.batches import Portion
    from retro.app.settlement.settings import AgentSettings
    from retro.model import Batch, Conflict, EventRow, MarkSeries, MarksWanted
    from retro.store.database import Store
    from retro.store.facts.agents import Agent
    from retro.store.locks import MarkUse

__all__ = ["IngestTerms", "Ingested", "ingest", "refresh"]

_COMMIT_EVERY: Final = 20_000
_NAMES: Final = 1000
_SETTLE_BELOW: Final = 200_000
_REPLAY_BELOW: Final = 10_000
_REPLAY_EACH: Final = 10
"""Facts that may be replayed for each that was told."""


@dataclass(slots=True)
class Ingested:
    """What became of a source. `now` is the clock it was taken in by, for the agents that are new.

    `unread`: it could not be read at all, and its one fault says why. `notices` is what its reader should know;
    `withdrawn` counts the facts of the source whose place it took, `newcomers` are agents nobody told of before.
    `lives` as the terms have it.
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
    notices: list[str] = field(default_factory=list)
    newcomers: set[str] = field(default_factory=set)
    withdrawn: int = 0
    lives: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Whether everything could be used."""
        return not self.conflicts and not self.faults

    def to_json(self) -> dict[str, Any]:
        """The JSON object that `retro ingest --json` prints; `notices` only where there are any."""
        notices: dict[str, Any] = {"notices": self.notices} if self.notices else {}
        return {
            "source": self.source,
            "events": self.events,
            "stored": self.stored,
            "unchanged": self.unchanged,
            "conflicts": len(self.conflicts),
            "faults": [{"where": f.where, "line": f.line, "reason": f.reason} for f in self.faults],
            **notices,
        }


@dataclass(frozen=True, slots=True)
class IngestTerms:
    """On what terms a source is taken in.

    `replace` (a reason) stores corrections; without it what is told differently is a conflict, and kept back.
    `dated`: the source says how far it was seen (`Batch.as_of`). It corrects what earlier readings of it told and nothing
    that a later one did, so that the order in which copies of a source are read makes no difference.
    `in_place`: of an agent that another source told of, it takes the place; else that is an `OtherBotError`.
    `strict` keeps nothing when a row is bad; `dry_run` keeps nothing at all.
    `continued`: the source is read on from where it was left, and its earlier faults stand.
    `lives` are the agents that each backtest belongs to: what their reviews say of it is looked at again.
    """

    replace: str | None = None
    dated: bool = False
    in_place: bool = False
    strict: bool = False
    dry_run: bool = False
    continued: bool = False
    lives: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether everything is one transaction, since all of it may have to be taken back."""
        return self.strict or self.dry_run

    def commits(self, done: Ingested) -> bool:
        """Whether what was taken in stays."""
        return not (self.dry_run or (self.strict and not done.clean))


@dataclass(slots=True)
class _Dates:
    """Of a dated source: until when each agent was seen, before this reading and by it, and the batches that differ."""

    stored: dict[str, int | None] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    differing: list[Batch] = field(default_factory=list)
    newcomers: set[str] = field(default_factory=set)
    """Agents that nobody told of before this reading."""

    def look_up(self, conn: Connection, batch: Batch) -> None:
        """Note what was known of the agents of a batch, before the batch tells more."""
        for name in (batch.as_of.keys() | batch.origin.keys()) - self.stored.keys():
            row = agents.agent(conn, name)
            if row is None:
                self.newcomers.add(name)
            self.stored[name] = None if row is None else row.as_of

    def older(self) -> set[str]:
        """The agents that a later reading than this one has told of already."""
        return {name for name, at in self.read.items() if at < (self.stored.get(name) or at)}


def ingest(
    store: Store,
    source: str,
    batches: Iterable[Batch],
    settings_for: Callable[[Agent], AgentSettings],
    terms: IngestTerms | None = None,
    *,
    now: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Ingested:
    """Store batches, a transaction every 20,000 events, then, in a file of our own, settle the agents they touched.

    A source is read before a transaction begins, so that nobody waits for a file. `now` is the clock it is taken in by
    (None: reviews of its agents begin by themselves later); `progress` is told of the events so far after each batch.
    """
    terms = terms or IngestTerms()
    done, dates = Ingested(source, now, lives=terms.lives), _Dates()
    reading = _Reading(BotIdentity(source), Redirection())
    # a dated source is compared batch by batch, and so not brought into batches of our own
    merged = batches if terms.dated else batched(batches)
    with _refusal_as_fault(store, source, terms):
        for number, portion in enumerate(portions(merged, None if terms.whole else _COMMIT_EVERY)):
            with store.write() as conn:
                _lock(conn, portion, dates.differing, reading.redirection)
                if number == 0 and not (terms.dry_run or terms.continued):
                    faults.forget(conn, source)  # this reading says afresh what is wrong with it
                for batch in portion.batches:
                    _take_batch(conn, reading.redirection.of(batch), done, dates, reading, terms)
                    if progress is not None:
                        progress(done.events)
                if portion.is_last:
                    _end(conn, done, dates, reading, terms)
                    if not terms.commits(done):
                        conn.rollback()
                        # a dry run says what it would have stored
                        done.stored = done.stored if terms.dry_run else 0
                        return done
    # a long history is settled by the first who asks, not while somebody waits; on a server, of which many agents tell
    # every hour, everything is: by the next knock
    if store.path is not None and done.facts <= _SETTLE_BELOW:
        refresh(store, done.agents, settings_for, max(_REPLAY_BELOW, _REPLAY_EACH * done.facts))
    return done


@dataclass(slots=True)
class _Reading:
    """What is known of a source while it is read.

    `agents` are those it has told of so far, `wanted_by` is the batch that says what marks it could use.
    """

    identity: BotIdentity
    redirection: Redirection
    agents: frozenset[str] = frozenset()
    wanted_by: Batch | None = None


def _lock(conn: Connection, portion: Portion, differing: Sequence[Batch], redirection: Redirection) -> None:
    """Begin a transaction: nobody else tells of the agents it names, nor departs, until it has ended."""
    names: set[str] = set()
    marks: MarkUse | None = None
    if portion.is_whole:
        lock_estate(conn)  # it is read while it is stored, and whom it names is not known yet
    else:
        for batch in [*portion.batches, *(differing if portion.is_last else ())]:
            names |= agents_of(batch)
            marks = "write" if any(series.agent is None for series in batch.marks) else marks
        if not lock_many(conn, names):
            share_estate(conn)
    redirection.look_up(conn)
    if not portion.is_whole:
        lock_agents(conn, redirection.present_names(names), marks=marks)


def _take_batch(
    conn: Connection, batch: Batch, done: Ingested, dates: _Dates, reading: _Reading, terms: IngestTerms
) -> None:
    if terms.in_place:
        done.withdrawn += _clear_place(conn, batch, done, dates)
    reading.identity.check(conn, batch)
    if terms.dated:
        _take_dated(conn, batch, done, dates)
    else:
        _take(conn, batch, done, terms.replace)
    reading.wanted_by = batch if batch.wanted is not None else reading.wanted_by
    names = {row.agent for row in batch.rows} | {series.agent for series in batch.marks if series.agent}
    names |= batch.as_of.keys() | batch.origin.keys()
    faults.tell_of(conn, done.source, names - reading.agents)
    reading.agents |= names


def _end(conn: Connection, done: Ingested, dates: _Dates, reading: _Reading, terms: IngestTerms) -> None:
    """What can be said and corrected only once the whole source was read."""
    if dates.differing and terms.replace is not None:
        _correct(conn, dates.differing, done, terms.replace, dates.older())
    wanted_by = reading.wanted_by
    if wanted_by is not None and wanted_by.wanted is not None:
        done.notices += _unpriced(conn, wanted_by.wanted, wanted_by.origin)
    done.newcomers = dates.newcomers
    done.notices += reading.redirection.notices()
    faults.add(conn, done.source, done.faults)


@contextmanager
def _refusal_as_fault(store: Store, source: str, terms: IngestTerms) -> Iterator[None]:
    """A source that is another bot's is a fault of that source; whatever was stored of it is rolled back by then."""
    try:
        yield
    except OtherBotError as error:
        if not terms.dry_run:
            with store.write() as conn:
                faults.forget(conn, source, agents=False)  # it told of somebody before: the fault is theirs
                faults.add(conn, source, [Fault(source, None, str(error))])
        raise


def refresh(
    store: Store, names: Iterable[str], settings_for: Callable[[Agent], AgentSettings], most: int
) -> None:
    """Settle these agents, each in its own transaction; who is not stored is passed over.

    Where that replays more than `most` facts it is left to the first who asks: a position of thousands of fills is then
    not replayed with each that is told.
    """
    for name in sorted(set(names)):
        with store.read() as conn:
            agent = agents.agent(conn, name)
        if agent is not None:
            settings = settings_for(agent)
            # a damaged row stands in the way of its own agent alone, and whoever asks about that one is told
            with suppress(DamagedRowError), store.write() as conn:
                # asked again: with a K that no other writer has moved
                if not replays_more_than(conn, name, most):
                    settle(conn, agents.existing_agent(conn, name), settings)


def _clear_place(conn: Connection, batch: Batch, done: Ingested, dates: _Dates) -> int:
    """Withdraw what another source told of the agents whom this reading tells of for the first time; how many facts."""
    names = batch.origin.keys() - dates.stored.keys()
    dates.look_up(conn, batch)
    dates.stored |= dict.fromkeys(names)
    return take_the_place(conn, names, done.source, done.now)


def _take_dated(conn: Connection, batch: Batch, done: Ingested, dates: _Dates) -> None:
    """Take a batch of a dated source: what differs waits until it is known how far the whole reading reaches."""
    dates.look_up(conn, batch)
    conflicts = len(done.conflicts)
    differs = _take(conn, batch, done, None, dated=True)
    if len(done.conflicts) > conflicts or differs:
        dates.differing.append(batch)
    dates.read |= batch.as_of


def _take(
    conn: Connection, batch: Batch, done: Ingested, replace: str | None, *, dated: bool = False
) -> bool:
    """Take a batch; of a `dated` source, whether a figure it states itself is known otherwise."""
    done.events += batch.events
    distinct = len(batch.rows) + sum(len(series.t) for series in batch.marks)
    done.unchanged += max(0, batch.events - distinct)  # marks told twice, which the adapter let fall together
    done.faults += batch.faults
    for name, count in batch.unknown.items():
        if name in done.unknown or len(done.unknown) < _NAMES:
            done.unknown[name] = done.unknown.get(name, 0) + count
    if batch.rows:
        added = events.add(
            conn, batch.rows, where=done.source, lines=batch.lines or None, replace=replace, now=done.now
        )
        done.unchanged += added.unchanged
        done.conflicts += added.conflicts
        _count(conn, added, batch.rows, done)
    outcomes = marks.add_all(conn, batch.marks, where=done.source, replace=replace)
    for got in outcomes:
        done.unchanged += got.unchanged
        done.conflicts += got.conflicts
    _count_marks(conn, batch.marks, outcomes, done)
    done.notices += batch.notices
    for agent in batch.as_of.keys() | batch.capital.keys() | batch.base_currency.keys() | batch.origin.keys():
        agents.note_agent(
            conn,
            agent,
            as_of=batch.as_of.get(agent),
            capital=batch.capital.get(agent),
            base_currency=batch.base_currency.get(agent),
            origin=batch.origin.get(agent),
        )
        done.agents.add(agent)
    wrong, differs = take_checks(conn, batch, done.source, replace=not dated)
    done.faults += wrong
    return differs


def _unpriced(conn: Connection, wanted: MarksWanted, names: Iterable[str]) -> list[str]:
    """What to say of the days a source traded on of which no mark is kept, shared or of these agents; nothing if none."""
    owners = [None, *names]
    lacking = {
        instrument: unpriced
        for instrument, days in sorted(wanted.days.items())
        if (unpriced := set(days) - marks.days_told(conn, owners, instrument))
    }
    return [wanted.sentence(lacking)] if lacking else []


def _correct(
    conn: Connection, differing: Iterable[Batch], done: Ingested, replace: str, older: set[str]
) -> None:
    """A second look at what the store knows otherwise: a later reading corrects it, an `older` one is passed over."""
    done.unchanged += len(done.conflicts)
    done.conflicts.clear()
    for batch in differing:
        rows = [row for row in batch.rows if row.agent not in older]
        if rows:
            added = events.add(
                conn, rows, where=done.source, lines=None, replace=replace, now=done.now, dated=True
            )
            done.unchanged -= added.replaced
            _count(conn, added, rows, done)
        if not older:
            outcomes = marks.add_all(conn, batch.marks, where=done.source, replace=replace)
            done.unchanged -= sum(got.replaced for got in outcomes)
            _count_marks(conn, batch.marks, outcomes, done)
        correct_checks(conn, batch, older)


def _count(conn: Connection, added: events.Added, rows: Iterable[EventRow], done: Ingested) -> None:
    done.facts += added.stored + added.replaced
    done.stored += added.stored + added.replaced
    last: dict[str, int] = {}
    for row in rows if added.first_at else ():
        last[row.agent] = max(row.at, last.get(row.agent, row.at))
    for agent, since in added.first_at.items():
        invalidate_for_facts(conn, agent, since, last[agent], done.now)
        invalidate_for_backtest(conn, done.lives.get(agent, ()), since, last[agent])
        done.agents.add(agent)


def _count_marks(
    conn: Connection, batch: Sequence[MarkSeries], added: Sequence[marks.AddedMarks], done: Ingested
) -> None:
    changed: dict[str, list[tuple[int, int]]] = {}
    for series, got in zip(batch, added, strict=True):
        done.stored += got.stored + got.replaced + got.completed
        # shared ones are told of no agent: their series have a new version
        if got.first_at is not None and series.agent is not None:
            changed.setdefault(series.agent, []).append((got.first_at, int(series.t.max())))
    for owner, spans in changed.items():
        for first, last in united(spans):
            invalidate_for_marks(conn, owner, first, last)
        done.agents.add(owner)
