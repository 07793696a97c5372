"""What tells others of the service: its logs, its pings, and the units that start it."""

from __future__ import annotations

import json
import logging
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from retro.daemon.ping import Ping
from retro.logs import set_up
from retro.periods import DAY
from retro.secret import Secret
from retro.store.database import open_store
from tests.worlds.places import DEPLOY
from tests.worlds.service_world import World, life


def world_of(folder: Path, events: list[dict[str, Any]]) -> World:
    """A database with a life in it."""
    world = World(open_store(str(folder / "retro.db")), folder)
    world.clock.set(time.time_ns() // 1000)
    world.tell(events)
    return world


def recently(days: int) -> int:
    """Midnight so many days ago."""
    return time.time_ns() // 1000 // DAY * DAY - days * DAY


@pytest.fixture
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_logs_are_json_with_what_was_bound_and_without_secrets(logging_as_before: None) -> None:
    out = StringIO()
    log = set_up([Secret("X", "hunter2hunter2")], stream=out)
    with log.bound(agent="bot", review="bot.death", attempt=2):
        log("made", level="warning", password="x", text="it is hunter2hunter2", nested={"token": "abc"})
        logging.getLogger("somebody.else").warning("says %s", "hunter2hunter2")
        try:
            int("hunter2hunter2")
        except ValueError as error:
            log("broke", level="error", exception=error)
    first, second, third = (json.loads(text) for text in out.getvalue().splitlines())
    assert {key: first[key] for key in ("event", "level", "agent", "review", "attempt")} == {
        "event": "made",
        "level": "warning",
        "agent": "bot",
        "review": "bot.death",
        "attempt": 2,
    }
    assert (first["password"], first["text"], first["nested"]) == (
        "[redacted]",
        "it is [redacted]",
        {"token": "[redacted]"},
    )
    assert (second["event"], second["agent"]) == ("says [redacted]", "bot")
    assert "ValueError: invalid literal for int() with base 10: '[redacted]'" in third["exception"]
    assert "hunter2" not in out.getvalue()


def test_on_a_terminal_logs_are_lines_for_people(logging_as_before: None) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    set_up([], stream=out)("started", database="x.db")
    assert "started" in out.getvalue()
    assert "database" in out.getvalue()
    assert not out.getvalue().startswith("{")


# the dead man's switch


class _Pings(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.got.append(self.path)  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def listener() -> Iterator[tuple[str, list[str]]]:
    server = HTTPServer(("127.0.0.1", 0), _Pings)
    server.got = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/ping/uuid?x=1", server.got  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_somebody_outside_hears_of_start_success_and_failure() -> None:
    with listener() as (url, got):
        ping = Ping(url, lambda *_, **__: None)
        ping.start()
        ping.success()
        ping.success()
        ping.fail()
        ping.success()
    assert got == ["/ping/uuid/start?x=1", "/ping/uuid?x=1", "/ping/uuid/fail?x=1", "/ping/uuid?x=1"]


def test_once_tells_start_and_what_came_of_it(tmp_path: Path) -> None:
    world_of(tmp_path, life(1, start=recently(2)))
    with listener() as (url, got):
        (tmp_path / "c.toml").write_text(f'[store]\nurl = "retro.db"\n[service]\nping_url = "{url}"\n')
        command = [sys.executable, "-m", "retro", "--config", "c.toml", "run", "--once"]
        assert (
            subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=60).returncode
            == 0
        )
        (tmp_path / "c.toml").write_text(
            f'[store]\nurl = "retro.db"\n[[source]]\nkind = "journal"\npath = "no.jsonl"\n[service]\nping_url = "{url}"\n'
        )
        assert (
            subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=60).returncode
            == 1
        )
    assert [path.partition("uuid")[2] for path in got] == ["/start?x=1", "?x=1", "/start?x=1", "/fail?x=1"]


def test_a_ping_that_cannot_be_made_harms_nothing_and_names_no_url() -> None:
    log_entries: list[Any] = []
    ping = Ping(
        "http://user:secret@127.0.0.1:9/x", lambda event, **fields: log_entries.append((event, fields))
    )
    for _ in range(3):
        ping.success(at_once=True)
    assert [event for event, _ in log_entries] == ["ping_failed"]
    assert "secret" not in repr(log_entries)
    Ping(None, print).start()


# the units


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_the_units_are_sound_and_hardened() -> None:
    units = [
        DEPLOY / name
        for name in (
            "retro.service",
            "retro-once.service",
            "retro-once.timer",
            "retro-web.service",
            "retro-worker@.service",
        )
    ]
    verified = subprocess.run(
        ["systemd-analyze", "verify", *map(str, units)], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, "")
    for unit in (unit for unit in units if unit.suffix == ".service"):
        done = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", str(unit)],
            capture_output=True,
            text=True,
            check=False,
        )
        level = re.search(r"exposure level for \S+: (\d+\.\d)", done.stdout)
        assert level
        assert float(level[1]) <= 2.0
