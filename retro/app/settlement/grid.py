"""The grid of an agent's reviews: kept from the first one on, whatever the configuration says later, until it is changed.

A day or a week of another zone, an epoch of another length is another period: were the grid to follow the
configuration, a period would be made twice under one id. So the configuration's grid holds for an agent that has no
review yet; the first that is owed fixes it, and `regrid` alone puts another in its place, whose ids end in `.g2`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from retro.errors import UsageError
from retro.figures import count
from retro.kinds import CALENDAR
from retro.periods import day_of, zone
from retro.store.facts import agents
from retro.store.facts.agents import Grid
from retro.store.jobs import enrolments
from retro.store.jobs.grids import mark_of, period_key, stored_grid, supersede

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.store.facts.agents import Agent

__all__ = ["fix_grid", "grid_differs", "grid_text", "regrid"]


def fix_grid(conn: Connection, agent: Agent, settings: AgentSettings) -> None:
    """Keep the grid of an agent that has none: that of its stored reviews, else the one that its settings name."""
    if agent.grid is not None:
        return
    of_reviews = stored_grid(conn, agent.name)
    time_zone = of_reviews.time_zone or settings.zone.key
    days = settings.epoch_days
    if of_reviews.epoch is not None:
        first, last = (day_of(at, zone(time_zone)) for at in of_reviews.epoch)
        days = max(1, (last - first).days)
    agents.choose_grid(conn, agent.name, Grid(time_zone, days))


def grid_text(time_zone: str, epoch_days: int) -> str:
    """A grid in words."""
    return f"{time_zone}, epochs of {count(epoch_days, 'day')}"


def grid_differs(agent: Agent, config: Config) -> str | None:
    """In one sentence that the configuration names another grid than the agent has, and what changes it; else None."""
    owner, days = config.owner.time_zone, config.retrospective.epoch_interval_days
    grid = agent.grid
    if grid is None or (grid.time_zone, grid.epoch_days) == (owner, days):
        return None
    return (
        f"{agent.name}: its reviews keep their grid ({grid_text(grid.time_zone, grid.epoch_days)}); the configuration "
        f"says {grid_text(owner, days)}: `retro agents regrid {agent.name}` takes it, with new ids"
    )


def regrid(conn: Connection, agent: Agent, config: Config, now: int) -> str:
    """Put the agent on the configuration's grid, in the caller's transaction; gives the one line that says so.

    What was made on the old grid stays under its ids and is history; the new grid's reviews are owed from the agent's
    first event on, under ids that no review ever had. `UsageError` where there is nothing to change.
    """
    owner, days = config.owner.time_zone, config.retrospective.epoch_interval_days
    old = agent.grid
    if old is None:
        raise UsageError(
            f"{agent.name} has no review yet: the configuration's grid ({grid_text(owner, days)}) holds"
        )
    moved = old.time_zone != owner
    if not moved and old.epoch_days == days:
        raise UsageError(f"{agent.name} is on this grid already: {grid_text(owner, days)}")
    new = replace(
        old, time_zone=owner, epoch_days=days, days=old.days + moved, epochs=old.epochs + 1, since=now
    )
    agents.choose_grid(conn, agent.name, new)
    marks: dict[str, str] = {kind: mark_of(new, kind) for kind in CALENDAR}
    reason = f"the agent is on another grid: {grid_text(owner, days)}"
    superseded = supersede(conn, agent.name, marks, reason)
    enrolments.look_again(conn, agent.name)
    ids = ", ".join(f"{agent.name}.{kind}.{period_key('*', mark)}" for kind, mark in marks.items())
    return (
        f"{agent.name}: from {grid_text(old.time_zone, old.epoch_days)} to {grid_text(owner, days)}; "
        f"{count(superseded, 'review')} of the old grid stay as they are, the next knock makes the new ones ({ids})"
    )
