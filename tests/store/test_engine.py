"""Opening a database and using it: who may read it, what a transaction promises, what opening loads."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from retro.errors import StoreError
from retro.periods import SECOND
from retro.store import schema as tables
from retro.store.database import Store, open_store
from retro.store.facts import events as facts
from retro.store.migrations.runner import APPLICATION_ID
from tests.worlds.databases import hurried, names, note, run_in_processes
from tests.worlds.places import ROOT

# making and opening


def test_a_new_sqlite_database_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "made" / "retro.db"
    store = open_store(str(path))
    assert (store.created, store.path, store.url, store.dialect) == (True, path, str(path), "sqlite")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not open_store(str(path)).created


@pytest.mark.parametrize("spelling", ["{path}", "sqlite:///{path}", "sqlite+pysqlite:///{path}"])
def test_a_path_and_a_url_name_the_same_file(tmp_path: Path, spelling: str) -> None:
    path = tmp_path / "räte und tat.db"
    note(open_store(str(path)), "first")
    assert names(open_store(spelling.format(path=path))) == ["first"]


def test_a_file_name_with_the_signs_of_a_url_is_still_a_file_name(tmp_path: Path) -> None:
    note(open_store(str(tmp_path / "a?mode=memory#x%41.db")), "bot")
    assert [path.name for path in tmp_path.iterdir() if path.stat().st_size] == ["a?mode=memory#x%41.db"]


def test_a_database_is_not_made_where_none_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no database at"):
        open_store(str(tmp_path / "absent.db"), create=False)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_a_new_database(tmp_path: Path) -> None:
    """What a process killed between making the file and its first table leaves behind."""
    path = tmp_path / "retro.db"
    path.touch()
    note(open_store(str(path)), "bot")
    assert names(open_store(str(path))) == ["bot"]


def test_sqlite_runs_as_the_house_demands(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    event.remove(Engine, "connect", hurried)
    request.addfinalizer(lambda: event.listen(Engine, "connect", hurried))
    store = open_store(str(tmp_path / "retro.db"))
    with store.write() as conn:
        settings = {
            name: conn.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "application_id", "busy_timeout")
        }
    assert settings == {
        "journal_mode": "truncate",
        "synchronous": 2,
        "foreign_keys": 1,
        "application_id": APPLICATION_ID,
        "busy_timeout": 30_000,
    }


def test_a_database_left_in_wal_mode_comes_back_to_a_rollback_journal(tmp_path: Path) -> None:
    path = tmp_path / "retro.db"
    note(open_store(str(path)), "bot")
    other = sqlite3.connect(path)
    other.execute("PRAGMA journal_mode = WAL")
    other.close()
    note(open_store(str(path)), "second")
    assert path.read_bytes()[18:20] == b"\1\1"  # the header's read and write versions: 2 would be WAL


# transactions


def test_a_block_that_raises_leaves_nothing(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.write() as conn:
        facts.note_agent(conn, "bot")
        raise ZeroDivisionError
    assert names(store) == []


def test_a_read_cannot_write(store: Store) -> None:
    with pytest.raises(StoreError), store.read() as conn:
        facts.note_agent(conn, "bot")
    assert names(store) == []


def test_a_read_sees_one_state(store: Store) -> None:
    """PostgreSQL lets the writer pass, SQLite makes it wait; the reader sees the same twice on both."""
    note(store, "first")
    if store.dialect == "sqlite":
        return
    with store.read() as conn:
        before = facts.agents(conn)
        note(store, "second")
        assert facts.agents(conn) == before
    assert names(store) == ["first", "second"]


def test_money_keeps_every_digit(store: Store) -> None:
    capital = Decimal("12345678901234567890123456789.000000000000000000000000000001")
    with store.write() as conn:
        facts.note_agent(conn, "bot", capital=capital)
    with store.read() as conn:
        assert facts.agents(conn)[0].capital == capital


def test_a_process_killed_in_a_transaction_leaves_nothing_of_it(store: Store, database_url: str) -> None:
    note(store, "first")

    def dies() -> None:
        with open_store(database_url).write() as conn:
            facts.note_agent(conn, "half")
            os._exit(9)

    assert run_in_processes(dies) == [9]
    assert names(store) == ["first"]


def test_a_crash_after_pages_were_written_is_rolled_back(tmp_path: Path) -> None:
    """The state that a power cut leaves: pages of an unfinished transaction in the file, their originals beside it."""
    store = open_store(str(tmp_path / "retro.db"))
    note(store, "first")
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    with store.write() as conn:
        conn.exec_driver_sql("PRAGMA cache_size = 5")
        rows = [{"name": f"half-{i}", "events": 0} for i in range(2000)]
        conn.execute(tables.agents.insert(), rows)
        for path in tmp_path.glob("retro.db*"):
            shutil.copy(path, crashed)
    assert (crashed / "retro.db").read_bytes().count(b"half-") > 100, "nothing had been written yet"
    assert names(open_store(str(crashed / "retro.db"))) == ["first"]
    assert len(names(store)) == 2001


# what opening loads


def test_opening_a_file_loads_neither_the_mapper_nor_the_other_database(tmp_path: Path) -> None:
    """What a command pays before it has done anything."""
    code = (
        "import sys; from retro.store import facts; from retro.store.database import open_store;"
        "open_store(sys.argv[1]);"
        "open_store(sys.argv[1]).close();"
        "print(*sorted({'sqlalchemy.orm', 'sqlalchemy.dialects.postgresql', 'psycopg', 'numpy'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "x.db")], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == []


def test_opening_a_database_that_is_up_to_date_does_not_load_the_memory(tmp_path: Path) -> None:
    open_store(str(tmp_path / "x.db")).close()
    code = (
        "import sys; from retro.store.database import open_store; open_store(sys.argv[1]);"
        "print(*sorted(name for name in sys.modules if name.split('.')[0] == 'memory'))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "x.db")], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == []


def test_a_strangers_memory_package_is_named_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "__init__.py").write_text("")
    code = (
        "from retro.store.database import open_store\n"
        "try: open_store('x.db')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout.startswith("StoreError another package named `memory`")


# connections in a pool, and whether a file was written to


def test_a_file_put_in_place_of_another_is_read_from_then_on(tmp_path: Path) -> None:
    path, other = tmp_path / "mirror.db", tmp_path / "other.db"
    store = open_store(str(path), pool=True)
    shutil.copy(path, other)
    note(store, "ada")
    assert names(store) == ["ada"]
    other.replace(path)
    assert names(store) == []
    path.unlink()
    with pytest.raises(StoreError, match="cannot be opened"):
        names(store)
    assert not path.exists()
    store.close()


def test_a_connection_that_was_read_with_may_write_and_the_other_way_round(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "mirror.db"), pool=True)
    for name in ("ada", "ben"):
        note(store, name)
        with pytest.raises(StoreError, match="cannot be written"), store.read() as conn:
            conn.execute(tables.agents.delete())
    assert names(store) == ["ada", "ben"]
    store.close()


def test_a_commit_changes_the_state_and_a_reading_does_not(tmp_path: Path) -> None:
    path = tmp_path / "mirror.db"
    store = open_store(str(path))

    def state_later() -> object:
        return store.state(path.stat().st_mtime_ns // 1000 + 2 * SECOND)

    before = state_later()
    assert before is not None
    assert names(store) == []
    assert state_later() == before
    note(store, "ada")
    assert state_later() not in (before, None)
    assert store.state(path.stat().st_mtime_ns // 1000) is None
    path.unlink()
    assert store.state(0) is None
    store.close()
