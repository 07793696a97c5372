"""Opening a database, and transactions that say what they are for. Nothing else in the house opens one.

SQLite runs with a rollback journal whatever the library's age: WAL has a corruption bug with several writers before
3.51.3, and a database in WAL mode cannot be read from a read-only medium.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from sqlalchemy import NullPool, QueuePool, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    DisconnectionError,
    IntegrityError,
    ProgrammingError,
)

from retro.errors import StoreError
from retro.store.migrations.runner import APPLICATION_ID, COMPONENTS, Migration, apply, pending

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import URL, Connection, Engine
    from sqlalchemy.pool import ConnectionPoolEntry

__all__ = ["Store", "is_there", "open_store"]

_PATIENCE_S: Final = 30.0
"""How long a transaction waits for another process before it gives up, unless told otherwise."""

_PRAGMAS: Final = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_mode = TRUNCATE",
    "PRAGMA synchronous = FULL",
    "PRAGMA cache_size = -65536",  # 64 MiB: what an index of a million rows needs while it grows
)
_POOL_PRAGMA: Final = "PRAGMA cache_size = -8192"
_POOL: Final = 4
"""Connections to a file that are kept at most; each remembers the tables, and the pages that are read again and again."""

_SNAPSHOT: Final = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
"""How a server begins a transaction that reads: with its first word, for there are many short ones."""

_SETTLED_NS: Final = 1_000_000_000

_SMALLEST_PAGE: Final = 512

_PERMISSION_DENIED, _TABLE_EXISTS, _LOCK_TIMEOUT = "42501", "42P07", "55P03"

_BUSY: Final = "is held by another process that did not let go in time; try again"

_SENTENCES: Final = {
    sqlite3.SQLITE_NOTADB: "is not a SQLite database",
    sqlite3.SQLITE_CORRUPT: "is damaged (cut short or overwritten); restore it from a copy",
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_READONLY: "cannot be written; check the permissions of the file and its directory",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check the permissions of the file and its directory",
    sqlite3.SQLITE_FULL: "could not grow: the disk is full; nothing of this step was stored",
    sqlite3.SQLITE_IOERR: "could not be read or written: the disk reports an error; nothing of this step was stored",
}


@dataclass(frozen=True, slots=True)
class Store:
    """An open database. `url` is for people (no password); `created` says that this call made the file."""

    engine: Engine
    url: str
    dialect: Literal["sqlite", "postgresql"]
    path: Path | None
    created: bool = False

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction that may write: committed when the block ends, rolled back when it raises."""
        with self._transaction(writes=True) as conn:
            yield conn

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One read-only transaction that sees a single state of the database."""
        with self._transaction(writes=False) as conn:
            yield conn

    def state(self, now: int) -> tuple[int, ...] | None:
        """What is another after every commit, `now` (microseconds) known; None of a server, and of a file just written.

        Two commits of one tick of the clock leave the same time behind: only a second after the last is it trusted.
        """
        if self.path is None:
            return None
        try:
            file = self.path.stat()
        except OSError:  # it is gone: whoever reads it will say so
            return None
        if now * 1000 - file.st_mtime_ns < _SETTLED_NS:
            return None
        return file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns

    def detached(self) -> Any:
        """A connection of the driver's own, for a library that speaks to the database itself; its user closes it."""
        pooled = self.engine.raw_connection()
        connection = pooled.driver_connection
        pooled.detach()
        return connection

    def close(self) -> None:
        """Let go of every connection."""
        self.engine.dispose()

    @contextmanager
    def _transaction(self, *, writes: bool) -> Iterator[Connection]:
        try:
            options = {"retro_writes": writes} | (_SNAPSHOT if self.path is None and not writes else {})
            with self.engine.connect().execution_options(**options) as conn, conn.begin():
                yield conn
        except DBAPIError as error:
            if _is_ours(error):
                raise
            raise StoreError(f"{self.url} {_sentence(error)}") from error


def open_store(
    location: str,
    *,
    create: bool = True,
    pool: bool = False,
    patience_s: float = _PATIENCE_S,
    components: Mapping[str, Sequence[Migration]] = COMPONENTS,
) -> Store:
    """Open the database at a path or URL and bring its tables up to date; `StoreError` says what stands in the way.

    A SQLite file that is not there is made, with its directory, unless `create` is False. `pool`: connections to it are
    used again, by a process that answers many short questions and starts none of its own.
    """
    url = _url_of(location)
    if url.drivername == "sqlite":
        store = _open_sqlite(url.database or "", patience_s, create=create, pool=pool)
    else:
        store = _open_postgresql(url, patience_s)
    try:
        _migrate(store, components)
    except BaseException:
        store.close()
        raise
    return store


def is_there(location: str) -> bool:
    """Whether there is a database to open at a path or URL; a server counts as one, whether or not it answers."""
    url = _url_of(location)
    return url.drivername != "sqlite" or Path(url.database or "").expanduser().is_file()


def _migrate(store: Store, components: Mapping[str, Sequence[Migration]]) -> None:
    while True:  # asked again each time: another process may be migrating too, and may be a newer one
        with store.read() as conn:
            if store.dialect == "sqlite":
                _refuse_strangers(conn, store.url)
            steps = pending(conn, store.url, components)
        if not steps:
            return
        new = len(steps) == sum(map(len, components.values()))
        with store.write() as conn:  # each step is whole or absent, and so is a new database as a whole
            for component, number in steps if new else steps[:1]:
                apply(conn, component, number, components[component][number - 1])


def _url_of(location: str) -> URL:
    """A URL of one of the two databases; anything without a scheme is a path."""
    scheme, separator, _ = location.partition("://")
    if not separator:
        return make_url("sqlite://").set(database=location)
    try:
        url = make_url(location)
    except (ArgumentError, ValueError):
        raise StoreError(f"the database URL that starts with {scheme}:// cannot be read") from None
    if url.drivername in {"sqlite", "sqlite+pysqlite"}:
        return url.set(drivername="sqlite")
    if url.drivername in {"postgresql", "postgres", "postgresql+psycopg"}:
        return url.set(drivername="postgresql+psycopg")
    raise StoreError(
        f"there is no store for {scheme}://; use a path (SQLite) or postgresql://user@host/database"
    )


# SQLite


def _open_sqlite(location: str, patience_s: float, *, create: bool, pool: bool) -> Store:
    if location in {"", ":memory:"}:
        raise StoreError("a database needs a path: the store lives in a file")
    path = Path(location).expanduser().absolute()
    try:
        created = _prepare_file(path, create=create)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise StoreError(f"{path} cannot be opened: {reason}") from error

    def connect() -> sqlite3.Connection:
        conn = sqlite3.connect(
            f"{path.as_uri()}?mode=rw",  # never makes a file: one that vanished is an error, not a new life
            uri=True,
            timeout=patience_s,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            for pragma in (*_PRAGMAS, _POOL_PRAGMA) if pool else _PRAGMAS:
                conn.execute(pragma)
        except sqlite3.Error:
            conn.close()
            raise
        return conn

    if pool:
        engine = create_engine(
            "sqlite://", creator=connect, poolclass=QueuePool, pool_size=_POOL, max_overflow=-1
        )
        _watch_file(engine, path)
    else:
        engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)
    event.listen(engine, "begin", _begin_sqlite)
    return Store(engine, str(path), "sqlite", path, created)


def _watch_file(engine: Engine, path: Path) -> None:
    """Have no kept connection used on that is of another file than the one that lies there now, such as a copy put back."""

    def file() -> tuple[int, int] | None:
        try:
            state = path.stat()
        except OSError:
            return None
        return state.st_dev, state.st_ino

    def note(_: Any, record: ConnectionPoolEntry) -> None:
        record.info["file"] = file()

    def check(_: Any, record: ConnectionPoolEntry, __: Any) -> None:
        if record.info["file"] != file():
            raise DisconnectionError

    event.listen(engine, "connect", note)
    event.listen(engine, "checkout", check)


def _prepare_file(path: Path, *, create: bool) -> bool:
    """Make sure that there is a file, readable by its owner alone when it is new; True when it is new."""
    if path.exists():
        if not path.is_file():
            raise StoreError(
                f"{path} is {'a directory' if path.is_dir() else 'no regular file'}, not a database"
            )
        if 0 < path.stat().st_size < _SMALLEST_PAGE:  # SQLite would take it for empty and write over it
            raise StoreError(f"{path} is not a SQLite database")
        return False
    if not create:
        raise StoreError(f"there is no database at {path}")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:  # another process was quicker
        return False
    return True


def _begin_sqlite(conn: Connection) -> None:
    writes = conn.get_execution_options().get("retro_writes", True)
    conn.exec_driver_sql(f"PRAGMA query_only = {'OFF' if writes else 'ON'}")
    conn.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _refuse_strangers(conn: Connection, url: str) -> None:
    """Never add tables to somebody else's database, such as a bot's own."""
    if conn.exec_driver_sql("PRAGMA application_id").scalar_one() == APPLICATION_ID:
        return
    if conn.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one():
        raise StoreError(f"{url} is a database of another program; give the store a file of its own")


# PostgreSQL


def _open_postgresql(url: URL, patience_s: float) -> Store:
    display_url = url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
    settings: dict[str, Any] = {
        "connect_timeout": 10,
        "keepalives_idle": 30,
        "tcp_user_timeout": 30_000,  # ms; a partitioned server is noticed
        "application_name": "retro",
        "client_encoding": "utf8",
    }
    for option in url.query:
        settings.pop(option, None)
    try:
        engine = create_engine(url, connect_args=settings, pool_pre_ping=True)
    except ModuleNotFoundError as error:
        raise StoreError('PostgreSQL needs a driver: pip install "slow-mirror[postgres]"') from error

    def begin(conn: Connection) -> None:
        if conn.get_execution_options().get("retro_writes", True):
            conn.exec_driver_sql(f"SET LOCAL lock_timeout = {round(patience_s * 1000)}")

    def connect(conn: Any, _: object) -> None:
        if conn.info.parameter_status("server_encoding") == "SQL_ASCII":
            raise StoreError(
                f"{display_url} does not know its text's encoding (SQL_ASCII): CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
            )

    event.listen(engine, "connect", connect)
    event.listen(engine, "begin", begin)
    return Store(engine, display_url, "postgresql", None)


# What went wrong, in words


def _is_ours(error: DBAPIError) -> bool:
    """A broken rule of a table or a statement that does not parse is a fault of this program: shown in full."""
    if getattr(error.orig, "sqlstate", None) in {_PERMISSION_DENIED, _TABLE_EXISTS}:
        return False
    return isinstance(error, (IntegrityError, ProgrammingError))


def _sentence(error: DBAPIError) -> str:
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None and code & 0xFF in _SENTENCES:
        return _SENTENCES[code & 0xFF]
    if getattr(error.orig, "sqlstate", None) == _LOCK_TIMEOUT:
        return _BUSY
    lines = str(error.orig).strip().splitlines() or [type(error.orig).__name__]
    return f"reports: {lines[0]}"
