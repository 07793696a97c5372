"""A backup is one state of the database, whoever writes; a restore puts it back whole, and never under a running service."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from retro.daemon.lock import Instance
from retro.daemon.restore import restore
from retro.errors import BusyError, InputError, NewerSchemaError, RetroError, UsageError
from retro.store.backup import back_up, examine, put_in_place
from retro.store.database import open_store
from tests.app.estate.homes import Home, texts
from tests.syscalls import CAN_TRACE, MODES, traced
from tests.worlds.commands import Retro, retro
from tests.worlds.databases import FORK, note
from tests.worlds.places import ROOT

__all__ = ["retro"]

NOW = 1_772_409_600_000_000


def content(path: Path) -> list[tuple[str, str, str]]:
    store = open_store(str(path))
    rows = sorted(texts(store))
    store.close()
    return rows


def database(path: Path, *agents: str) -> Path:
    store = open_store(str(path))
    for agent in agents:
        note(store, agent)
    store.close()
    return path


def pairs(path: Path, stop: multiprocessing.synchronize.Event) -> None:
    """Write two agents a transaction, without a pause: a copy with an odd number of them was torn."""
    store = open_store(str(path))
    number = 0
    while not stop.is_set():
        with store.write() as conn:
            for half in ("a", "b"):
                conn.exec_driver_sql(
                    "INSERT INTO agents (name, events, base_currency) VALUES (?, 0, ?)",
                    (f"{number}-{half}", "x" * 20_000),
                )
        number += 1
    store.close()


def test_a_copy_while_others_write_is_one_state(tmp_path: Path) -> None:
    """Two transactions are in it whole or not at all, and the writer goes on meanwhile."""
    path = database(tmp_path / "retro.db")
    stop = FORK.Event()
    writer = FORK.Process(target=pairs, args=(path, stop))
    writer.start()
    try:
        store, counts = open_store(str(path)), []
        for number in range(6):
            time.sleep(0.2)
            target = tmp_path / f"copy-{number}.db"
            size = back_up(store, target)
            assert size == target.stat().st_size
            with closing(sqlite3.connect(target)) as copy:
                assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                halves = copy.execute("SELECT count(*) FROM agents WHERE name LIKE '%-a'").fetchone()[0]
                assert copy.execute("SELECT count(*) FROM agents").fetchone()[0] == 2 * halves
            counts.append(halves)
        store.close()
    finally:
        stop.set()
        writer.join()
    assert writer.exitcode == 0
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]


def service_of(home: Home) -> list[str]:
    words = ["--config", str(home.config), "--db", home.url, "run", "--once"]
    return [sys.executable, "-m", "retro", *words]


def test_a_backup_under_a_running_service_restores_to_what_was_reviewed(tmp_path: Path, retro: Retro) -> None:
    """The service reads and reviews two lives while copies are taken; it goes on from a copy and ends as without one."""
    home = Home(tmp_path / "home")
    home.tell("harbor-3", "otter", days=5)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    open_store(home.url).close()
    service = subprocess.Popen(service_of(home), env=env, stderr=subprocess.DEVNULL)
    copies: list[Path] = []
    while service.poll() is None:
        copies.append(tmp_path / f"copy-{len(copies)}.db")
        assert retro("--db", home.url, "backup", copies[-1]).code == 0
    assert service.returncode == 0
    assert len(copies) > 3
    copies.append(tmp_path / "copy-last.db")
    assert retro("--db", home.url, "backup", copies[-1]).code == 0
    whole = home.documents()
    sizes = set()
    for number, copy in enumerate([*copies[:: max(1, len(copies) // 2)], copies[-1]]):
        other = Home(tmp_path / f"other-{number}")
        other.journal.write_bytes(home.journal.read_bytes())
        assert retro("--db", other.url, "restore", copy).code == 0
        sizes.add(len(other.documents()))
        subprocess.run(service_of(other), env=env, check=True, stderr=subprocess.DEVNULL)
        assert other.documents() == whole
    assert len(sizes) > 1


def test_a_backup_overwrites_nothing_and_is_for_its_owner_alone(tmp_path: Path, retro: Retro) -> None:
    path = database(tmp_path / "retro.db", "harbor")
    done = retro("--db", path, "backup", tmp_path / "copy.db", "--json")
    assert done.data == {"file": str(tmp_path / "copy.db"), "bytes": (tmp_path / "copy.db").stat().st_size}
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    again = retro("--db", path, "backup", tmp_path / "copy.db")
    assert (again.code, "overwrites nothing" in again.err) == (2, True)
    assert sorted(name.name for name in tmp_path.iterdir()) == ["copy.db", "retro.db", "retro.db-journal"]


def test_postgresql_is_refused_with_the_command_that_does_it(
    tmp_path: Path, postgres_url: str, retro: Retro
) -> None:
    secret = postgres_url.replace("postgres:@", "postgres:geheim@")
    result = retro("--db", secret, "backup", tmp_path / "x.dump")
    assert result.code == 2
    assert "pg_dump --format=custom --no-owner --file=" in result.err
    assert "geheim" not in result.err
    assert not list(tmp_path.iterdir())
    assert retro("--db", postgres_url, "restore", tmp_path / "x.dump").code == 2


def test_a_restore_keeps_the_old_database_aside(tmp_path: Path, retro: Retro) -> None:
    path = database(tmp_path / "retro.db", "harbor")
    retro("--db", path, "backup", tmp_path / "copy.db")
    database(path, "otter")
    later = content(path)
    done = retro("--db", path, "restore", tmp_path / "copy.db", "--json").data
    assert content(path) == content(tmp_path / "copy.db") != later
    assert content(Path(done["kept"])) == later
    new = retro("--db", tmp_path / "new" / "retro.db", "restore", tmp_path / "copy.db", "--json").data
    assert new["kept"] is None
    assert content(tmp_path / "new" / "retro.db") == content(path)


def test_a_restore_under_a_running_service_is_refused(tmp_path: Path) -> None:
    path = database(tmp_path / "retro.db", "harbor")
    database(tmp_path / "copy.db", "otter")
    before = content(path)
    lock = Instance.of(path)
    with pytest.raises(BusyError, match="stop the service first"):
        restore(tmp_path / "copy.db", path, NOW)
    lock.release()
    assert content(path) == before
    assert restore(tmp_path / "copy.db", path, NOW) == path.with_name("retro.db.before-20260302T000000Z")


def test_what_is_no_sound_backup_is_refused(tmp_path: Path) -> None:
    path = database(tmp_path / "retro.db", *(f"agent-{n}" for n in range(300)))
    before = content(path)
    damaged, foreign, newer = (tmp_path / name for name in ("damaged.db", "foreign.db", "newer.db"))
    data = bytearray(path.read_bytes())
    for place in range(len(data) // 2, len(data) // 2 + 20_000):
        data[place] ^= 0xFF
    damaged.write_bytes(data)
    with closing(sqlite3.connect(foreign)) as conn:
        conn.execute("CREATE TABLE trades (id INTEGER)")
    shutil.copy(path, newer)
    with closing(sqlite3.connect(newer)) as conn:
        conn.execute("UPDATE schema_version SET version = 999 WHERE component = 'retro'")
        conn.commit()
    (tmp_path / "text").write_text("no database" * 100)
    for source, error, words in (
        (damaged, InputError, "damaged|no sound"),
        (foreign, InputError, "not a database of this program"),
        (newer, NewerSchemaError, "newer version"),
        (tmp_path / "text", InputError, "no sound SQLite database"),
        (tmp_path / "nothing", InputError, "there is no file"),
    ):
        with pytest.raises(error, match=words):
            restore(source, path, NOW)
        with pytest.raises(error):
            examine(source)
    assert content(path) == before
    with pytest.raises(UsageError):
        back_up(open_store(str(path)), newer)


def test_a_transaction_that_a_killed_writer_left_half_reaches_neither_database(tmp_path: Path) -> None:
    path, copy = database(tmp_path / "retro.db", "harbor"), database(tmp_path / "copy.db", "otter")
    before = content(path)

    def dies() -> None:
        conn = sqlite3.connect(path, isolation_level=None)
        conn.execute("PRAGMA cache_size = 1")
        conn.execute("BEGIN IMMEDIATE")
        for number in range(200):
            conn.execute("INSERT INTO agents (name, events) VALUES (?, 0)", (f"{number}" + "x" * 2000,))
        os._exit(9)

    process = FORK.Process(target=dies)
    process.start()
    process.join()
    assert path.with_name("retro.db-journal").stat().st_size > 0
    aside = restore(copy, path, NOW)
    assert aside is not None
    assert content(path) == content(copy)
    assert content(aside) == before


def test_a_database_that_is_none_any_more_is_replaced_and_kept(tmp_path: Path) -> None:
    path, copy = tmp_path / "retro.db", database(tmp_path / "copy.db", "harbor")
    path.write_bytes(b"not a database at all" * 100)
    aside = restore(copy, path, NOW)
    assert aside is not None
    assert content(path) == content(copy)
    assert aside.read_bytes().startswith(b"not a database")


@pytest.mark.skipif(not CAN_TRACE, reason="the kernel's tracer of Linux on x86-64 is needed")
def test_killed_anywhere_there_is_the_old_database_or_the_new_one(tmp_path: Path) -> None:
    old, new = database(tmp_path / "old.db", "harbor"), database(tmp_path / "new.db", "otter")
    states = (content(old), content(new))

    def work(folder: Path) -> None:
        try:
            put_in_place(new, folder / "retro.db", folder / "aside.db")
        except RetroError as error:
            raise SystemExit(1) from error

    points = len(traced(lambda: work(_copy(old, tmp_path / "calm"))).calls)
    assert points > 5
    ends = set()
    for number, mode in enumerate(MODES):
        for point in range(1, points + 1):
            folder = _copy(old, tmp_path / f"{number}-{point}")
            traced(lambda folder=folder: work(folder), mode, point)  # type: ignore[misc]
            ends.add(states.index(content(folder / "retro.db")))
            shutil.rmtree(folder)
    assert ends == {0, 1}


def _copy(old: Path, folder: Path) -> Path:
    folder.mkdir()
    shutil.copy(old, folder / "retro.db")
    return folder
