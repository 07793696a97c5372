"""The service as a process: signals, systemd, the dead man's switch, logs, its size, and what it leaves on the disk."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from retro.app.narration.narrators import plain_words
from retro.daemon.handover import stamp_of
from retro.daemon.notify import Notifier
from retro.daemon.stop import Interrupted, Signals
from retro.periods import DAY, HOUR
from retro.store.database import open_store
from tests.worlds.places import ROOT
from tests.worlds.service_world import MONDAY, World, life, line, lines_of, running

FORK = multiprocessing.get_context("fork")


def world_of(folder: Path, events: list[dict[str, Any]]) -> World:
    """A database with a life in it."""
    world = World(open_store(str(folder / "retro.db")), folder)
    world.clock.set(time.time_ns() // 1000)
    world.tell(events)
    return world


def recently(days: int) -> int:
    """Midnight so many days ago."""
    return time.time_ns() // 1000 // DAY * DAY - days * DAY


def test_it_says_that_it_is_ready_what_it_does_and_that_it_stops(tmp_path: Path) -> None:
    world_of(tmp_path, life(2, start=recently(3)))
    with running(tmp_path) as service:
        service.wait_for("READY=1")
        service.wait_for("STATUS=idle; the next period ends ")
        assert service.end() == 0
        service.wait_for("STOPPING=1")
        assert service.log[0]["event"] == "started"
        assert service.log[-1]["event"] == "stopped"


def test_25_sigterm_in_a_run_leaves_what_can_be_resumed(tmp_path: Path) -> None:
    """Told to stop in the middle of a long history: it ends soon, holds nothing, and the next start goes on."""
    world = world_of(tmp_path, life(60, start=recently(61)))
    with running(tmp_path) as service:
        deadline = time.monotonic() + 60
        while not any(review.state == "done" for review in world.reviews()) and time.monotonic() < deadline:
            time.sleep(0.05)
        started = time.monotonic()
        assert service.end() == 0
        assert time.monotonic() - started < 20
    reviews = world.reviews()
    assert {review.state for review in reviews} >= {"done", "due"}
    assert not any(review.state == "running" for review in reviews)
    assert {review.attempts for review in reviews} == {0}
    world.clock.set(time.time_ns() // 1000)
    world.knock()
    assert {review.state for review in world.reviews()} <= {"done", "waiting"}


def _hang(database: str, folder: Path, patience_s: float) -> None:
    world = World(open_store(database), folder)
    world.clock.set(MONDAY + DAY + 2 * HOUR)

    def words(*given: Any) -> Any:
        (folder / "hanging").touch()
        time.sleep(60)
        return plain_words(*given)

    with Signals(patience_s) as signals:
        signals.working(True)
        try:
            world.knock(words=words, stopping=signals.stopping)
        except Interrupted:
            os._exit(3)
    os._exit(0)


@pytest.mark.parametrize(("patience_s", "times"), [(0.2, 1), (60.0, 2)])
def test_25_a_step_that_does_not_end_is_broken_off_and_given_back(
    tmp_path: Path, patience_s: float, times: int
) -> None:
    """After the first SIGTERM when its time is up, after the second at once."""
    database = str(tmp_path / "r.db")
    world = World(open_store(database), tmp_path, at=MONDAY + HOUR)
    world.tell([line("equity", "e", MONDAY, value=100)])
    child = FORK.Process(target=_hang, args=(database, tmp_path, patience_s))
    child.start()
    deadline = time.monotonic() + 20
    while not (tmp_path / "hanging").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    for _ in range(times):
        os.kill(child.pid or 0, signal.SIGTERM)
        time.sleep(0.1)
    child.join(20)
    assert child.exitcode == 3
    (review,) = world.reviews()
    assert (review.state, review.owner, review.attempts) == ("due", None, 0)


def test_25_sighup_with_a_broken_configuration_keeps_the_old_one_and_says_so(tmp_path: Path) -> None:
    world_of(tmp_path, life(1, start=recently(2)))
    with running(tmp_path, "[service]\nknock_seconds = 3600\n") as service:
        service.wait_for("STATUS=idle")
        service.config.write_text('[store]\nurl = "retro.db"\n[servise]\nknock = 1\n')
        service.process.send_signal(signal.SIGHUP)
        service.wait_for("configuration_kept")
        (reload_event,) = [event for event in service.log if event["event"] == "configuration_kept"]
        assert reload_event["faults"] == ["line 3: servise: unknown table; did you mean service?"]
        service.config.write_text('[store]\nurl = "retro.db"\n[service]\nmax_attempts = 3\n')
        service.notifications.clear()
        service.process.send_signal(signal.SIGHUP)
        service.wait_for("configuration_read")
        service.wait_for("READY=1")
        assert any(text.startswith("RELOADING=1\nMONOTONIC_USEC=") for text in service.notifications)
        assert service.end() == 0


def test_25_an_edited_configuration_is_read_at_the_next_knock_and_a_broken_one_is_said_once(
    tmp_path: Path,
) -> None:
    world_of(tmp_path, life(1, start=recently(2)))
    with running(tmp_path, "[service]\nknock_seconds = 0.5\n") as service:
        service.wait_for("STATUS=idle")
        service.config.write_text('[store]\nurl = "retro.db"\n[servise]\nknock = 1\n')
        service.wait_for("configuration_kept")
        time.sleep(2)
        assert len([event for event in service.log if event["event"] == "configuration_kept"]) == 1
        service.config.write_text(
            '[store]\nurl = "retro.db"\n[service]\nknock_seconds = 0.5\nmax_attempts = 3\n'
        )
        service.wait_for("configuration_read")
        assert service.end() == 0


SETTINGS = '[store]\nurl = "retro.db"\n[service]\nknock_seconds = 0.3\n'


def test_25_a_configuration_that_comes_later_is_read_and_one_that_is_gone_for_a_while_is_not_given_up(
    tmp_path: Path,
) -> None:
    """Without --config: ./config.toml is looked for, also after a start without one; defaults never replace what was read."""
    with running(tmp_path, None, named=False, env={"PYTHONPATH": str(ROOT)}) as service:
        service.wait_for("STATUS=idle")
        service.config.write_text(SETTINGS)
        service.process.send_signal(signal.SIGHUP)  # a knock comes once a minute
        service.wait_for("configuration_read")
        service.config.unlink()
        service.process.send_signal(signal.SIGHUP)
        service.wait_for("configuration_kept")
        service.config.write_text(SETTINGS + "max_attempts = 3\n")
        service.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 20
        while [event["event"] for event in service.log].count("configuration_read") < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert service.end() == 0


def test_what_shows_that_the_configuration_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a service that was started without one: that there is one now, where a start would find it."""
    monkeypatch.chdir(tmp_path)
    assert stamp_of(None) is None
    (tmp_path / "config.toml").write_text(SETTINGS)
    first = stamp_of(None)
    assert first == stamp_of(str(tmp_path / "config.toml")) != stamp_of(str(tmp_path / "other.toml"))
    (tmp_path / "config.toml").write_text(SETTINGS + "max_attempts = 3\n")
    assert stamp_of(None) != first


def test_25_a_start_with_a_broken_configuration_lists_every_fault_and_touches_nothing(tmp_path: Path) -> None:
    with running(tmp_path, "[service]\nknock_seconds = -1\ncatch_up = 3\n") as service:
        assert service.process.wait(30) == 2
        error_text = service.errors.read_text()
        assert "knock_seconds" in error_text
        assert "catch_up" in error_text
        assert "Traceback" not in error_text
        assert not (tmp_path / "retro.db").exists()


def test_25_a_hung_step_gives_no_sign_of_life(tmp_path: Path) -> None:
    """The watchdog is fed from the work loop itself: while a step hangs it starves, and systemd starts us anew."""
    world = World(open_store(str(tmp_path / "r.db")), tmp_path, at=MONDAY + HOUR)
    world.tell([line("equity", "e", MONDAY, value=100)])
    world.clock.set(MONDAY + 2 * DAY + 2 * HOUR)
    inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    inbox.bind(str(tmp_path / "notify"))
    inbox.setblocking(False)
    notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "4000"})

    def beats_received() -> int:
        count = 0
        while True:
            try:
                assert inbox.recv(100) == b"WATCHDOG=1"
            except BlockingIOError:
                return count
            count += 1

    beats: list[int] = []

    def words(*given: Any) -> Any:
        beats_received()
        time.sleep(0.3)
        beats.append(beats_received())
        return plain_words(*given)

    world.knock(words=words, beat=notifier.beat)
    assert beats == [0, 0]
    assert beats_received() > 0
    inbox.close()


def test_a_watchdog_of_another_process_is_not_ours(tmp_path: Path) -> None:
    inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    inbox.bind("\0retro-test-" + tmp_path.name)
    inbox.settimeout(0.2)
    env = {"NOTIFY_SOCKET": "@retro-test-" + tmp_path.name, "WATCHDOG_USEC": "4000", "WATCHDOG_PID": "1"}
    notifier = Notifier(env)
    notifier.beat()
    notifier.ready()
    assert inbox.recv(100) == b"READY=1"
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "nobody")}).ready()
    inbox.close()


# its size


def memory_of(pid: int) -> int:
    """Resident kilobytes."""
    match = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(match[1]) if match else 0


def test_after_its_work_it_starts_itself_anew_and_is_small(tmp_path: Path) -> None:
    """The same process, the same lock, without what computes: under 60 MB, and next to no processor time."""
    world_of(tmp_path, life(2, start=recently(3)))
    with running(tmp_path, "[service]\nknock_seconds = 0.2\n") as service:
        service.wait_for("STATUS=idle")
        deadline = time.monotonic() + 30
        line_of = Path(f"/proc/{service.process.pid}/cmdline")
        while b"retro.daemon" not in line_of.read_bytes() and time.monotonic() < deadline:
            time.sleep(0.05)
        service.notifications.clear()
        service.wait_for("STATUS=idle")
        assert b"retro.daemon" in line_of.read_bytes()
        assert "numpy" not in Path(f"/proc/{service.process.pid}/maps").read_text()
        assert memory_of(service.process.pid) < 60_000
        second = subprocess.run(
            [sys.executable, "-m", "retro", "--db", str(tmp_path / "retro.db"), "run", "--once"],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert second.returncode == 75
        _listens_nowhere(service.process.pid)
        assert [event["event"] for event in service.log].count("started") == 1
        assert service.end() == 0


def _listens_nowhere(pid: int) -> None:
    mine = set()
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        try:
            match = re.fullmatch(r"socket:\[(\d+)\]", str(handle.readlink()))
        except FileNotFoundError:
            continue
        mine |= {match[1]} if match else set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        rows = [row.split() for row in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]]
        assert not [row for row in rows if row[9] in mine], table


def test_waiting_costs_next_to_nothing(tmp_path: Path) -> None:
    world_of(tmp_path, life(1, start=recently(2)))
    with running(tmp_path) as service:
        service.wait_for("STATUS=idle")

        def spent() -> float:
            fields = Path(f"/proc/{service.process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        time.sleep(0.5)
        before = spent()
        time.sleep(2)
        assert spent() - before <= 0.02


# secrets, files, logs


def test_no_secret_reaches_a_log_a_database_or_a_file(tmp_path: Path) -> None:
    """A password that stands in a path and in a URL as well: it is masked wherever it turns up."""
    secret = "correct-horse-battery"
    journal = tmp_path / "bot.jsonl"
    journal.write_bytes(lines_of(life(1, start=recently(2))))
    settings = (
        f'[[source]]\nkind = "journal"\npath = "{tmp_path}/{secret}.jsonl"\n'
        f'[[source]]\nkind = "journal"\npath = "{journal}"\n'
        f'[service]\nping_url = "http://ada:{secret}@127.0.0.1:9/x"\n'
    )
    with running(tmp_path, settings, env={"RETRO_SMTP_PASSWORD": secret}) as service:
        service.wait_for("source_failed")
        service.wait_for("ping_failed")
        service.wait_for("STATUS=idle")
        service.end()
        (failed,) = [event for event in service.log if event["event"] == "source_failed"]
        assert failed["source"].endswith("/[redacted].jsonl")
        everything = [path for path in tmp_path.rglob("*") if path.is_file() and path != service.config]
        assert [path.name for path in everything if secret.encode() in path.read_bytes()] == []


def ears(process: int) -> set[str]:
    """The sockets on which a process waits for strangers."""
    tables = [(Path(f"/proc/{process}/net/{name}"), 3, "0A", 9) for name in ("tcp", "tcp6")]
    tables.append((Path(f"/proc/{process}/net/unix"), 3, "00010000", 6))
    waiting = {
        f"socket:[{row.split()[inode]}]"
        for table, state, listens, inode in tables
        for row in table.read_text().splitlines()[1:]
        if row.split()[state] == listens
    }
    return waiting & {
        str(path.readlink()) for path in Path(f"/proc/{process}/fd").iterdir() if path.is_symlink()
    }


def test_everything_it_writes_is_for_its_owner_alone_and_it_listens_to_nobody(tmp_path: Path) -> None:
    world_of(tmp_path, life(7, start=recently(14)))
    before = set(tmp_path.rglob("*"))
    with running(tmp_path) as service:
        service.wait_for("STATUS=idle")
        assert ears(service.process.pid) == set()
        with socket.create_server(("127.0.0.1", 0)):
            assert ears(os.getpid()) != set(), "or nobody would be heard"
        service.end()
    ours = {service.config, service.errors, tmp_path / "notify"}
    written = [*({*tmp_path.rglob("*")} - before - ours), tmp_path / "retro.db"]
    assert {"reviews", "experiments", "hypotheses.yaml", "retro.db.lock"} <= {path.name for path in written}
    for path in written:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
