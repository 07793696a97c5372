"""Forgetting an agent: every row in one transaction, then its files, and a digest so that no source brings it back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from retro.app.estate.census import Estate, estate_of, known_name
from retro.app.estate.folders import file_counts, remove_files, run_errands
from retro.app.intake.fingerprints import key_of
from retro.errors import BusyError, UsageError
from retro.store.estate import errands
from retro.store.estate.removal import at_work, own_sources, remove
from retro.store.facts.departures import departure_of, welcome
from retro.store.jobs import cursors

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from retro.app.estate.folders import EstateFolders
    from retro.config import Config
    from retro.store.database import Store

__all__ = ["alone_with", "forget", "undo_forget"]

_PATIENCE: Final = 150
"""How often, a second apart, it is asked whether the service is done with an agent: longer than a lease."""


def forget(
    store: Store,
    config: Config,
    folders: EstateFolders,
    name: str,
    *,
    clock: Callable[[], int],
    host: str,
    sleep: Callable[[float], None] = time.sleep,
) -> Estate:
    """Delete everything of an agent; gives what there was.

    Where it was forgotten before, the files that this machine still has of it are deleted.
    """
    run_errands(store, folders)
    with store.read() as conn:
        gone = departure_of(conn, name)
    if gone is not None and gone.reason == "forgotten":
        estate = Estate(name, None, {}, file_counts(folders, name), (), ())
        remove_files(folders, name)
        return estate
    estate = estate_of(store, folders, name)

    def delete_rows(conn: Connection) -> None:
        known_name(conn, name)
        told = set(own_sources(conn, name))
        of_sources = [key_of(table, host) for table in config.source if str(table.path) in told]
        remove(conn, name, clock(), of_sources)
        errands.owe(conn, "forget", name)

    alone_with(store, (name,), delete_rows, clock=clock, sleep=sleep)
    run_errands(store, folders)
    return estate


def alone_with(
    store: Store,
    names: tuple[str, ...],
    change: Callable[[Connection], None],
    *,
    clock: Callable[[], int],
    sleep: Callable[[float], None],
) -> None:
    """Make a change in one transaction while nobody makes or sends a review of these agents; wait for who does.

    Whoever holds a review would write a file of it after the change, under a name that is gone.
    """
    for _ in range(_PATIENCE):
        with store.write() as conn:
            busy = next(filter(None, (at_work(conn, name, clock()) for name in names)), None)
            if busy is None:
                change(conn)
                return
        sleep(1.0)
    raise BusyError(f"the service is {busy}; try again when it is done, or stop it first")


def undo_forget(store: Store, name: str) -> str:
    """Let sources tell of a forgotten agent again; gives the line that says what that does and what it does not."""
    with store.write() as conn:
        gone = departure_of(conn, name)
        if gone is None or gone.reason != "forgotten":
            raise UsageError(f"no agent {name!r} was forgotten here; there is nothing to undo")
        welcome(conn, name)
        cursors.rewind(conn)  # which of them told of it, nobody kept
    return (
        f"{name} may be told of again: `retro ingest` brings back what its source holds, the service reads every source"
        " from its start at its next knock; memory, records and rulings do not come back"
    )
