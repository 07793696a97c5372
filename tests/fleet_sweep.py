"""A fleet under everything that may happen to it, against one SQLite that nothing happens to (F1, F4, F5, F6, F8).

    python -m tests.fleet_sweep [--agents 10000] [--workers 8] [--sleep-ms 40] [--no-standby]

Workers review agents on a PostgreSQL with a synchronous standby. Meanwhile two are killed, one is stopped past its
heart-beat and continued, the line of one falls silent, the engine's tables are truncated, and the primary is killed and its standby promoted. In the end
every document has the bytes that SQLite gives, each review has taken effect once, no acknowledged one is missing, and no
letter was sent more than twice.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import and_, select

from retro.app.context import Consequence
from retro.app.narration.narrators import plain_words
from retro.daemon.fleet import Worker, WorkerTerms, _serve, _Stop, install
from retro.daemon.notify import Notifier
from retro.deliver.channel import Message, Outcome, Sent
from retro.periods import DAY, HOUR
from retro.store.database import Store, open_store
from retro.store.jobs import tables
from tests.fleet.servers import Line, Servers, connected
from tests.worlds.service_world import MONDAY, Recorder, World, life

WHEN = MONDAY + DAY + 2 * HOUR
SETTINGS: dict[str, Any] = {
    "retrospective": {"epoch_review_enabled": False, "weekly_review_enabled": False},
    "mail": {"host": "127.0.0.1", "recipients": ["ada@example.org"], "kinds": ["daily"]},
}
EFFECTS = (
    "CREATE TABLE effects (review text, revision bigint, worker text);"
    "CREATE TABLE mails (review text, revision bigint, recipient text, digest text)"
)
TAKEN_OVER_S = 90


# one worker


class Mails:
    """A channel that writes down what it was handed at once, whatever becomes of the worker."""

    name = "mail"

    def __init__(self, url: str) -> None:
        self.url = url

    def recipients(self, _: Any) -> tuple[str, ...]:
        return ("ada@example.org",)

    def send(self, message: Message) -> Outcome:
        digest = hashlib.sha256(repr(message.document).encode()).hexdigest()
        row = (message.review_id, message.revision, message.recipient, digest)
        with connected(self.url) as conn:
            conn.execute("INSERT INTO mails VALUES (%s, %s, %s, %s)", row)
        return Sent()


def as_worker(url: str, folder: Path, began: float, sleep_s: float) -> None:
    """What each process of the fleet does, on a clock that began with the sweep."""
    store = open_store(url)

    def effect(conn: Any, review: Any, _: Any) -> None:
        row = (review.id, review.revision, str(os.getpid()))
        conn.exec_driver_sql("INSERT INTO effects VALUES (%s, %s, %s)", row)

    def words(*review: Any) -> Any:
        time.sleep(sleep_s)
        return plain_words(*review)

    world = World(store, folder, configuration=SETTINGS)
    stop = _Stop()
    bench = world.bench(
        alone=False,
        clock=lambda: WHEN + round((time.time() - began) * 1e6),
        owner=f"worker:{os.getpid()}",
        channels={"file": Recorder("file", ()), "mail": Mails(url)},
        consequences=(Consequence("effects", effect),),
        words=words,
        stopping=stop.asked,
        log=lambda event, **fields: print(json.dumps({"event": event, **fields}, default=str), flush=True),
    )
    asyncio.run(_serve(Worker(bench, WorkerTerms()), stop, Notifier({})))


# the sweep


def tell(world: World, names: list[str]) -> None:
    """The first day of each, while it lives: what is due after it is no history, and is mailed."""
    world.clock.set(MONDAY + HOUR)
    for first in range(0, len(names), 200):
        world.tell([event for name in names[first : first + 200] for event in life(1, name)])
    world.clock.set(WHEN)


def documents(store: Store) -> dict[str, str]:
    """Review -> digest of its document, of all that are done."""
    r, d = tables.reviews.c, tables.documents.c
    newest = and_(d.review == r.key, d.revision == r.revision)
    query = select(r.id, d.document).join(tables.documents, newest).where(r.state == "done")
    with store.read() as conn:
        rows = conn.execute(query).all()
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in rows}


class Fleet:
    """The processes of a sweep, and what is done to them on the way."""

    def __init__(self, servers: Servers, folder: Path, workers: int, sleep_ms: float, total: int) -> None:
        self.servers, self.folder, self.sleep_ms, self.total = servers, folder, sleep_ms, total
        self.began = time.time()
        info = psycopg.conninfo.conninfo_to_dict(servers.first)
        self.line = Line(folder / "line", f"{info['host']}/.s.PGSQL.{info.get('port', 5432)}")
        self.processes = [self._start(number) for number in range(workers)]

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        url = self.line.url if number == 3 else self.servers.url
        words = ["--as-worker", url, str(self.folder), str(self.began), str(self.sleep_ms / 1000)]
        with (self.folder / f"worker-{number}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.fleet_sweep", *words], stdout=log, stderr=log
            )

    def done(self) -> int:
        with connected(self.servers.url) as conn:
            row = conn.execute("SELECT count(*) FROM reviews WHERE state = 'done'").fetchone()
        return int(row[0]) if row else 0

    def until(self, share: float, patience_s: float = 900) -> None:
        """Wait until so much is done."""
        deadline = time.monotonic() + patience_s
        while (number := self.done()) < share * self.total:
            if time.monotonic() > deadline:
                raise SystemExit(f"{number} of {self.total} reviews after {patience_s:.0f} s")
            time.sleep(0.2)

    def freed_after_s(self, pid: int) -> float:
        """Seconds until nothing is held any more by a process that was killed just now."""
        began = time.monotonic()
        query = "SELECT count(*) FROM reviews WHERE state = 'running' AND owner LIKE %s"
        with connected(self.servers.url) as conn:
            while (row := conn.execute(query, (f"%worker:{pid}:%",)).fetchone()) and row[0]:
                if time.monotonic() - began > TAKEN_OVER_S + 60:
                    break
                time.sleep(0.2)
        return time.monotonic() - began

    def at_work(self, number: int, act: Callable[[], object]) -> float:
        """Do something to a worker while it holds a review; seconds until that is free."""
        process = self.processes[number]
        query = "SELECT count(*) FROM reviews WHERE state = 'running' AND owner LIKE %s"
        with connected(self.servers.url) as conn:
            for _ in range(200):
                row = conn.execute(query, (f"%worker:{process.pid}:%",)).fetchone()
                if row and row[0]:
                    break
                time.sleep(0.02)
        act()
        return self.freed_after_s(process.pid)

    def end(self) -> list[int]:
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        return [process.wait(90) for process in self.processes]


def taken_over(seconds: float) -> str:
    assert seconds <= TAKEN_OVER_S, f"{seconds:.0f} s"
    return f"{seconds:.0f} s"


def disturbed(fleet: Fleet, servers: Servers) -> Iterator[str]:
    """Everything that happens, in order; what each came to."""
    fleet.until(0.1)
    first, second, third = fleet.processes[:3]
    yield f"worker killed: what it held was free after {taken_over(fleet.at_work(0, first.kill))}"
    fleet.until(0.25)
    yield f"another killed: free after {taken_over(fleet.at_work(1, second.kill))}"
    fleet.until(0.4)
    freed_s = fleet.at_work(2, lambda: third.send_signal(signal.SIGSTOP))
    third.send_signal(signal.SIGCONT)
    yield f"worker stopped: free after {taken_over(freed_s)}; continued"
    fleet.until(0.5)
    freed_s = fleet.at_work(3, lambda: setattr(fleet.line, "silent", True))
    fleet.line.silent = False
    yield f"line silent: free after {taken_over(freed_s)}; heard again"
    fleet.until(0.6)
    with connected(servers.url) as conn:
        conn.execute(
            "TRUNCATE fleet.procrastinate_jobs, fleet.procrastinate_workers, fleet.procrastinate_events,"
            " fleet.procrastinate_periodic_defers"
        )
    yield "the engine's tables truncated"
    if servers.standby is not None:
        fleet.until(0.75)
        acknowledged = fleet.done()
        took_s = servers.fail_over()
        fleet.line.target = servers.socket  # as a line that people mend
        missing = acknowledged - fleet.done()
        assert missing <= 0, f"{missing} acknowledged reviews are missing"
        yield f"failed over in {took_s:.1f} s: 0 of {acknowledged} acknowledged reviews missing"
    fleet.until(1.0)


def main() -> None:
    """Sweep and print what it came to."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--agents", type=int, default=10_000)
    options.add_argument("--workers", type=int, default=8)
    options.add_argument("--sleep-ms", type=float, default=40.0, help="how long a review takes besides")
    options.add_argument("--no-standby", action="store_true")
    options.add_argument("--as-worker", nargs=4, help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.as_worker:
        url, place, *numbers = arguments.as_worker
        as_worker(url, Path(place), *map(float, numbers))
        return
    names = [f"agent-{number}" for number in range(arguments.agents)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lite = World(open_store(str(folder / "lite.db")), folder, at=WHEN, configuration=SETTINGS)
        tell(lite, names)
        lite.knock()
        expected = documents(lite.store)
        print(f"{len(expected)} reviews of {len(names)} agents on SQLite", flush=True)
        servers = Servers(folder, standby=not arguments.no_standby)
        try:
            check(servers, folder, arguments, names, expected)
        finally:
            servers.stop()


def check(
    servers: Servers, folder: Path, arguments: argparse.Namespace, names: list[str], expected: dict[str, str]
) -> None:
    """Let a fleet make the same reviews, disturb it, and compare."""
    store = open_store(servers.url)
    tell(World(store, folder, at=WHEN, configuration=SETTINGS), names)
    install(store)
    with connected(servers.url) as conn:
        conn.execute(EFFECTS)
    workers = arguments.workers
    fleet = Fleet(servers, folder, workers, arguments.sleep_ms, len(expected))
    try:
        for sentence in disturbed(fleet, servers):
            print(f"{time.time() - fleet.began:6.1f} s  {sentence}", flush=True)
        took_s = time.time() - fleet.began
        time.sleep(65)  # for letters: the sweep after the last review, and the one after that
    finally:
        codes = fleet.end()
    letters: dict[Any, list[str]] = {}
    with connected(servers.url) as conn:
        effects = Counter(conn.execute("SELECT review, revision FROM effects").fetchall())
        for *letter, digest in conn.execute("SELECT review, revision, recipient, digest FROM mails"):
            letters.setdefault(tuple(letter), []).append(digest)
        unsent = conn.execute("SELECT review, state FROM outbox WHERE state <> 'sent'").fetchall()
    got = documents(store)
    store.close()
    faults = {
        "workers that did not end in good order": [
            (number, code)
            for number, code in enumerate(codes)
            if code != (-signal.SIGKILL if number < 2 else 0)
        ],
        "reviews lost": expected.keys() - got.keys(),
        "reviews not asked for": got.keys() - expected.keys(),
        "not the bytes of SQLite": [
            name for name in expected.keys() & got.keys() if expected[name] != got[name]
        ],
        "reviews without their effect": expected.keys() - {review for review, _ in effects},
        "effects of no review": {review for review, _ in effects} - expected.keys(),
        "effects doubled": [key for key, number in effects.items() if number > 1],
        "letters not sent": unsent,
        "letters that came more than twice": [key for key, digests in letters.items() if len(digests) > 2],
        "letters that came twice and differ": [
            key for key, digests in letters.items() if len(set(digests)) > 1
        ],
    }
    faults = {name: sorted(those, key=str) for name, those in faults.items() if those}
    for name, those in faults.items():
        print(f"{name}: {len(those)}, such as {those[:5]}", file=sys.stderr)
    if faults:
        raise SystemExit(1)
    twice = sum(len(digests) == 2 for digests in letters.values())
    print(
        f"{len(expected)} reviews by {workers} workers in {took_s:.0f} s: 0 lost, 0 doubled, bytes as on SQLite;"
        f" {len(letters)} letters, {twice} came twice and the same"
    )


if __name__ == "__main__":
    main()
