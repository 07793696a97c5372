"""What is done to workers and their database, in small: F3, F5 and F6 of the fleet's test plan.

At full size they are in `tests/fleet_points.py` (every statement) and `tests/fleet_sweep.py` (lines that fall silent too).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event

from retro.app.context import Knock
from retro.app.engine.knocks import answer
from retro.errors import StoreError
from retro.store.database import Store, open_store
from retro.store.locks import bucket_of
from tests.fleet.servers import Servers
from tests.fleet_points import swept
from tests.fleet_sweep import SETTINGS, WHEN, documents, tell
from tests.worlds.service_world import World

AGENTS = ("ash", "birch", "cedar", "elm")


def world_of(store: Store, folder: Path) -> World:
    return World(store, folder, at=WHEN, configuration=SETTINGS)


def answered(store: Store, folder: Path, *names: str) -> dict[str, str]:
    """Answer a knock for each of these agents; the documents that there are then."""
    for name in names:
        answer(world_of(store, folder).bench(alone=False, owner=name), Knock("stream", bucket_of(name)))
    return documents(store)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a SQLite gives that nothing happens to."""
    folder = tmp_path_factory.mktemp("lite")
    store = open_store(str(folder / "lite.db"))
    world = world_of(store, folder)
    tell(world, [*AGENTS])
    world.knock()
    texts = documents(store)
    store.close()
    return texts


def test_f3_killed_at_a_statement_of_its_knock_a_worker_loses_and_doubles_nothing(
    new_postgres_url: str, tmp_path: Path
) -> None:
    """A sample: `python -m tests.fleet_points` takes every statement."""
    sentence = swept(new_postgres_url, tmp_path, step=110)
    (deaths, points) = re.findall(r"killed at (\d+) of (\d+) points: 0 reviews lost", sentence)[0]
    assert int(deaths) == int(points) >= 4, sentence


@contextmanager
def cut_at(store: Store, url: str, number: int) -> Iterator[None]:
    """The server drops the connection that is about to run the n-th statement."""
    statements = 0

    def count(conn: Any, *_: Any) -> None:
        nonlocal statements
        statements += 1
        if statements == number:
            pid = conn.connection.driver_connection.info.backend_pid
            with psycopg.connect(url, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))

    event.listen(store.engine, "before_cursor_execute", count)
    try:
        yield
    finally:
        event.remove(store.engine, "before_cursor_execute", count)


def test_f5_a_line_cut_in_mid_knock_is_an_error_and_who_comes_next_makes_the_rest(
    postgres_url: str, tmp_path: Path, expected: dict[str, str]
) -> None:
    store = open_store(postgres_url)
    tell(world_of(store, tmp_path), [*AGENTS])
    for name, number in zip(AGENTS, (3, 60, 110, 150), strict=True):
        with cut_at(store, postgres_url, number), pytest.raises(StoreError):
            answered(store, tmp_path, name)
    assert answered(store, tmp_path, *AGENTS) == expected
    store.close()


def test_f6_a_failover_to_a_synchronous_standby_loses_no_acknowledged_review(
    expected: dict[str, str],
) -> None:
    with tempfile.TemporaryDirectory() as name:  # of a short name: sockets lie there
        folder = Path(name)
        servers = Servers(folder, standby=True)
        try:
            store = open_store(servers.url)
            tell(world_of(store, folder), [*AGENTS])
            acknowledged = answered(store, folder, *AGENTS[:2])
            servers.fail_over()
            assert documents(store) == acknowledged != {}
            assert answered(store, folder, *AGENTS) == expected
            store.close()
        finally:
            servers.stop()
