"""Connections that are kept: to the file that lies there now, for reading and for writing; and whether it was written to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sqlalchemy import text

from retro.errors import StoreError
from retro.periods import SECOND
from retro.store.database import Store, open_store


def named(store: Store) -> list[str]:
    with store.read() as conn:
        return list(conn.execute(text("SELECT name FROM agents ORDER BY name")).scalars())


def tell(store: Store, name: str) -> None:
    with store.write() as conn:
        conn.execute(text("INSERT INTO agents (name, events, bucket) VALUES (:name, 0, 0)"), {"name": name})


def test_a_file_put_in_place_of_another_is_read_from_then_on(tmp_path: Path) -> None:
    path, other = tmp_path / "mirror.db", tmp_path / "other.db"
    store = open_store(str(path), kept=True)
    shutil.copy(path, other)
    tell(store, "ada")
    assert named(store) == ["ada"]
    other.replace(path)
    assert named(store) == []
    path.unlink()
    with pytest.raises(StoreError, match="cannot be opened"):
        named(store)
    assert not path.exists()
    store.close()


def test_a_connection_that_was_read_with_may_write_and_the_other_way_round(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "mirror.db"), kept=True)
    for name in ("ada", "ben"):
        tell(store, name)
        with pytest.raises(StoreError, match="cannot be written"), store.read() as conn:
            conn.execute(text("DELETE FROM agents"))
    assert named(store) == ["ada", "ben"]
    store.close()


def test_a_commit_changes_the_state_and_a_reading_does_not(tmp_path: Path) -> None:
    path = tmp_path / "mirror.db"
    store = open_store(str(path))

    def state_later() -> object:
        return store.state(path.stat().st_mtime_ns // 1000 + 2 * SECOND)

    before = state_later()
    assert before is not None
    assert named(store) == []
    assert state_later() == before
    tell(store, "ada")
    assert state_later() not in (before, None)
    assert store.state(path.stat().st_mtime_ns // 1000) is None
    path.unlink()
    assert store.state(0) is None
    store.close()
