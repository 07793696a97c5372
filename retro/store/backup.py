"""A copy of a SQLite database while others write to it, what is wrong with a copy, and putting one in its place.

The copy is taken by SQLite's own backup interface: one state of the database, whoever writes meanwhile. PostgreSQL has
tools of its own for this; which command to use is said, and nothing half as good is offered.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final, NoReturn

from retro.errors import InputError, NewerSchemaError, StoreError, UsageError
from retro.store.migrations.runner import APPLICATION_ID, COMPONENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from retro.store.database import Store

__all__ = ["back_up", "examine", "put_in_place", "refuse_server"]

_PAGES: Final = 4096
_RESTARTS: Final = 3
_PATIENCE_S: Final = 30.0


class _Overtaken(Exception):  # noqa: N818  what happened, not what is wrong
    """Others write faster than pages are copied in small steps."""


def back_up(store: Store, target: Path) -> int:
    """Write a copy of the database to a file that is not there yet, whole or not at all; its size in bytes.

    Pages are copied in steps between which others may write. Where they write so much that the copy begins anew again
    and again, the last attempt copies all pages at once, and they wait for it.
    """
    if store.path is None:
        refuse_server(store, target)
    if target.exists():
        raise UsageError(f"{target} is there already; a backup overwrites nothing")
    beside = target.with_name(f".{target.name}.part")
    try:
        os.close(os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600))
        with closing(_opened(store.path, "ro")) as source, closing(_opened(beside, "rw")) as copy:
            try:
                source.backup(copy, pages=_PAGES, progress=_give_up_when_overtaken(), sleep=0.001)
            except _Overtaken:
                source.backup(copy)
            copy.execute("PRAGMA journal_mode = TRUNCATE")
        examine(beside)
        _flush(beside)
        os.link(beside, target)  # never over a file that came meanwhile
        _flush(target.parent)
        return target.stat().st_size
    except sqlite3.Error as error:
        raise StoreError(
            f"{store.url} could not be copied: {error}; nothing was written to {target}"
        ) from error
    except FileExistsError:
        raise UsageError(f"{target} is there already; a backup overwrites nothing") from None
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)
        beside.with_name(f"{beside.name}-journal").unlink(missing_ok=True)


def _give_up_when_overtaken() -> Callable[[int, int, int], None]:
    """Told of what remains after each step: it grows where the copy had to begin anew."""
    least, restarts = [1 << 62], [0]

    def progress(_: int, remaining: int, __: int) -> None:
        if remaining > least[0]:
            restarts[0] += 1
            if restarts[0] > _RESTARTS:
                raise _Overtaken
        least[0] = remaining

    return progress


def refuse_server(store: Store, target: Path) -> NoReturn:
    """`UsageError` with the commands that back a PostgreSQL database up and restore it."""
    dump = shlex.join(["pg_dump", "--format=custom", "--no-owner", f"--file={target}", store.url])
    load = shlex.join(
        ["pg_restore", "--no-owner", "--clean", "--if-exists", f"--dbname={store.url}", str(target)]
    )
    raise UsageError(
        f"a PostgreSQL database is backed up by its own tools, consistent while the service runs: {dump} "
        f"(and, with the service stopped, {load}); one agent by `retro export`"
    )


def examine(path: Path) -> None:
    """Raise where a file is no sound database of ours, or one of a newer version: `InputError`, `NewerSchemaError`."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    try:
        with closing(_opened(path, "ro")) as conn:
            if conn.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                raise InputError(f"{path} is not a database of this program")
            verdict = conn.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if verdict != "ok":
                raise InputError(f"{path} is damaged: {str(verdict).splitlines()[0]}")
            orphan = conn.execute("PRAGMA foreign_key_check").fetchone()
            if orphan is not None:
                raise InputError(
                    f"{path} is damaged: a row of {orphan[0]} names one of {orphan[2]} that is not there"
                )
            applied = dict(conn.execute("SELECT component, version FROM schema_version"))
    except sqlite3.Error as error:
        raise InputError(f"{path} is no sound SQLite database: {error}") from error
    for component, version in applied.items():
        supported = len(COMPONENTS.get(component, ()))
        if version > supported:
            raise NewerSchemaError(
                f"{path} was written by a newer version of this program ({component} schema {version}, known here: "
                f"{supported}); upgrade slow-mirror"
            )


def put_in_place(source: Path, database: Path, aside: Path) -> None:
    """Let a copy of `source` be the database; what was there goes on as `aside`. At no instant is there no database.

    The caller has made sure that no service works on it. Whoever else writes at this moment is waited for.
    """
    examine(source)
    database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = database.with_name(f".{database.name}.restored")
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as copy, source.open("rb") as original:
            shutil.copyfileobj(original, copy, 1 << 20)
            copy.flush()
            os.fsync(copy.fileno())
        examine(beside)  # as it lies there now
        with _nobody_writes(database):
            _set_aside(database, aside)
            beside.replace(database)
            _flush(database.parent)
    except sqlite3.Error as error:
        raise StoreError(f"{database} is held by another process: {error}; nothing was changed") from error
    except OSError as error:
        raise StoreError(
            f"{database} cannot be restored: {error.strerror or error}; the old one is there"
        ) from error
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def _nobody_writes(database: Path) -> Iterator[None]:
    """Hold the database for oneself; what a killed writer left half is taken back. A damaged one nobody can hold."""
    if not database.exists():
        yield
        return
    with closing(_opened(database, "rw")) as conn:
        try:
            conn.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            if (getattr(error, "sqlite_errorcode", 0) & 0xFF) == sqlite3.SQLITE_BUSY:
                raise
        yield


def _set_aside(database: Path, aside: Path) -> None:
    """The old file under another name, by a second link, and a journal that it cannot do without beside it."""
    if not database.exists():
        return
    os.link(database, aside)
    journal = database.with_name(f"{database.name}-journal")
    if journal.exists() and journal.stat().st_size:
        journal.replace(aside.with_name(f"{aside.name}-journal"))


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=_PATIENCE_S, isolation_level=None
    )


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
