"""A disk that is full or fails under the service: it says so and ends, and goes on when the disk does. Numbers are the fault list's."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from retro.errors import StoreError
from retro.periods import DAY, HOUR, parse_instant
from retro.store.database import open_store
from retro.surface.cli import main as cli
from tests.syscalls import CAN_TRACE, traced
from tests.worlds.service_world import MONDAY, World, line


def states(world: World) -> dict[str, int]:
    return dict(Counter(review.state for review in world.reviews()))


def test_5_a_full_disk_stops_the_run_with_a_sentence_and_it_resumes_when_there_is_space(
    tmp_path: Path,
) -> None:
    """SQLite may not grow: it says what a full disk says."""
    store = open_store(str(tmp_path / "retro.db"))
    world = World(store, tmp_path, at=MONDAY + HOUR)
    world.tell([line("equity", "e", MONDAY, value=100)])
    world.clock.set(MONDAY + 20 * DAY + 2 * HOUR)
    with store.read() as conn:
        pages = conn.exec_driver_sql("PRAGMA page_count").scalar_one()

    def small(conn: sqlite3.Connection, _: object) -> None:
        conn.execute(f"PRAGMA max_page_count = {pages + 12}")

    from sqlalchemy import event

    event.listen(store.engine, "connect", small)
    with pytest.raises(StoreError, match="could not grow: the disk is full"):
        world.knock()
    event.remove(store.engine, "connect", small)
    with store.read() as conn:
        assert conn.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
    assert 0 < states(world).get("done", 0) < 20
    world.clock.advance(3600)
    world.knock()
    assert states(world) == {"done": 22}
    assert all(review.attempts == 0 for review in world.reviews())


def test_5_files_that_cannot_be_written_are_tried_again(tmp_path: Path) -> None:
    world = World(open_store(str(tmp_path / "r.db")), tmp_path, at=MONDAY + HOUR, files=True)
    world.tell([line("equity", "e", MONDAY, value=100)])
    world.clock.set(MONDAY + DAY + 2 * HOUR)
    (tmp_path / "reviews").write_text("in the way")
    tally = world.knock()
    assert (tally.postponed, tally.refused) == (1, 0)
    (letter,) = world.letters()
    assert (letter.state, letter.reason) == ("pending", f"File exists: {tmp_path / 'reviews'}")
    (tmp_path / "reviews").unlink()
    world.clock.advance(60)
    assert world.knock().sent == 1


_EIO = """
import os, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from retro.daemon import serve, RunOptions
from retro.errors import RetroError
size = os.stat(sys.argv[1]).st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 8192, size + 8192))
sys.exit(serve(RunOptions(db=sys.argv[1])))
"""


def test_6_an_input_output_error_stops_the_service_and_a_fresh_start_recovers(tmp_path: Path) -> None:
    """A write that the kernel refuses: the service ends at once instead of trying the write again."""
    database = tmp_path / "retro.db"
    world = World(open_store(str(database)), tmp_path)
    world.clock.set(parse_instant("2026-11-01T00:00:00Z"))
    world.tell([line("equity", "e", world.clock() - 9 * DAY, value=100)])
    world.store.close()
    broken = subprocess.run(
        [sys.executable, "-c", _EIO, str(database)],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert broken.returncode == 1
    log_entries = [json.loads(text) for text in broken.stderr.splitlines()]
    failed = [event for event in log_entries if event["event"] == "store_failed"]
    assert len(failed) == 1
    assert "the disk reports an error" in failed[0]["reason"]
    after = World(open_store(str(database)), tmp_path)
    after.clock.set(parse_instant("2026-11-02T00:00:00Z"))
    after.knock()
    assert set(states(after)) <= {"done", "waiting"}
    with after.store.read() as conn:
        assert conn.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
    after.store.close()


@pytest.mark.skipif(not CAN_TRACE, reason="system calls are refused on Linux, x86-64")
@pytest.mark.parametrize(("call", "reason"), [("fdatasync", "reports an error"), ("pwrite", "disk is full")])
def test_5_and_6_what_the_disk_refuses_ends_the_run_with_a_sentence(
    tmp_path: Path, call: str, reason: str
) -> None:
    """An fsync that fails (EIO) and a write without space (ENOSPC), from the kernel: no retry, exit 1, nothing lost."""
    world = World(open_store(str(tmp_path / "retro.db")), tmp_path)
    world.clock.set(time.time_ns() // 1000 // DAY * DAY - 2 * DAY)
    world.tell([line("equity", "e", world.clock(), value=100)])
    world.store.close()
    blank = (tmp_path / "retro.db").read_bytes()
    command = ["--db", str(tmp_path / "retro.db"), "run", "--once"]

    def run() -> None:
        sys.stderr = (tmp_path / "said").open("w", buffering=1)
        if cli.run(command):
            raise RuntimeError

    calls = traced(run).calls
    (tmp_path / "retro.db").write_bytes(blank)
    pairs = enumerate(pairwise(["", *calls]), 1)
    # the second of two fsyncs in a row is one that SQLite does without
    firsts = [n for n, (before, name) in pairs if name == call and (before, name) != ("fdatasync",) * 2]
    point = firsts[len(calls) // 40]
    refused = traced(run, "fails", point)
    error_text = (tmp_path / "said").read_text()
    assert refused.code == 1
    assert reason in error_text
    assert "Traceback" not in error_text
    assert len(refused.calls) < len(calls)
    assert traced(run).code == 0
    again = World(open_store(str(tmp_path / "retro.db")), tmp_path)
    assert states(again)["done"] >= 1
    assert set(states(again)) <= {"done", "waiting"}
    again.store.close()
