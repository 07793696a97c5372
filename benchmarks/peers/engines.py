"""Other engines at the jobs of a fleet: each leaves a row in the same PostgreSQL and does nothing else.

    python -m benchmarks.fleet --peer procrastinate --peer dbos --peer celery

runs them beside us; by itself this is one of their processes: `python -m benchmarks.peers.engines NAME URL fill|work`.
A job commits its row by a connection of its own, whereupon its engine notes in a commit of its own that it is done:
a kill between the two leaves a row twice. What a kill costs besides differs; `PROMISES` says how.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psycopg

if TYPE_CHECKING:
    from collections.abc import Iterator

JOBS: Final = {"procrastinate": 60_000, "dbos": 15_000, "celery": 15_000}
"""How many wait when the measurement begins: more than anybody does meanwhile."""
INSTALLED_BY: Final = {
    "procrastinate": "pip install 'slow-mirror[fleet]'",
    "dbos": "pip install dbos",
    "celery": "pip install 'celery[sqlalchemy]'",
}
PROMISES: Final = {
    "procrastinate": "at least once; a killed worker's job waits for a sweep of yours",
    "dbos": "at least once; a killed executor's jobs wait for its restart",
    "celery": "over PostgreSQL at most once: a message is hidden for ever in the commit that reads it",
}
_STARTING_S: Final = 60


class PeerMissing(Exception):  # noqa: N818  a peer's absence is no error of ours
    """A peer is not installed, has failed, or ran out of jobs: a sentence that says which."""


@contextmanager
def at_work(name: str, url: str, workers: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes of another engine, each of which leaves rows by now; `PeerMissing` where there are none."""
    if importlib.util.find_spec(name) is None:
        raise PeerMissing(f"not installed: {INSTALLED_BY[name]}")
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("DROP TABLE IF EXISTS effects; CREATE TABLE effects (job bigint)")
    words = [sys.executable, "-m", "benchmarks.peers.engines", name, url]
    filled = subprocess.run([*words, "fill"], check=False, stderr=subprocess.PIPE, text=True)
    if filled.returncode:
        raise PeerMissing(f"failed: {filled.stderr[-500:]}")
    with tempfile.TemporaryFile() as said, psycopg.connect(url, autocommit=True) as conn:
        processes = [subprocess.Popen([*words, "work"], stdout=said, stderr=said) for _ in range(workers)]
        try:
            began = time.monotonic()
            while count(conn) < 5 * workers:
                if time.monotonic() > began + _STARTING_S:
                    said.seek(0)
                    raise PeerMissing(f"did nothing: {said.read()[-500:].decode(errors='replace')}")
                time.sleep(0.1)
            yield processes
            if count(conn) >= JOBS[name]:
                raise PeerMissing(f"ran out of {JOBS[name]:,} jobs: measure for fewer seconds")
        finally:
            for process in processes:
                process.kill()
            for process in processes:
                process.wait()


def count(conn: psycopg.Connection[Any]) -> int:
    """Rows that jobs have left."""
    row = conn.execute("SELECT count(*) FROM effects").fetchone()
    return int(row[0]) if row else 0


class Effects:
    """Rows left by this process, each in a commit of its own; a thread keeps its connection."""

    def __init__(self, url: str) -> None:
        self._url, self._own = url, threading.local()

    def leave(self, job: int) -> None:
        if not hasattr(self._own, "conn"):
            self._own.conn = psycopg.connect(self._url, autocommit=True)
        self._own.conn.execute("INSERT INTO effects VALUES (%s)", (job,))


def _procrastinate(url: str, what: str) -> None:
    """A job a review, in a schema of its own; its row is written by the engine's own connections."""
    from procrastinate import App, PsycopgConnector
    from procrastinate.schema import SchemaManager

    if what == "fill":
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("DROP SCHEMA IF EXISTS peer CASCADE; CREATE SCHEMA peer; SET search_path = peer")
            conn.execute(SchemaManager.get_schema())
            conn.execute(
                "INSERT INTO procrastinate_jobs (queue_name, task_name, args)"
                f" SELECT 'noop', 'noop', jsonb_build_object('job', n) FROM generate_series(1, {JOBS['procrastinate']}) AS n"
            )
            conn.execute("ANALYZE procrastinate_jobs")
        return
    app = App(connector=PsycopgConnector(conninfo=url, kwargs={"options": "-csearch_path=peer,public"}))

    @app.task(name="noop", queue="noop")
    async def noop(job: int) -> None:
        connector: Any = app.connector
        await connector.execute_query_async("INSERT INTO public.effects VALUES (%(job)s)", job=job)

    app.run_worker(queues=["noop"], concurrency=1, delete_jobs="always")


def _dbos(url: str, what: str) -> None:
    """A workflow a review, of one step; ten threads a process, for one would wait for its queue most of the time."""
    dbos: Any = importlib.import_module("dbos").DBOS
    dbos(
        config={
            "name": "peer",
            "system_database_url": url,
            "application_version": "1",
            "executor_id": f"{what}-{os.getpid()}",  # or each would take over what the others are at
            "log_level": "ERROR",
        }
    )
    effects = Effects(url)

    @dbos.step()  # type: ignore[untyped-decorator, unused-ignore]
    def leave(job: int) -> None:
        effects.leave(job)

    @dbos.workflow()  # type: ignore[untyped-decorator, unused-ignore]
    def noop(job: int) -> None:
        leave(job)

    if what == "fill":
        dbos.listen_queues([])  # or it would do them all itself
        dbos.launch()
        dbos.register_queue("noop", worker_concurrency=10, polling_interval_sec=0.05)
        for job in range(JOBS["dbos"]):
            dbos.enqueue_workflow("noop", noop, job)
        dbos.destroy()
        return
    dbos.launch()
    time.sleep(3600)


def _celery(url: str, what: str) -> None:
    """A task a review over the same PostgreSQL as broker, acknowledged late."""
    app: Any = importlib.import_module("celery").Celery(
        "peer", broker="sqla+" + url.replace("postgresql://", "postgresql+psycopg://")
    )
    app.conf.update(task_acks_late=True, worker_prefetch_multiplier=1, task_ignore_result=True)
    effects = Effects(url)

    @app.task(name="noop")  # type: ignore[untyped-decorator, unused-ignore]
    def noop(job: int) -> None:
        effects.leave(job)

    if what == "fill":
        for job in range(JOBS["celery"]):
            noop.delay(job)
        return
    app.worker_main(
        ["--quiet", "worker", "--pool=solo", "--loglevel=ERROR", "--without-gossip", "--without-mingle",
         "--without-heartbeat", f"--hostname=peer{os.getpid()}@%h"]
    )  # fmt: skip


PEERS: Final = {"procrastinate": _procrastinate, "dbos": _dbos, "celery": _celery}


if __name__ == "__main__":
    os.chdir(Path(tempfile.gettempdir()))
    PEERS[sys.argv[1]](*sys.argv[2:])
