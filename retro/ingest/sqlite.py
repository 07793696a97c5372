"""A foreign SQLite database, read from a private copy so that its owner never waits for us.

Source: https://www.sqlite.org/wal.html for what a reader of a WAL database may create beside it.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retro.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BUSY_SECONDS", "open_copy", "open_for_a_look"]

BUSY_SECONDS: Final = 5.0
_BESIDE: Final = ("", "-wal", "-journal")
_WAL_FORMAT: Final = 2
"""Byte 18 of the file: the version a writer must know."""


@contextmanager
def open_copy(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a consistent private copy of the database; every way it can fail is one `InputError`.

    The copy is made in one step under SQLite's own read lock, so a bot that writes is not held up by a slow reader.
    A database nobody has open is copied as a file: opening one in WAL mode would leave files beside it.
    """
    path = path.resolve()
    with tempfile.TemporaryDirectory(prefix="retro-") as room:
        copy = Path(room) / "copy.sqlite"
        try:
            _copy(path, copy)
            with closing(sqlite3.connect(copy)) as connection:
                connection.text_factory = lambda raw: raw.decode(errors="replace")
                _check(connection, path)
                yield connection
        except sqlite3.Error as error:
            raise InputError(_sentence(path, error)) from error
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


@contextmanager
def open_for_a_look(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to the database where it lies, for a few pages of it; `sqlite3.Error` where it cannot be had.

    It leaves nothing beside the file, and what stands in a WAL that a crash left may be missing.
    """
    path = path.absolute()
    with path.open("rb") as file:
        is_unused = _is_wal(file.read(20)) and not _beside(path, "-shm").exists()
    how = "immutable=1" if is_unused else "mode=ro"
    with closing(sqlite3.connect(f"{path.as_uri()}?{how}", uri=True, timeout=1)) as connection:
        yield connection


def _is_wal(header: bytes) -> bool:
    return header[18:19] == bytes([_WAL_FORMAT])


def _copy(path: Path, copy: Path) -> None:
    with path.open("rb") as file:
        header = file.read(20)
        page = int.from_bytes(header[16:18], "big")
        if page > 1 and path.stat().st_size % page:  # SQLite would read the missing end of a page as zeros
            raise InputError(
                f"{path} is damaged or cut short (its last page is not whole): use a backup of it"
            )
    if _is_wal(header) and not _beside(path, "-shm").exists():
        _copy_files(path, copy)
        return
    try:
        _backup(path, copy)
    except sqlite3.OperationalError as error:
        # a journal left by a crash cannot be rolled back by a reader, nor a WAL index be made in a foreign folder
        if not error.sqlite_errorname.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR")):
            raise
        _copy_files(path, copy)


def _backup(path: Path, copy: Path) -> None:
    source = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    with closing(source), closing(sqlite3.connect(copy)) as target:
        target.execute("PRAGMA synchronous = OFF")  # the copy need not outlive a power cut
        source.execute("BEGIN")
        # takes the read lock, or gives up after BUSY_SECONDS: `backup` alone would wait for ever
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        source.backup(target)


def _copy_files(path: Path, copy: Path) -> None:
    for _ in range(3):
        before = _stamps(path)
        for suffix in _BESIDE:
            _beside(copy, suffix).unlink(missing_ok=True)
            if _beside(path, suffix).exists():
                shutil.copyfile(_beside(path, suffix), _beside(copy, suffix))
        if _stamps(path) == before:
            return
    raise InputError(f"{path} keeps changing while it is read: try again in a moment")


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _stamps(path: Path) -> list[tuple[int, int] | None]:
    files = [_beside(path, suffix) for suffix in _BESIDE]
    return [(file.stat().st_size, file.stat().st_mtime_ns) if file.exists() else None for file in files]


def _check(connection: sqlite3.Connection, path: Path) -> None:
    for (verdict,) in connection.execute("PRAGMA quick_check(3)"):
        if verdict != "ok" and not verdict.startswith(("NULL value in", "CHECK constraint failed")):
            raise InputError(f"{path} is damaged ({' '.join(verdict.split())[:120]}): use a backup of it")


def _sentence(path: Path, error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"{path} is locked by another program and stayed so for {BUSY_SECONDS:.0f} s: try again in a moment"
    if name.startswith("SQLITE_NOTADB"):
        return f"{path} is not an SQLite database"
    if name.startswith("SQLITE_CORRUPT"):
        return f"{path} is damaged or cut short ({error}): use a backup of it"
    return f"{path} cannot be read: {error}"
