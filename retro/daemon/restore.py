"""`retro restore`: a backup takes the place of a database on which no service works."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from retro.daemon.lock import Instance
from retro.errors import BusyError
from retro.store.backup import examine, put_in_place

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["restore"]


def restore(source: Path, database: Path, now: int) -> Path | None:
    """Put a backup in the place of a database; where the old one is kept, None where there was none.

    `BusyError` while a service works on it, `InputError` for a file that is no sound backup: then nothing is changed.
    """
    examine(source)
    database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        lock = Instance.of(database)
    except BusyError as error:
        raise BusyError(f"{error}; stop the service first, then restore") from None
    try:
        stamp = datetime.fromtimestamp(now // 1_000_000, UTC).strftime("%Y%m%dT%H%M%SZ")
        aside = database.with_name(f"{database.name}.before-{stamp}")
        was_there = database.exists()
        put_in_place(source, database, aside)
        return aside if was_there else None
    finally:
        lock.release()
