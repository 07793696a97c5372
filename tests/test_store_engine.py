"""Opening a database: who may read it, what is refused and how, and that migrations are whole or absent."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, inspect

from retro.errors import NewerSchemaError, StoreError
from retro.store import facts, tables
from retro.store.engine import Store, open_store
from retro.store.migrations import APPLICATION_ID, COMPONENTS

FORK = multiprocessing.get_context("fork")


def run_in_processes(*tasks: Callable[[], object]) -> list[int | None]:
    """Run each task in a process of its own, all at once; their exit codes."""
    started = [FORK.Process(target=task) for task in tasks]
    for process in started:
        process.start()
    for process in started:
        process.join(60)
    return [process.exitcode for process in started]


@contextmanager
def as_nobody() -> Iterator[None]:
    """Lay down root's right to write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that nobody but its owner writes, and everybody may enter."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


def tables_of(store: Store) -> set[str]:
    with store.read() as conn:
        return set(inspect(conn).get_table_names())


def note(store: Store, agent: str) -> None:
    with store.write() as conn:
        facts.note_agent(conn, agent, as_of=1)


def names(store: Store) -> list[str]:
    with store.read() as conn:
        return [agent.name for agent in facts.agents(conn)]


# making and opening


def test_a_new_sqlite_database_belongs_to_its_owner_alone(tmp_path: Path):
    path = tmp_path / "made" / "retro.db"
    store = open_store(str(path))
    assert (store.created, store.path, store.url, store.dialect) == (True, path, str(path), "sqlite")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not open_store(str(path)).created


@pytest.mark.parametrize("spelling", ["{path}", "sqlite:///{path}", "sqlite+pysqlite:///{path}"])
def test_a_path_and_a_url_name_the_same_file(tmp_path: Path, spelling: str):
    path = tmp_path / "räte und tat.db"
    note(open_store(str(path)), "first")
    assert names(open_store(spelling.format(path=path))) == ["first"]


def test_a_file_name_with_the_signs_of_a_url_is_still_a_file_name(tmp_path: Path):
    note(open_store(str(tmp_path / "a?mode=memory#x%41.db")), "bot")
    assert [path.name for path in tmp_path.iterdir() if path.stat().st_size] == ["a?mode=memory#x%41.db"]


def test_a_database_is_not_made_where_none_is_wanted(tmp_path: Path):
    with pytest.raises(StoreError, match="there is no database at"):
        open_store(str(tmp_path / "absent.db"), create=False)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_a_new_database(tmp_path: Path):
    """What a process killed between making the file and its first table leaves behind."""
    path = tmp_path / "retro.db"
    path.touch()
    note(open_store(str(path)), "bot")
    assert names(open_store(str(path))) == ["bot"]


def test_sqlite_runs_as_the_house_demands(tmp_path: Path):
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


def test_a_database_left_in_wal_mode_comes_back_to_a_rollback_journal(tmp_path: Path):
    path = tmp_path / "retro.db"
    note(open_store(str(path)), "bot")
    other = sqlite3.connect(path)
    other.execute("PRAGMA journal_mode = WAL")
    other.close()
    note(open_store(str(path)), "second")
    assert path.read_bytes()[18:20] == b"\1\1"  # the header's read and write versions: 2 would be WAL


def test_the_tables_are_those_the_queries_know(store: Store):
    with store.read() as conn:
        found = inspect(conn)
        assert set(found.get_table_names()) >= set(tables.metadata.tables)
        for table in tables.metadata.tables.values():
            columns = {column["name"]: column for column in found.get_columns(table.name)}
            assert list(columns) == [column.name for column in table.columns], table.name
            for column in table.columns:
                if not column.primary_key:
                    assert columns[column.name]["nullable"] is column.nullable, f"{table.name}.{column.name}"


# transactions


def test_a_block_that_raises_leaves_nothing(store: Store):
    with pytest.raises(ZeroDivisionError), store.write() as conn:
        facts.note_agent(conn, "bot")
        raise ZeroDivisionError
    assert names(store) == []


def test_a_read_cannot_write(store: Store):
    with pytest.raises(StoreError), store.read() as conn:
        facts.note_agent(conn, "bot")
    assert names(store) == []


def test_a_read_sees_one_state(store: Store):
    """PostgreSQL lets the writer pass, SQLite makes it wait; the reader sees the same twice on both."""
    note(store, "first")
    if store.dialect == "sqlite":
        return
    with store.read() as conn:
        before = facts.agents(conn)
        note(store, "second")
        assert facts.agents(conn) == before
    assert names(store) == ["first", "second"]


def test_money_keeps_every_digit(store: Store):
    capital = Decimal("12345678901234567890123456789.000000000000000000000000000001")
    with store.write() as conn:
        facts.note_agent(conn, "bot", capital=capital)
    with store.read() as conn:
        assert facts.agents(conn)[0].capital == capital


# what is refused


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"agent,at,price\n" * 100, "is not a SQLite database"),
        (b"x", "is not a SQLite database"),
        (b"SQLite format 3\0" + bytes(200), "is not a SQLite database"),
    ],
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes, sentence: str):
    path = tmp_path / "notes.csv"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=sentence):
        open_store(str(path))
    assert path.read_bytes() == content


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_a_truncated_database_is_refused_and_left_alone(tmp_path: Path, share: float):
    path = tmp_path / "retro.db"
    note(open_store(str(path)), "bot")
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(StoreError, match=r"is damaged|is not a SQLite database"):
        open_store(str(path))
    assert path.stat().st_size == int(len(content) * share)


def test_a_strangers_database_gets_no_tables_of_ours(tmp_path: Path):
    path = tmp_path / "tradesv3.sqlite"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE trades (id INTEGER)")
    other.close()
    content = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        open_store(str(path))
    assert path.read_bytes() == content


def test_a_directory_is_no_database(tmp_path: Path):
    with pytest.raises(StoreError, match="is a directory"):
        open_store(str(tmp_path))


@pytest.mark.parametrize(
    "location", ["/dev/null", "/dev/null/retro.db", "/proc/nowhere/retro.db", "a\0b", ":memory:", ""]
)
def test_a_place_where_no_file_can_be_is_refused_in_one_line(location: str):
    with pytest.raises(StoreError) as refused:
        open_store(location)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("url", ["mysql://u@h/d", "postgresql://h:port/d", "http://[", "file://x"])
def test_other_urls_are_refused_in_one_line(url: str):
    with pytest.raises(StoreError) as refused:
        open_store(url)
    assert len(str(refused.value).splitlines()) == 1


def test_an_unreachable_server_is_told_without_the_password():
    with pytest.raises(StoreError, match="reports:") as refused:
        open_store("postgresql://bot:secret@127.0.0.1:1/x")
    assert "secret" not in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_an_unwritable_directory_is_told(open_directory: Path):
    with as_nobody(), pytest.raises(StoreError, match="cannot be opened: Permission denied"):
        open_store(str(open_directory / "retro.db"))


def test_a_read_only_database_can_be_read_and_says_so_when_written(open_directory: Path):
    path = open_directory / "retro.db"
    note(open_store(str(path)), "bot")
    path.chmod(0o444)
    open_directory.chmod(0o555)
    with as_nobody():
        store = open_store(str(path))
        assert names(store) == ["bot"]
        with pytest.raises(StoreError, match="cannot be written"):
            note(store, "second")
    open_directory.chmod(0o755)


def test_an_unreadable_database_is_told(open_directory: Path):
    path = open_directory / "retro.db"
    open_store(str(path))
    path.chmod(0o000)
    with as_nobody(), pytest.raises(StoreError, match="cannot be opened"):
        open_store(str(path))


def test_a_server_that_hangs_up_is_told_and_nothing_is_stored(postgres_url: str):
    store = open_store(postgres_url)
    with pytest.raises(StoreError, match="reports:"), store.write() as conn:
        facts.note_agent(conn, "bot")
        pid = conn.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        with store.engine.connect() as other:
            other.exec_driver_sql("SELECT pg_terminate_backend(%s)", (pid,))
        facts.note_agent(conn, "second")
    assert names(store) == []  # and the next transaction gets a living connection
    store.close()


def test_a_writer_that_does_not_let_go_is_told_of_and_nothing_is_lost(store: Store, database_url: str):
    hasty = open_store(database_url, patience_s=0.05)
    with store.write() as conn:
        facts.note_agent(conn, "first")
        with pytest.raises(StoreError, match="held by another process"):
            note(hasty, "second")
    note(hasty, "second")
    assert names(store) == ["first", "second"]
    hasty.close()


def test_a_full_disk_is_told_and_the_store_goes_on_when_there_is_room(tmp_path: Path):
    store = open_store(str(tmp_path / "retro.db"))
    rows = [{"name": f"half-{i}", "events": 0} for i in range(2000)]
    with (
        pytest.raises(StoreError, match="the disk is full; nothing of this step was stored"),
        store.write() as conn,
    ):
        pages = conn.exec_driver_sql("PRAGMA page_count").scalar_one()
        conn.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}")
        conn.execute(tables.agents.insert(), rows)
    assert names(store) == []
    note(store, "bot")
    assert names(store) == ["bot"]


# migrations


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


def test_a_migration_killed_halfway_is_absent_and_runs_again(database_url: str):
    killed = run_in_processes(lambda: open_store(database_url, components=_probe(_one, _dies)))
    assert killed == [9]
    before = open_store(database_url, components=_probe(_one))
    assert "probe_one" in tables_of(before)
    assert "probe_two" not in tables_of(before)
    after = open_store(database_url, components=_probe(_one, _two))
    with after.read() as conn:
        assert conn.exec_driver_sql("SELECT x FROM probe_one").scalars().all() == [2]
        assert dict(map(tuple, conn.exec_driver_sql("SELECT component, version FROM schema_version"))) == {
            **{component: len(steps) for component, steps in COMPONENTS.items()},
            "probe": 2,
        }
    before.close()
    after.close()


def test_a_migration_that_fails_is_absent(database_url: str):
    def fails(conn: Connection) -> None:
        _two(conn)
        raise StoreError("no")

    with pytest.raises(StoreError, match="no"):
        open_store(database_url, components=_probe(_one, fails))
    store = open_store(database_url, components=_probe(_one))
    assert "probe_two" not in tables_of(store)
    store.close()


@pytest.mark.parametrize("component", ["retro", "a component of the future"])
def test_a_newer_schema_is_refused_without_a_write(store: Store, database_url: str, component: str):
    with store.write() as conn:
        conn.exec_driver_sql("DELETE FROM schema_version")
        conn.execute(tables.schema_version.insert().values(component=component, version=99))
    content = store.path.read_bytes() if store.path else b""
    with pytest.raises(NewerSchemaError, match="upgrade slow-mirror"):
        open_store(database_url, components=_probe(_one))
    assert "probe_one" not in tables_of(store)
    assert (store.path.read_bytes() if store.path else b"") == content


def test_many_processes_may_migrate_at_once(database_url: str):
    def migrates() -> None:
        open_store(database_url, components=_probe(_one, _two)).close()

    assert run_in_processes(*[migrates] * 4) == [0] * 4
    store = open_store(database_url, components=_probe(_one, _two))
    with store.read() as conn:
        assert conn.exec_driver_sql("SELECT x FROM probe_one").scalars().all() == [2]
    store.close()


def test_a_process_killed_in_a_transaction_leaves_nothing_of_it(store: Store, database_url: str):
    note(store, "first")

    def dies() -> None:
        with open_store(database_url).write() as conn:
            facts.note_agent(conn, "half")
            os._exit(9)

    assert run_in_processes(dies) == [9]
    assert names(store) == ["first"]


def test_a_crash_after_pages_were_written_is_rolled_back(tmp_path: Path):
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


def test_opening_a_file_loads_neither_the_mapper_nor_the_other_database(tmp_path: Path):
    """What a command pays before it has done anything."""
    code = (
        "import sys; from retro.store import facts; from retro.store.engine import open_store;"
        "open_store(sys.argv[1]);"
        "open_store(sys.argv[1]).close();"
        "print(*sorted({'sqlalchemy.orm', 'sqlalchemy.dialects.postgresql', 'psycopg', 'numpy'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "x.db")], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == []


def test_the_steps_of_the_memory_are_known_without_loading_it():
    from memory import MIGRATIONS as steps

    assert [number for number, _ in steps] == list(range(1, len(COMPONENTS["memory"]) + 1))


def test_opening_a_database_that_is_up_to_date_does_not_load_the_memory(tmp_path: Path):
    open_store(str(tmp_path / "x.db")).close()
    code = (
        "import sys; from retro.store.engine import open_store; open_store(sys.argv[1]);"
        "print(*sorted(name for name in sys.modules if name.split('.')[0] == 'memory'))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "x.db")], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == []


def test_a_strangers_memory_package_is_named_in_one_sentence(tmp_path: Path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "__init__.py").write_text("")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from retro.store.engine import open_store\n"
        "try: open_store(sys.argv[1] + '/x.db')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith("StoreError another package named `memory`")
