"""Migrations are whole or absent, made once among many, and a newer schema is left alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection

from retro.errors import NewerSchemaError, StoreError
from retro.store import schema as tables
from retro.store.database import Store, open_store
from retro.store.migrations.runner import COMPONENTS
from tests.worlds.databases import run_in_processes, tables_of


def _one(conn: Connection) -> None:
    conn.exec_driver_sql("CREATE TABLE probe_one (x INTEGER)")


def _two(conn: Connection) -> None:
    conn.exec_driver_sql("CREATE TABLE probe_two (x INTEGER)")
    conn.exec_driver_sql("INSERT INTO probe_one VALUES (2)")


def _dies(conn: Connection) -> None:
    _two(conn)
    os._exit(9)


def _probe(*steps: Callable[[Connection], None]) -> dict[str, Any]:
    return {**COMPONENTS, "probe": steps}


def test_a_migration_killed_halfway_is_absent_and_runs_again(new_database_url: str) -> None:
    killed = run_in_processes(lambda: open_store(new_database_url, components=_probe(_one, _dies)))
    assert killed == [9]
    before = open_store(new_database_url, components=_probe(_one))
    assert "probe_one" in tables_of(before)
    assert "probe_two" not in tables_of(before)
    after = open_store(new_database_url, components=_probe(_one, _two))
    with after.read() as conn:
        assert conn.exec_driver_sql("SELECT x FROM probe_one").scalars().all() == [2]
        assert dict(map(tuple, conn.exec_driver_sql("SELECT component, version FROM schema_version"))) == {
            **{component: len(steps) for component, steps in COMPONENTS.items()},
            "probe": 2,
        }
    before.close()
    after.close()


def test_a_migration_that_fails_is_absent(new_database_url: str) -> None:
    def fails(conn: Connection) -> None:
        _two(conn)
        raise StoreError("no")

    with pytest.raises(StoreError, match="no"):
        open_store(new_database_url, components=_probe(_one, fails))
    store = open_store(new_database_url, components=_probe(_one))
    assert "probe_two" not in tables_of(store)
    store.close()


@pytest.mark.parametrize("component", ["retro", "a component of the future"])
def test_a_newer_schema_is_refused_without_a_write(store: Store, database_url: str, component: str) -> None:
    with store.write() as conn:
        conn.exec_driver_sql("DELETE FROM schema_version")
        conn.execute(tables.schema_version.insert().values(component=component, version=99))
    content = store.path.read_bytes() if store.path else b""
    with pytest.raises(NewerSchemaError, match="upgrade slow-mirror"):
        open_store(database_url, components=_probe(_one))
    assert "probe_one" not in tables_of(store)
    assert (store.path.read_bytes() if store.path else b"") == content


def test_many_processes_may_migrate_at_once(new_database_url: str) -> None:
    def migrates() -> None:
        open_store(new_database_url, components=_probe(_one, _two)).close()

    assert run_in_processes(*[migrates] * 4) == [0] * 4
    store = open_store(new_database_url, components=_probe(_one, _two))
    with store.read() as conn:
        assert conn.exec_driver_sql("SELECT x FROM probe_one").scalars().all() == [2]
    store.close()


def test_the_steps_of_the_memory_are_known_without_loading_it() -> None:
    from memory import MIGRATIONS

    assert [number for number, _ in MIGRATIONS] == list(range(1, len(COMPONENTS["memory"]) + 1))
