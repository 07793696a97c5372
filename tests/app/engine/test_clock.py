"""A clock that is set under a running service, by a year and both ways: the scheduler we knock with survives neither."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from retro.periods import DAY
from retro.store.database import open_store
from tests.worlds.service_world import World, line

_SERVICE = """
import sys, threading, time
import time_machine
from retro.daemon import RunOptions, serve
with time_machine.travel(time.time(), tick=True) as traveller:
    def listen():
        for hours in sys.stdin:
            traveller.shift(float(hours) * 3600)
    threading.Thread(target=listen, daemon=True).start()
    sys.exit(serve(RunOptions(config="config.toml"), anew=lambda _: None))
"""
YEAR = 365 * 86_400


def test_12_a_clock_set_both_ways_under_a_running_service_is_told_and_healed(tmp_path: Path) -> None:
    """An alarm each time, every epoch of the year once, knocks go on, and SIGTERM is heard."""
    world = World(open_store(str(tmp_path / "retro.db")), tmp_path)
    world.clock.set(time.time_ns() // 1000 // DAY * DAY - DAY)
    world.tell([line("equity", "e", world.clock() - 8 * DAY, value=100)])
    (tmp_path / "config.toml").write_text(
        '[store]\nurl = "retro.db"\n[service]\nknock_seconds = 0.2\n'
        "dormant_weeks = 0\n"
        "[retrospective]\ndaily_review_enabled = false\nweekly_review_enabled = false\n"
    )
    log = tmp_path / "log"

    def log_events(event: str) -> list[dict[str, Any]]:
        entries = [json.loads(text) for text in log.read_text().splitlines() if text.endswith("}")]
        return [entry for entry in entries if entry["event"] == event]

    def wait_for(event: str, count: int) -> None:
        deadline = time.monotonic() + 60
        while len(log_events(event)) < count and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(log_events(event)) == count, log.read_text()

    with log.open("w") as out:
        service = subprocess.Popen(
            [sys.executable, "-c", _SERVICE], cwd=tmp_path, stdin=subprocess.PIPE, stderr=out, text=True
        )
    try:
        assert service.stdin
        wait_for("started", 1)
        time.sleep(0.5)
        for number, hours in enumerate((YEAR // 3600, -YEAR // 3600), 1):
            service.stdin.write(f"{hours}\n")
            service.stdin.flush()
            wait_for("clock_jumped", number)
            wait_for("review_done", 12)
        service.send_signal(signal.SIGTERM)
        assert service.wait(20) == 0
    finally:
        service.kill()
        service.wait()
        if service.stdin:
            service.stdin.close()
    assert [jump["seconds"] for jump in log_events("clock_jumped")] == pytest.approx([YEAR, -YEAR], abs=60)
    epochs = world.reviews("epoch")
    assert [epoch.period_end for epoch in epochs[:-1]] == [epoch.period_start for epoch in epochs[1:]]
    assert {(epoch.state, epoch.revision) for epoch in epochs} == {("done", 1)}
    world.store.close()
