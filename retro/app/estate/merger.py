"""Two agents become one life, such as a bot that changed its strategy and so its name.

Facts, marks, rulings, proposals and memory of the one go to the other; what follows from them is settled anew. Reviews
that are written stay under their ids as they are: the merged life is another one, and its days, weeks and epochs are
reviewed anew on a grid of their own (`retro.app.settlement.grid`).
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from memory.store import merge as memories
from retro.app.estate.census import known_name
from retro.app.estate.change import change_estate
from retro.app.settlement.invalidation import invalidate_for_facts
from retro.errors import UsageError
from retro.kinds import CALENDAR
from retro.model import Death
from retro.periods import format_instant
from retro.store.estate.merge import merge as merge_rows
from retro.store.estate.merge import shared_ids
from retro.store.facts import agents, events
from retro.store.jobs.grids import mark_of, supersede

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from retro.app.estate.census import Estate
    from retro.app.estate.folders import EstateFolders
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["merge", "refuse_merger"]

_SHOWN: Final = 8


def merge(
    store: Store,
    folders: EstateFolders,
    name: str,
    successor: str,
    *,
    clock: Callable[[], int],
    sleep: Callable[[float], None] = time.sleep,
) -> Estate:
    """Give the life of `name` to `successor`; gives what it was. `UsageError` names what stands in the way."""

    def change(conn: Connection) -> None:
        refuse_merger(conn, name, successor)
        _merge(conn, name, successor, clock())

    return change_estate(store, folders, ("merge", name, successor), change, clock=clock, sleep=sleep)


def refuse_merger(conn: Connection, name: str, successor: str) -> None:
    """`UsageError` where two lives cannot become one: the same agent, another currency, a death between, shared ids."""
    if known_name(conn, name) == known_name(conn, successor):
        raise UsageError(f"{name} cannot be merged into itself")
    both = [_with_facts(conn, agent_name) for agent_name in (name, successor)]
    for field in ("base_currency", "origin"):
        values = {getattr(agent, field) for agent in both} - {None}
        if len(values) > 1:
            words = " and ".join(sorted(values))
            raise UsageError(f"{name} and {successor} differ in {field.replace('_', ' ')}: {words}")
    _refuse_death(conn, *both)
    shared = [*shared_ids(conn, name, successor), *memories.shared_ids(conn, name, successor)]
    if shared:
        listed = ", ".join(f"{what} {id_}" for what, id_ in shared[:_SHOWN])
        more = f" and {len(shared) - _SHOWN} more" if len(shared) > _SHOWN else ""
        raise UsageError(
            f"{name} and {successor} both have {listed}{more}: one life has each id once; correct one of the sources"
        )


def _with_facts(conn: Connection, name: str) -> Agent:
    agent = agents.agent(conn, name)
    if agent is None:
        raise UsageError(f"{name} has a memory and no facts: there is no life to merge")
    return agent


def _refuse_death(conn: Connection, first: Agent, second: Agent) -> None:
    for agent, other in ((first, second), (second, first)):
        death = events.first_of(conn, agent.name, Death)
        if death is not None and other.last_at is not None and other.last_at >= death.at:
            raise UsageError(
                f"{agent.name} died on {format_instant(death.at)} and {other.name} lived on: that is no one life"
            )


def _merge(conn: Connection, name: str, successor: str, now: int) -> None:
    grid = agents.existing_agent(conn, successor).grid or agents.existing_agent(conn, name).grid
    memories.merge(conn, name, successor)
    merge_rows(conn, name, successor, now)
    agent = agents.existing_agent(conn, successor)
    if grid is not None:
        anew = replace(grid, days=grid.days + 1, epochs=grid.epochs + 1, since=now)
        agents.choose_grid(conn, successor, anew)
        marks: dict[str, str] = {kind: mark_of(anew, kind) for kind in CALENDAR}
        supersede(conn, successor, marks, f"{name} and {successor} have become one life")
    if agent.first_at is not None and agent.last_at is not None:
        invalidate_for_facts(conn, successor, agent.first_at, agent.last_at, now)
