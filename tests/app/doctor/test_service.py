"""`retro doctor` on the service: clock, zone, schedule, lock, what waits, and the way to the mail server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from retro.app.doctor import service as checks_service
from retro.app.doctor.check import Check, Installation
from retro.config import Config
from retro.daemon.handover import stamp_of
from retro.daemon.lock import Instance
from retro.errors import BusyError
from retro.periods import DAY, HOUR, parse_instant
from retro.store.database import Store, open_store
from tests.worlds.service_world import MONDAY, World, life
from tests.worlds.smtp_server import Mailbox, certificate, free_port, serve


def house(
    at: str | int, store: Store | None = None, env: dict[str, str] | None = None, **configuration: Any
) -> Installation:
    now = parse_instant(at) if isinstance(at, str) else at
    return Installation(Config.model_validate(configuration), env or {}, now, store)


def findings(examined: Any) -> list[tuple[str, str]]:
    return [(check.state, check.detail) for check in examined]


@pytest.mark.parametrize(
    ("at", "when"),
    [
        ("2026-03-04T10:00:00Z", "Mon 2026-03-09 00:00"),
        ("2026-03-08T23:59:59Z", "Mon 2026-03-09 00:00"),
        ("2026-03-29T22:59:59Z", "Mon 2026-03-30 00:00"),
        ("2026-03-29T23:00:00Z", "Mon 2026-04-06 00:00"),
    ],
)
def test_it_names_the_next_review_in_the_owners_time(at: str, when: str) -> None:
    """Also in the week in which the clocks of London go forward."""
    schedule_findings = findings(checks_service.schedule(house(at, owner={"time_zone": "Europe/London"})))
    assert ("ok", f"next weekly review: {when} Europe/London") in schedule_findings


def test_the_next_epoch_is_that_of_the_agent_whose_comes_first(tmp_path: Path) -> None:
    world = World(open_store(str(tmp_path / "r.db")), tmp_path, at=MONDAY + 6 * DAY)
    world.tell(life(1, "a"))
    world.tell(life(1, "b", MONDAY + 3 * DAY))
    schedule_findings = findings(checks_service.schedule(house(MONDAY + 31 * DAY, world.store)))
    assert schedule_findings[-1] == ("ok", "next epoch review: Sat 2026-04-04 00:00 UTC")
    world.store.close()


@pytest.mark.parametrize(
    ("name", "after"),
    [("Europe/London", "its clocks change on Sun 2026-03-29"), ("Asia/Kolkata", "its clocks do not change")],
)
def test_the_time_zone_says_when_its_clocks_change(name: str, after: str) -> None:
    examined = checks_service.time_zone(house("2026-03-04T10:00:00Z", owner={"time_zone": name}))
    assert findings(examined) == [("ok", f"{name}; {after}")]


def test_a_clock_behind_what_was_done_is_broken(tmp_path: Path) -> None:
    world = World(open_store(str(tmp_path / "r.db")), tmp_path, at=MONDAY + 2 * DAY)
    world.tell(life(1))
    world.knock()
    (check,) = checks_service.clock(house(MONDAY + DAY, world.store))
    assert check.state == "broken"
    assert "it shows Tue 2026-03-03 00:00 UTC, and a review was made at Wed 2026-03-04 00:00" in check.detail
    (check,) = checks_service.clock(house(MONDAY + 3 * DAY, world.store))
    assert check.state in {"ok", "note"}
    world.store.close()


def test_who_holds_the_database_is_told_and_not_disturbed(tmp_path: Path) -> None:
    database = tmp_path / "r.db"
    store = open_store(str(database))
    assert findings(checks_service.lock(house(MONDAY, store))) == [("ok", "no service holds the database")]
    assert not database.with_name("r.db.lock").exists()
    lock = Instance.of(database)
    lock_findings = findings(checks_service.lock(house(MONDAY, store)))
    assert lock_findings == [("ok", f"a service works on the database (process {os.getpid()})")]
    lock.release()
    assert findings(checks_service.lock(house(MONDAY, store))) == [("ok", "no service holds the database")]
    store.close()


def test_a_service_that_goes_by_an_older_configuration_is_told(tmp_path: Path) -> None:
    """It notes in its lock which file it read: one that is edited, or gone, since is not the one it goes by."""
    database, file = tmp_path / "r.db", tmp_path / "config.toml"
    store = open_store(str(database))
    file.write_text("[owner]\n")
    lock = Instance.of(database)
    works = ("ok", f"a service works on the database (process {os.getpid()})")

    def found() -> list[tuple[str, str]]:
        return findings(checks_service.lock(house(MONDAY, store)))

    assert found() == [works], "an older version notes nothing"
    lock.note(str(file), stamp_of(str(file)))
    assert found() == [works]
    file.write_text('[owner]\nname = "Ada"\n')
    _, (state, detail) = found()
    assert state == "note"
    assert f"{file} as it was before" in detail
    assert f"kill -HUP {os.getpid()}" in detail
    lock.note(str(file), stamp_of(str(file)))
    assert found() == [works], "it has read it"
    file.unlink()
    assert len(found()) == 2
    with pytest.raises(BusyError, match=rf"another process \({os.getpid()}\)"):
        Instance.of(database)
    lock.release()
    assert found() == [("ok", "no service holds the database")]
    store.close()


def test_a_lock_on_another_device_is_not_ours_whatever_its_inode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An inode number is unique on its device alone: a stranger's lock of the same number holds nothing here."""
    database = tmp_path / "r.db"
    store = open_store(str(database))
    Instance.of(database).release()
    there = database.with_name("r.db.lock").stat()
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    shown = tmp_path / "locks"
    monkeypatch.setattr(checks_service, "_LOCKS", shown)
    for device, finding in (
        ("ff:ff", "no service holds the database"),
        (
            f"{os.major(there.st_dev):02x}:{os.minor(there.st_dev):02x}",
            f"a service works on the database (process {ended.stdout.decode().strip()})",
        ),
    ):
        row = f"1: FLOCK  ADVISORY  WRITE {ended.stdout.decode().strip()} {device}:{there.st_ino} 0 EOF"
        shown.write_text(f"{row}\n1: -> FLOCK  ADVISORY  WRITE 7 {device}:{there.st_ino} 0 EOF\n")
        assert findings(checks_service.lock(house(MONDAY, store))) == [("ok", finding)]
    store.close()


def test_what_is_parked_due_and_failed_is_told_with_its_remedy(tmp_path: Path) -> None:
    world = World(open_store(str(tmp_path / "r.db")), tmp_path, at=MONDAY + HOUR)
    world.configuration = {"service": {"max_attempts": 1}, "retrospective": {"position_close_review": False}}

    def owed() -> list[tuple[str, str]]:
        return findings(checks_service.owed(house(world.clock(), world.store)))

    def breaks(*_: Any) -> Any:
        raise RuntimeError("no")

    world.tell(life(1))
    assert [state for state, _ in owed()] == ["note"]
    world.clock.set(MONDAY + DAY + 2 * HOUR)
    world.owe()
    assert owed() == [("note", "1 due; `retro run`, or `retro run --once` from cron, makes them")]
    world.knock(words=breaks)
    detail = "1 parked: bot.daily.2026-03-02; `retro reviews --state parked` says why"
    assert owed() == [("broken", detail)]
    world.clock.advance(24 * 3600)
    world.knock()
    letters = checks_service.letters(house(world.clock(), world.store))
    assert findings(letters) == []
    world.store.close()


def reached(port: int, env: dict[str, str] | None = None, **mail_settings: Any) -> Check:
    table = {"host": "localhost", "port": port, "recipients": ["ada@example.org"], **mail_settings}
    (check,) = checks_service.mail(house(MONDAY, env=env, mail=table))
    return check


def test_the_mail_server_is_asked_and_gets_no_mail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the log-in, as a mail would: a wrong password is found on the day it is set, and is not told."""
    identity = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(identity.path))
    mailbox = Mailbox(users={"ada": "correct-horse"})
    with serve(mailbox, security="starttls", identity=identity) as port:
        accepted = reached(port, {"RETRO_SMTP_PASSWORD": "correct-horse"}, username="ada")
        assert accepted.state == "ok"
        assert accepted.detail.startswith(f"localhost:{port} answers (STARTTLS); 1 recipient: weekly")
        refused = reached(port, {"RETRO_SMTP_PASSWORD": "wrong-battery"}, username="ada")
        assert refused.state == "broken"
        assert "did not accept the user name and RETRO_SMTP_PASSWORD" in refused.detail
        assert "wrong-battery" not in refused.detail
    assert mailbox.received == []


def test_a_mail_server_that_is_not_there_is_broken_and_none_is_no_fault() -> None:
    port = free_port()
    check = reached(port, security="none")
    assert (check.state, check.detail) == (
        "broken",
        f"localhost:{port}: Connection refused; until that is mended mails wait",
    )
    (check,) = checks_service.mail(house(MONDAY))
    assert check.state == "ok"
