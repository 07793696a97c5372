"""The owner's ruling on a position whose fills look impossible, and what has to be settled and reviewed again for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.app.settlement.settle import settled_book
from retro.errors import UnknownError, UsageError
from retro.periods import FOREVER
from retro.store.books import positions
from retro.store.facts import rulings
from retro.store.jobs import reviews
from retro.store.jobs.staleness import Staleness

if TYPE_CHECKING:
    from retro.app.settlement.settings import AgentSettings
    from retro.store.database import Store
    from retro.store.facts.rulings import RulingRecord

__all__ = ["rule"]


def rule(store: Store, agent: str, settings: AgentSettings, given: RulingRecord) -> str:
    """Note the ruling and what it makes stale; gives the one line that says so.

    `UnknownError` without the position; `UsageError` where nothing about it looks impossible and nobody ruled on it yet.
    """
    with settled_book(store, agent, settings) as book:
        row = next((row for row in book.positions() if row.position == given.position), None)
    if row is None:
        raise UnknownError(f"agent {agent} has no position {given.position!r}; `retro positions` lists them")
    if row.flagged_at is None and row.ruling is None:
        raise UsageError(f"{given.position} is not implausible: it counts as it is")
    with store.write() as conn:
        rulings.record(conn, agent, given)
        positions.mark_dirty(conn, agent, row.opened_at)
        # no fact has changed, so their digest must not say that there is nothing to look at
        last = FOREVER if row.closed_at is None else row.closed_at
        reviews.mark_stale(conn, agent, row.opened_at, last, Staleness(facts=True, marks=True))
    if given.ruling == "confirmed":
        return (
            f"{given.position} is confirmed: what it made counts everywhere from the next knock or reading on"
        )
    return f"{given.position} is rejected: nothing it made or lost counts, from the next knock or reading on"
