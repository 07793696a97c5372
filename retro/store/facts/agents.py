"""Whose lives the store holds: one row an agent, kept as facts and marks of its own arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import ScalarSelect, Select, bindparam, func, insert, select, update

from retro.errors import UnknownError
from retro.store import schema as tables
from retro.store.locks import bucket_of, lock_agents
from retro.store.schema import name_of

if TYPE_CHECKING:
    from decimal import Decimal

    from sqlalchemy import Connection, Row

__all__ = [
    "Agent",
    "Grid",
    "agent",
    "agents",
    "choose_grid",
    "existing_agent",
    "extend_life",
    "first_event",
    "key_of",
    "key_query",
    "known_key",
    "note_agent",
    "remeasure_life",
    "restate",
]


@dataclass(frozen=True, slots=True)
class Grid:
    """The calendar that an agent's reviews follow: a zone of IANA's and the length of its epochs in days.

    `days` and `epochs` count from 1 the grids that days and weeks, and epochs, have had: a later one ends their ids, so
    that no id ever names two periods. `since`: when it was chosen in place of another (microseconds); None: the first.
    """

    time_zone: str
    epoch_days: int
    days: int = 1
    epochs: int = 1
    since: int | None = None

    def mark(self, *, epochs: bool) -> str:
        """What ends the ids of epochs, or of days and weeks, on this grid: nothing on the first, then `g2`, `g3`."""
        number = self.epochs if epochs else self.days
        return "" if number == 1 else f"g{number}"


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent. `first_at` and `last_at` span its facts and its own marks (never shared ones), `events` counts both.

    `as_of`, `capital` and `base_currency` are what a source told of it; None when none did. `origin` says which source
    its `ft-` facts come from: that of a freqtrade bot; None for an agent that tells its own journal. `grid` is None until
    the first review is owed: until then the configuration's holds.
    """

    name: str
    first_at: int | None
    last_at: int | None
    as_of: int | None
    capital: Decimal | None
    base_currency: str | None
    events: int
    origin: str | None = None
    grid: Grid | None = None

    @property
    def known_until(self) -> int:
        """K: the last instant of its own events, or until when its source was read; microseconds."""
        return max(self.last_at or 0, self.as_of or 0)


def agents(conn: Connection) -> list[Agent]:
    """Every agent, in order of name."""
    rows = conn.execute(_rows())
    return sorted((_agent_of(row) for row in rows), key=lambda row: row.name)  # no database's collation


def agent(conn: Connection, name: str) -> Agent | None:
    """The agent of that name, by one look into the index; None where nobody is called so."""
    if name.encode("utf-8", "replace").decode() != name:
        return (
            None  # half a surrogate pair, from a terminal or a JSON escape: no driver would take it as a key
        )
    row = conn.execute(_rows().where(tables.agents.c.name == name_of(name))).one_or_none()
    return None if row is None else _agent_of(row)


def existing_agent(conn: Connection, name: str) -> Agent:
    """The agent of that name; `UnknownError` where nobody is called so."""
    row = agent(conn, name)
    if row is None:
        raise UnknownError(f"there is no agent {name!r}")
    return row


def _rows() -> Select[Any]:
    columns = tables.agents.c
    return select(
        columns.name,
        columns.first_at,
        columns.last_at,
        columns.as_of,
        columns.capital,
        columns.base_currency,
        columns.events,
        columns.origin,
        columns.time_zone,
        columns.epoch_days,
        columns.day_grid,
        columns.epoch_grid,
        columns.grid_since,
    )


def _agent_of(row: Row[Any]) -> Agent:
    values = list(row)
    grid = values[-5:]
    values[-5:] = [None if grid[0] is None else Grid(*grid)]
    return Agent(*values)


def choose_grid(conn: Connection, agent: str, grid: Grid) -> None:
    """Let an agent's reviews follow a grid from now on."""
    table = tables.agents
    conn.execute(
        update(table)
        .where(table.c.name == name_of(agent))
        .values(
            time_zone=grid.time_zone,
            epoch_days=grid.epoch_days,
            day_grid=grid.days,
            epoch_grid=grid.epochs,
            grid_since=grid.since,
        )
    )


def note_agent(
    conn: Connection,
    agent: str,
    *,
    as_of: int | None = None,
    capital: Decimal | None = None,
    base_currency: str | None = None,
    origin: str | None = None,
) -> None:
    """Keep what a source says of an agent as a whole. `as_of` only grows; None leaves what is known."""
    key = key_of(conn, agent)
    table = tables.agents
    values = {"capital": capital, "base_currency": base_currency, "origin": origin}
    changes = {name: value for name, value in values.items() if value is not None}
    if changes:
        conn.execute(update(table).where(table.c.key == key).values(changes))
    if as_of is not None:
        older = func.coalesce(table.c.as_of < as_of, True)
        conn.execute(update(table).where(table.c.key == key, older).values(as_of=as_of))


KEY_OF_NAMED: Final = (
    select(tables.agents.c.key).where(tables.agents.c.name == bindparam("its_name")).scalar_subquery()
)
"""`key_query` in a statement that is made once: whoever executes it gives `name_of` the agent as `its_name`."""


def key_query(agent: str) -> ScalarSelect[int]:
    """The agent's key, as part of a larger query."""
    return select(tables.agents.c.key).where(tables.agents.c.name == name_of(agent)).scalar_subquery()


def known_key(conn: Connection, agent: str) -> int:
    """The key of an agent that is there."""
    return int(
        conn.execute(select(tables.agents.c.key).where(tables.agents.c.name == name_of(agent))).scalar_one()
    )


def key_of(conn: Connection, agent: str) -> int:
    """The agent's key, made when there is none; from here on nobody else tells of it."""
    lock_agents(conn, [agent])
    key = conn.execute(select(key_query(agent))).scalar_one()
    if key is None:
        values = {"name": name_of(agent), "events": 0, "bucket": bucket_of(agent)}
        key = conn.execute(insert(tables.agents).values(values).returning(tables.agents.c.key)).scalar_one()
    return int(key)


def first_event(conn: Connection) -> int | None:
    """When the first event happened that any agent tells of; None before there is one."""
    first: int | None = conn.execute(select(func.min(tables.agents.c.first_at))).scalar_one()
    return first


def extend_life(conn: Connection, key: int, first_at: int, last_at: int, events: int) -> None:
    """The agent has `events` more events, between these instants."""
    table = tables.agents
    now = conn.execute(select(table.c.first_at, table.c.last_at).where(table.c.key == key)).one()
    conn.execute(
        update(table)
        .where(table.c.key == key)
        .values(
            first_at=first_at if now.first_at is None else min(first_at, now.first_at),
            last_at=last_at if now.last_at is None else max(last_at, now.last_at),
            events=table.c.events + events,
        )
    )


def remeasure_life(conn: Connection, key: int) -> None:
    """Find the agent's first and last instant anew, after a correction may have moved one of them."""
    facts, marks = tables.events.c, tables.series.c
    name = select(tables.agents.c.name).where(tables.agents.c.key == key).scalar_subquery()
    spans = (
        select(func.min(facts.at), func.max(facts.at)).where(facts.agent == key),
        select(func.min(marks.first_at), func.max(marks.last_at)).where(marks.owner == name),
    )
    instants = [at for span in spans for at in conn.execute(span).one() if at is not None]
    table = tables.agents
    conn.execute(
        update(table)
        .where(table.c.key == key)
        .values(first_at=min(instants, default=None), last_at=max(instants, default=None))
    )


def restate(conn: Connection, agent: Agent) -> None:
    """Put what is told of an agent as a whole in the place of what is known; its grid stays."""
    names = ("first_at", "last_at", "as_of", "capital", "base_currency", "events", "origin")
    values = {name: getattr(agent, name) for name in names}
    conn.execute(update(tables.agents).where(tables.agents.c.name == name_of(agent.name)).values(values))
