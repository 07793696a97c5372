"""`retro fleet` and `retro worker` as a person meets them, and docs/fleet.md as far as it tells of them."""

from __future__ import annotations

import json
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from retro.store.database import open_store
from retro.store.jobs import reviews
from tests.worlds.commands import Retro, retro
from tests.worlds.places import ROOT
from tests.worlds.service_world import life, lines_of

__all__ = ["retro"]

PAGE = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_the_page_starts_a_fleet(retro: Retro, new_postgres_url: str) -> None:
    commands = [shlex.split(line) for line in re.findall(r"^\$ (retro .*)", PAGE, re.MULTILINE)]
    assert any("worker" in words for words in commands)
    for words in commands:
        if {"init", "status"} & set(words):
            result = retro(*(word.replace("$DATABASE", new_postgres_url) for word in words[1:]))
            assert (result.code, result.err) == (0, "")
    state = retro("--db", new_postgres_url, "fleet", "status", "--json").data
    assert state == {
        "has_server": True,
        "engine": {"waiting": {}, "answered": {}, "stalled": 0, "workers": 0},
        "buckets": 1024,
        "ripe": 0,
        "with_letters": 0,
        "due": 0,
        "lag_s": None,
        "running": 0,
        "parked": 0,
        "rework": None,
    }
    assert retro("--db", new_postgres_url, "fleet", "init", "--json").data == {"made": False}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["worker"], "on SQLite `retro run` does everything"),
        (["fleet", "init"], "a fleet shares a PostgreSQL"),
        (
            ["worker", "--queues", "stream,mails"],
            "there is no queue 'mails'; it takes stream, letters, rework",
        ),
        (["worker", "--page", "here"], "'here' is no port"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(retro: Retro, words: list[str], sentence: str) -> None:
    result = retro(*words)
    assert (result.code, result.out) == (2, "")
    assert sentence in result.err


def test_without_its_tables_a_worker_says_what_makes_them(retro: Retro, new_postgres_url: str) -> None:
    result = retro("--db", new_postgres_url, "worker")
    assert (result.code, "run `retro fleet init` once" in result.err) == (2, True)


def test_a_rework_is_left_to_the_workers_of_a_fleet(retro: Retro, new_postgres_url: str) -> None:
    """With the words of docs/fleet.md."""
    Path("a.jsonl").write_bytes(lines_of(life(1)))
    db = ("--db", new_postgres_url)
    for words in (["ingest", "journal", "a.jsonl"], ["fleet", "init"], ["run", "--once"]):
        assert retro(*db, *words).code == 0
    page = re.findall(r"^\$ retro --db \$DATABASE (rework .*)", PAGE, re.MULTILINE)
    assert len(page) == 1
    answer = retro(*db, *shlex.split(page[0]))
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("1 agent to be looked at anew by workers of the queue rework;")
    going_on = {"left": 1, "failed": 0, "failures": {}}
    assert retro(*db, "fleet", "status", "--json").data["rework"] == going_on
    assert "To be looked at anew" in retro(*db, "fleet", "status").out
    process = subprocess.Popen(
        [sys.executable, "-m", "retro", *db, "worker", "--queues", "rework"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 90
        while (state := retro(*db, "fleet", "status", "--json").data["rework"]) is not None:
            assert time.monotonic() < deadline, state
            time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=30)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()
    assert process.returncode == 0, log


def test_a_worker_works_says_so_and_ends_in_good_order(retro: Retro, new_postgres_url: str) -> None:
    Path("a.jsonl").write_bytes(lines_of(life(1)))
    for words in (["ingest", "journal", "a.jsonl"], ["fleet", "init"]):
        assert retro("--db", new_postgres_url, *words).code == 0
    port = free_port()
    command = [sys.executable, "-m", "retro", "--db", new_postgres_url, "worker", "--page", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    store = open_store(new_postgres_url)
    try:
        states: set[str] = set()
        deadline = time.monotonic() + 60
        while states != {"done"} and time.monotonic() < deadline:
            time.sleep(0.1)
            with store.read() as conn:
                states = {review.state for review in reviews.listed(conn) if review.kind != "epoch"}
        assert states == {"done"}
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz") as health:
            assert health.read() == b"ok\n"
        state = retro("--db", new_postgres_url, "fleet", "status", "--json").data
        assert state["engine"]["workers"] == 1
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=30)
    finally:
        store.close()
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()
    assert process.returncode == 0, log
    events = [json.loads(line)["event"] for line in log.splitlines() if line.startswith("{")]
    assert (events[0], events[-1]) == ("started", "stopped")
    assert not {event for event in events if "failed" in event or "lost" in event}, log
