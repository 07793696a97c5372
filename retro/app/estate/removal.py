"""Forgetting an agent: every row in one transaction, then its files, and a digest so that no source brings it back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from retro.app.estate.census import Estate, known_name
from retro.app.estate.change import change_estate
from retro.app.estate.folders import file_counts, remove_files
from retro.app.intake.fingerprints import key_of
from retro.errors import UsageError
from retro.store.estate.removal import own_sources, remove
from retro.store.facts.departures import departure_of, welcome
from retro.store.jobs import cursors

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from retro.app.estate.folders import EstateFolders
    from retro.config import Config
    from retro.store.database import Store

__all__ = ["forget", "undo_forget"]


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
    with store.read() as conn:
        gone = departure_of(conn, name)
    if gone is not None and gone.reason == "forgotten":
        estate = Estate(name, None, {}, file_counts(folders, name), (), ())
        remove_files(folders, name)
        return estate

    def delete_rows(conn: Connection) -> None:
        known_name(conn, name)
        paths = set(own_sources(conn, name))
        of_sources = [key_of(table, host) for table in config.source if str(table.path) in paths]
        remove(conn, name, clock(), of_sources)

    return change_estate(store, folders, ("forget", name, None), delete_rows, clock=clock, sleep=sleep)


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
