"""What stands in the way of a database is told in one line, and nothing is lost or overwritten."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from retro.errors import StoreError
from retro.store import schema as tables
from retro.store.database import Store, open_store
from retro.store.facts import events as facts
from tests.worlds.databases import names, note


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


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"agent,at,price\n" * 100, "is not a SQLite database"),
        (b"x", "is not a SQLite database"),
        (b"SQLite format 3\0" + bytes(200), "is not a SQLite database"),
    ],
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    path = tmp_path / "notes.csv"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=sentence):
        open_store(str(path))
    assert path.read_bytes() == content


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_a_truncated_database_is_refused_and_left_alone(tmp_path: Path, share: float) -> None:
    path = tmp_path / "retro.db"
    note(open_store(str(path)), "bot")
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(StoreError, match=r"is damaged|is not a SQLite database"):
        open_store(str(path))
    assert path.stat().st_size == int(len(content) * share)


def test_a_strangers_database_gets_no_tables_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "tradesv3.sqlite"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE trades (id INTEGER)")
    other.close()
    content = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        open_store(str(path))
    assert path.read_bytes() == content


def test_a_directory_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a directory"):
        open_store(str(tmp_path))


@pytest.mark.parametrize(
    "location", ["/dev/null", "/dev/null/retro.db", "/proc/nowhere/retro.db", "a\0b", ":memory:", ""]
)
def test_a_place_where_no_file_can_be_is_refused_in_one_line(location: str) -> None:
    with pytest.raises(StoreError) as refused:
        open_store(location)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("url", ["mysql://u@h/d", "postgresql://h:port/d", "http://[", "file://x"])
def test_other_urls_are_refused_in_one_line(url: str) -> None:
    with pytest.raises(StoreError) as refused:
        open_store(url)
    assert len(str(refused.value).splitlines()) == 1


def test_an_unreachable_server_is_told_without_the_password() -> None:
    with pytest.raises(StoreError, match="reports:") as refused:
        open_store("postgresql://bot:secret@127.0.0.1:1/x")
    assert "secret" not in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_a_server_that_does_not_know_its_texts_encoding_is_refused_in_one_line(postgres_server: str) -> None:
    name = f"ascii_{os.getpid()}"
    made = f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    with psycopg.connect(postgres_server, autocommit=True) as conn:
        conn.execute(made)
        try:
            with pytest.raises(StoreError, match="SQL_ASCII"):
                open_store(postgres_server.replace("/postgres?", f"/{name}?"))
        finally:
            conn.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_an_unwritable_directory_is_told(open_directory: Path) -> None:
    with as_nobody(), pytest.raises(StoreError, match="cannot be opened: Permission denied"):
        open_store(str(open_directory / "retro.db"))


def test_a_read_only_database_can_be_read_and_says_so_when_written(open_directory: Path) -> None:
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


def test_an_unreadable_database_is_told(open_directory: Path) -> None:
    path = open_directory / "retro.db"
    open_store(str(path))
    path.chmod(0o000)
    with as_nobody(), pytest.raises(StoreError, match="cannot be opened"):
        open_store(str(path))


def test_a_server_that_hangs_up_is_told_and_nothing_is_stored(postgres_url: str) -> None:
    store = open_store(postgres_url)
    with pytest.raises(StoreError, match="reports:"), store.write() as conn:
        facts.note_agent(conn, "bot")
        pid = conn.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        with store.engine.connect() as other:
            other.exec_driver_sql("SELECT pg_terminate_backend(%s)", (pid,))
        facts.note_agent(conn, "second")
    assert names(store) == []  # and the next transaction gets a living connection
    store.close()


def test_a_writer_that_does_not_let_go_is_told_of_and_nothing_is_lost(
    store: Store, database_url: str
) -> None:
    hasty = open_store(database_url, patience_s=0.05)
    with store.write() as conn:
        facts.note_agent(conn, "bot")
        with pytest.raises(StoreError, match="held by another process"):
            note(hasty, "bot")
    note(hasty, "bot")
    assert names(store) == ["bot"]
    hasty.close()


def test_a_full_disk_is_told_and_the_store_goes_on_when_there_is_room(tmp_path: Path) -> None:
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
