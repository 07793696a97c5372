"""Several processes: on PostgreSQL they share the work, on SQLite one works and the others say so."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from retro.app.engine.worker import run_once, run_pass
from retro.app.narration.narrators import plain_words
from retro.daemon.lock import Instance
from retro.deliver.channel import Sent
from retro.errors import BusyError
from retro.periods import DAY, HOUR, SECOND
from retro.store.database import open_store
from retro.store.jobs import claims, outbox
from retro.testing.clock import FakeClock
from tests.worlds.service_world import MONDAY, Recorder, World, line, lines_of

FORK = multiprocessing.get_context("fork")
AGENTS, DAYS = 10, 30
TOLD = {"retrospective": {"weekly_review_enabled": False, "epoch_review_enabled": False}}


def a_world(url: str, folder: Path) -> World:
    return World(open_store(url), folder, configuration=TOLD)


class RealTime(FakeClock):
    """A clock that starts where it is put, and then goes."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self._since = time.monotonic()

    def __call__(self) -> int:
        return self.at + round((time.monotonic() - self._since) * SECOND)


def _work(url: str, folder: Path, number: int, dies_at: int) -> None:
    """One worker; the one that dies does so in the middle of a review that it holds."""
    world = a_world(url, folder)
    calls = 0

    def words(review: Any, document: Any, settings: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return plain_words(review, document, settings)

    config = world.config.model_copy(
        update={"service": world.config.service.model_copy(update={"lease_seconds": 3.0})}
    )
    bench = world.bench(
        owner=f"w{number}-{os.getpid()}",
        alone=False,
        words=words,
        config=config,
        clock=RealTime(MONDAY + DAYS * DAY + 2 * HOUR),
        channels={"file": _Log(folder / f"{number}.log")},
    )
    run_once(bench, time.sleep)
    os._exit(0)


class _Log:
    """A channel that writes down what it was given, so that doubles show."""

    name = "file"

    def __init__(self, path: Path) -> None:
        self.path = path

    def recipients(self, _: Any) -> tuple[str, ...]:
        return ("reviews",)

    def send(self, message: Any) -> Any:
        with self.path.open("a") as file:
            file.write(f"{message.review_id}.{message.revision}\n")
        return Sent()


def test_eight_processes_share_three_hundred_reviews_and_two_of_them_are_killed(
    postgres_url: str, tmp_path: Path
) -> None:
    """Each review once, each message once, although two workers die holding what they had begun."""
    world = a_world(postgres_url, tmp_path)
    world.clock.set(MONDAY + HOUR)
    for number in range(AGENTS):
        world.tell([line("equity", "e", MONDAY, f"bot{number}", value=100)])
    world.clock.set(MONDAY + DAYS * DAY + 2 * HOUR)
    assert len(world.owe()) == AGENTS * DAYS == 300
    world.store.close()
    workers = [
        FORK.Process(target=_work, args=(postgres_url, tmp_path, number, 4 if number < 2 else 0))
        for number in range(8)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    codes = [worker.exitcode for worker in workers]
    assert codes == [-signal.SIGKILL, -signal.SIGKILL, 0, 0, 0, 0, 0, 0]
    after = a_world(postgres_url, tmp_path)
    assert Counter((review.state, review.revision) for review in after.reviews()) == {("done", 1): 300}
    with after.store.read() as conn:
        assert (
            conn.exec_driver_sql(
                "SELECT count(*) FROM review_documents WHERE done_at IS NOT NULL"
            ).scalar_one()
            == 300
        )
    deliveries = Counter(name for log in tmp_path.glob("*.log") for name in log.read_text().split())
    assert len(deliveries) == 300
    assert set(deliveries.values()) == {1}
    assert {letter.state for letter in after.letters()} == {"sent"}
    after.store.close()


def test_one_run_takes_over_what_its_dead_predecessor_held(postgres_url: str, tmp_path: Path) -> None:
    """A review and a letter, held by nobody any more until their leases end: `run --once` waits for that and goes on."""
    world = a_world(postgres_url, tmp_path)
    world.tell([line("equity", "e", MONDAY, value=100)])
    world.clock.set(MONDAY + 2 * DAY + 2 * HOUR)
    world.owe()
    mail = Recorder("file", ("reviews",))
    lease = 2 * SECOND
    with world.store.write() as conn:
        (first,) = claims.claim(conn, "dead", world.clock(), lease)
        outbox.write(conn, [outbox.Letter(world.reviews()[1].key, 9, "file", "reviews")], world.clock())
        outbox.claim(conn, "dead", world.clock(), lease, "file", digest=outbox.ALONE)
        outbox.fail_all(conn, "file", "reviews", "x")
    clock = RealTime(world.clock())
    started = time.monotonic()
    tally = run_once(world.bench(alone=False, clock=clock, channels={"file": mail}), time.sleep)
    assert 1.5 < time.monotonic() - started < 60
    assert tally.done == 2
    assert {review.state for review in world.reviews()} == {"done"}
    assert first.id in {message.review_id for message in mail.got}
    assert not [letter for letter in world.letters() if letter.state == "sending"]
    world.store.close()


def test_one_run_does_not_wait_for_a_living_one(postgres_url: str, tmp_path: Path) -> None:
    world = a_world(postgres_url, tmp_path)
    world.tell([line("equity", "e", MONDAY, value=100)])
    world.clock.set(MONDAY + DAY + 2 * HOUR)
    world.owe()
    with world.store.write() as conn:
        claimed_reviews = claims.claim(conn, "alive", world.clock(), 90 * SECOND)

    def sleep(_: float) -> None:
        world.clock.advance(1)
        with world.store.write() as conn:
            assert claims.renew(conn, claimed_reviews, world.clock() + 90 * SECOND) == 1

    tally = run_once(world.bench(alone=False), sleep)
    assert tally.done == 0
    assert [review.owner for review in world.reviews()] == ["alive"]
    world.store.close()


def test_a_stale_worker_that_wakes_up_finds_its_fence_shut(postgres_url: str, tmp_path: Path) -> None:
    """It was taken for dead while it wrote words; what it writes then is not stored, and nobody is told twice."""
    world = a_world(postgres_url, tmp_path)
    world.tell([line("equity", "e", MONDAY, value=100)])
    world.clock.set(MONDAY + DAY + 2 * HOUR)
    rival = Recorder("file", ("reviews",))

    def words(review: Any, document: Any, settings: Any) -> Any:
        world.clock.advance(100)
        run_pass(world.bench(alone=False, channels={"file": rival}))
        worded, paid = plain_words(review, document, settings)
        return worded.model_copy(update={"what_worked": "stale"}), paid

    mine = Recorder("file", ("reviews",))
    tally = run_pass(world.bench(alone=False, words=words, channels={"file": mine}))
    assert (tally.done, tally.lost) == (0, 1)
    assert [event for event, _ in world.log if event == "claim_lost"] == ["claim_lost"]
    assert "stale" not in world.text("bot.daily.2026-03-02")
    assert (len(rival.got), len(mine.got)) == (1, 0)
    world.store.close()


# one on SQLite


def command(database: Path, *arguments: str) -> list[str]:
    settings = database.with_name("config.toml")
    settings.write_text("[retrospective]\ndaily_review_enabled = false\n[service]\ndormant_weeks = 0\n")
    return [sys.executable, "-m", "retro", "--config", str(settings), "--db", str(database), *arguments]


@pytest.fixture
def busy_database(tmp_path: Path) -> Path:
    """A database with an agent whose history keeps one process busy for a while."""
    journal = tmp_path / "bot.jsonl"
    journal.write_bytes(
        lines_of([line("equity", f"e{n}", MONDAY + n * DAY, value=100 + n) for n in range(3)])
    )
    database = tmp_path / "retro.db"
    subprocess.run(command(database, "-q", "ingest", "journal", str(journal)), check=True, cwd=tmp_path)
    return database


def test_9_of_eight_started_on_one_sqlite_one_works_and_the_others_exit_75(busy_database: Path) -> None:
    """And nothing is lost when that one is killed and another is started."""
    started = [
        subprocess.Popen(
            command(busy_database, "run"), cwd=busy_database.parent, stderr=subprocess.PIPE, text=True
        )
        for _ in range(8)
    ]
    try:
        deadline = time.monotonic() + 60
        while sum(process.poll() is None for process in started) > 1 and time.monotonic() < deadline:
            time.sleep(0.05)
        alive = [process for process in started if process.poll() is None]
        assert len(alive) == 1
        latecomers = [process for process in started if process not in alive]
        assert [process.returncode for process in latecomers] == [75] * 7
        for process in latecomers:
            error_text = process.stderr.read() if process.stderr else ""
            assert f"another process ({alive[0].pid}) already works on {busy_database}" in error_text
            assert "Traceback" not in error_text
        alive[0].kill()
        alive[0].wait()
    finally:
        for process in started:
            process.kill()
            process.wait()
            if process.stderr:
                process.stderr.close()
    done = subprocess.run(
        command(busy_database, "-q", "run", "--once"), cwd=busy_database.parent, check=False, timeout=100
    )
    assert done.returncode == 0
    world = World(open_store(str(busy_database)), busy_database.parent)
    states = Counter(review.state for review in world.reviews())
    assert set(states) <= {"done", "waiting"}
    assert states["done"] > 30
    assert set(Counter((x.review_id, x.revision, x.channel) for x in world.letters()).values()) == {1}
    world.store.close()


def test_9_the_lock_goes_with_its_holder(tmp_path: Path) -> None:
    database = tmp_path / "retro.db"
    database.touch()
    holder = FORK.Process(target=_hold, args=(database,))
    holder.start()
    deadline = time.monotonic() + 10
    while not (tmp_path / "held").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    with pytest.raises(BusyError, match=rf"another process \({holder.pid}\) already works on"):
        Instance.of(database)
    holder.kill()
    holder.join()
    Instance.of(database).release()
    assert (tmp_path / "retro.db.lock").stat().st_mode & 0o777 == 0o600


def _hold(database: Path) -> None:
    lock = Instance.of(database)
    (database.parent / "held").touch()
    time.sleep(60)
    lock.release()
