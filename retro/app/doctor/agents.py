"""Can the agents be reviewed: their marks, how old these are, whether the book speaks for the facts."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from retro.accounting.prices import MAX_AGE, base_and_quote
from retro.app.doctor.check import Examination, broken, note, ok
from retro.app.proposals.files import playbook_of
from retro.app.settlement.book import is_stale
from retro.app.settlement.grid import grid_differs
from retro.app.settlement.settings import settings_of
from retro.app.settlement.silence import silent_since
from retro.errors import DamagedRowError, InputError
from retro.figures import count
from retro.periods import format_instant
from retro.store.books import pages
from retro.store.facts import agents as stored_agents
from retro.store.facts import faults as stored_faults
from retro.store.facts import marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Connection

    from retro.app.doctor.check import Check, Installation
    from retro.app.settlement.settings import AgentSettings
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["CHECKS", "agents", "faults", "known_agents", "settings_for"]

_SHOWN: Final = 5
_ROWS: Final = 5000
"""Rows of a book that are read in one transaction: a commit waits for no more on SQLite."""


def agents(house: Installation) -> Iterator[Check]:
    """Every agent: its life, its marks, its book."""
    if house.store is None:
        return
    with house.store.read() as conn:
        every = stored_agents.agents(conn)
    for agent in every:
        traded = _traded(house.store, agent.name)
        with house.store.read() as conn:
            try:
                since = silent_since(conn, house.config, agent, house.now)
                yield from _agent(conn, agent, settings_for(house, agent), since, traded)
            except DamagedRowError as error:
                yield broken("agent", f"{agent.name}: {error}")
            if difference := grid_differs(agent, house.config):
                yield note("grid", difference)


def _traded(store: Store, agent: str) -> dict[str, bool]:
    """Instrument -> whether a position in it is open; part by part, so that no commit waits for a whole book."""
    traded: dict[str, bool] = {}
    place = None
    while True:
        with store.read() as conn:
            part, place = pages.assets_after(conn, agent, place, _ROWS)
        for asset in part:
            if asset.kind in {"spot", "perp"}:
                traded[asset.instrument] = traded.get(asset.instrument, False) or asset.open
        if place is None:
            return traded


def settings_for(house: Installation, agent: Agent) -> AgentSettings:
    """What an agent's book is settled by; a playbook that cannot be read is told of elsewhere."""
    try:
        book = playbook_of(house.config, agent.name)
    except InputError:  # told by the check of playbooks
        book = None
    return settings_of(house.config, agent, book)


def _agent(
    conn: Connection, agent: Agent, settings: AgentSettings, since: int | None, traded: dict[str, bool]
) -> Iterator[Check]:
    if agent.first_at is None or agent.last_at is None:
        yield note("agent", f"{agent.name}: has no events yet")
        return
    life = f"{_day(agent.first_at)} to {_day(agent.last_at)}"
    yield ok("agent", f"{agent.name}: {count(agent.events, 'event')}, {life}, in {settings.base_currency}")
    if since is not None:
        yield note(
            "agent", f"{agent.name}: silent since {_day(since)}; it gets no reviews until its next event"
        )
    if is_stale(conn, agent.name, settings):
        yield note(
            "agent", f"{agent.name}: its book is behind its facts; the next review brings it up to date"
        )
    yield from _marks(conn, agent, settings.base_currency, traded)
    if settings.options.benchmark is not None:
        yield _benchmark(conn, agent, settings.base_currency, settings.options.benchmark.instrument)


def _marks(conn: Connection, agent: Agent, base_currency: str, traded: dict[str, bool]) -> Iterator[Check]:
    """Instruments without a mark have no path and no regret; an old mark makes an open position's worth provisional."""
    until = agent.known_until
    instruments_of = {owner: set(marks.instruments(conn, owner)) for owner in (agent.name, None)}
    missing, old = [], []
    for instrument in sorted(traded):
        newest = _newest(conn, instruments_of, _priced_by(instrument, base_currency), until)
        if newest is None:
            missing.append(instrument)
        elif traded[instrument] and until - newest > MAX_AGE:
            old.append(f"{instrument} ({_day(newest)})")
    if missing:
        reason = "without marks no path and no regret; `retro ingest marks` adds them"
        yield note("marks", f"{agent.name}: none for {_listed(missing)}; {reason}")
    if old:
        yield note(
            "marks", f"{agent.name}: open positions are valued at marks older than a day: {_listed(old)}"
        )
    if traded and not missing and not old:
        yield ok("marks", f"{agent.name}: for each of {len(traded)} instruments traded")


def _benchmark(conn: Connection, agent: Agent, base_currency: str, instrument: str) -> Check:
    """Without a mark of the day the market's part of a result is not known."""
    until = agent.known_until
    instruments_of = {owner: set(marks.instruments(conn, owner)) for owner in (agent.name, None)}
    newest = _newest(conn, instruments_of, _priced_by(instrument, base_currency), until)
    if newest is not None and until - newest <= MAX_AGE:
        return ok("benchmark", f"{agent.name}: {instrument} has marks up to {_day(newest)}")
    state = "no mark" if newest is None else f"no mark after {_day(newest)}"
    remedy = f"`retro ingest marks FILE --instrument {instrument}` adds them"
    return note("benchmark", f"{agent.name}: [owner] benchmark {instrument} has {state}; {remedy}")


def _newest(
    conn: Connection, instruments_of: dict[str | None, set[str]], names: Iterable[str], until: int
) -> int | None:
    instants = [
        mark[0]
        for owner, instruments in instruments_of.items()
        for name in names
        if name in instruments
        if (mark := marks.last_at_or_before(conn, owner, name, until)) is not None
    ]
    return max(instants, default=None)


def _priced_by(instrument: str, base_currency: str) -> set[str]:
    """The series whose marks price an instrument."""
    base, quote = base_and_quote(instrument)
    return {instrument, base, f"{base}/{quote or base_currency}", f"{base}/{base_currency}"}


def known_agents(house: Installation) -> Iterator[Check]:
    """`[agent.NAME]` and `[[shadow]]` tables that no agent answers to: most often a slip in the name."""
    if house.store is None:
        return
    with house.store.read() as conn:
        names = [agent.name for agent in stored_agents.agents(conn)]
    named = [(name, f"{name}: is configured, but no event tells of it") for name in house.config.agent]
    for table in house.config.shadow:
        owner = table.agent
        if owner is not None:
            named.append((owner, f"[[shadow]] {table.name} is of {owner}, and no event tells of it"))
    for live, own in house.config.agent.items():
        if own.backtest is not None:
            remedy = f"`retro ingest freqtrade ZIP --agent {own.backtest}` reads it"
            named.append((own.backtest, f"{live}: its backtest {own.backtest} is no agent here; {remedy}"))
    for name, text in named:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            yield note("agent", f"{text}{hint}")


def faults(house: Installation) -> Iterator[Check]:
    """Rows that could not be used."""
    if house.store is None:
        return
    with house.store.read() as conn:
        faulty = stored_faults.count(conn)
    if faulty:
        rows = count(faulty, "row or source", "rows or sources")
        yield note("faults", f"{rows} could not be used; `retro faults` says why")
    else:
        yield ok("faults", "everything that was ingested could be used")


def _day(at: int) -> str:
    return format_instant(at)[:10]


def _listed(names: list[str]) -> str:
    listed = ", ".join(names[:_SHOWN])
    return listed if len(names) <= _SHOWN else f"{listed} and {len(names) - _SHOWN} more"


CHECKS: Final = (
    Examination("agents", agents),
    Examination("known agents", known_agents),
    Examination("faults", faults),
)
"""In the order in which they are told."""
