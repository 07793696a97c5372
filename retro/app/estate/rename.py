"""Another name for an agent: its life goes on under it, and what still tells of the old name is told of the new."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from retro.app.estate.census import known_name
from retro.app.estate.change import change_estate
from retro.errors import UsageError
from retro.journal.values import AGENT_NAME
from retro.store.estate.holdings import has_rows
from retro.store.estate.rename import rename as rename_rows
from retro.store.facts.departures import departure_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from retro.app.estate.census import Estate
    from retro.app.estate.folders import EstateFolders
    from retro.store.database import Store

__all__ = ["refuse_name", "rename"]


def rename(
    store: Store,
    folders: EstateFolders,
    name: str,
    successor: str,
    *,
    clock: Callable[[], int],
    sleep: Callable[[float], None] = time.sleep,
) -> Estate:
    """Rename an agent; gives what it has. `UsageError` for a name that somebody has or had."""

    def change(conn: Connection) -> None:
        known_name(conn, name)
        refuse_name(conn, name, successor)
        rename_rows(conn, name, successor, clock())

    return change_estate(store, folders, ("rename", name, successor), change, clock=clock, sleep=sleep)


def refuse_name(conn: Connection, name: str, successor: str) -> None:
    """`UsageError` where an agent cannot be called so."""
    if not AGENT_NAME.fullmatch(successor):
        raise UsageError(f"the new name {successor!r} is not 1 to 64 of A-Z a-z 0-9 . _ -")
    if name == successor:
        raise UsageError(f"{name} is called so already")
    if has_rows(conn, successor):
        raise UsageError(
            f"there is an agent {successor!r} already; `retro agents merge {name} {successor}` makes one life of both"
        )
    gone = departure_of(conn, successor)
    if gone is not None and gone.successor is None:
        raise UsageError(
            f"{successor!r} was forgotten, and its sources would come to {name}; "
            f"`retro agents forget {successor} --undo` frees the name"
        )
    if gone is not None and gone.successor != name:
        raise UsageError(
            f"{successor!r} is a name that {gone.successor} had; what its sources tell goes there"
        )
