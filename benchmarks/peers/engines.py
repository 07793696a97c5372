"""Other engines at the jobs of a fleet: each leaves a row in the same PostgreSQL and does nothing else.

    python -m benchmarks.fleet --peer procrastinate --peer dbos --peer celery

runs them beside us; by itself this is one of their processes: `python -m benchmarks.peers.engines NAME URL fill|work`.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from typing import Any

import psycopg


def rate_of(name: str, url: str, workers: int, seconds: float) -> float | None:
    """Jobs a second of another engine, each leaving a row; None where it is not installed."""
    if importlib.util.find_spec(name) is None:
        return None
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("DROP TABLE IF EXISTS effects; CREATE TABLE effects (job bigint)")
    words = [sys.executable, "-m", "benchmarks.peers.engines", name, url]
    filled = subprocess.run([*words, "fill"], check=False, stderr=subprocess.PIPE, text=True)
    if filled.returncode:
        print(filled.stderr[-500:])
        return None
    processes = [subprocess.Popen([*words, "work"], stderr=subprocess.DEVNULL) for _ in range(workers)]
    try:
        with psycopg.connect(url, autocommit=True) as conn:
            began = time.monotonic()
            while not count(conn) and time.monotonic() < began + 60:
                time.sleep(0.1)
            first, began = count(conn), time.monotonic()
            time.sleep(seconds)
            return (count(conn) - first) / (time.monotonic() - began)
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def count(conn: psycopg.Connection[Any]) -> int:
    row = conn.execute("SELECT count(*) FROM effects").fetchone()
    return int(row[0]) if row else 0


def _procrastinate(url: str, what: str) -> None:
    """A job a review, in a schema of its own."""
    from procrastinate import App, PsycopgConnector
    from procrastinate.schema import SchemaManager

    if what == "fill":
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("DROP SCHEMA IF EXISTS peer CASCADE; CREATE SCHEMA peer; SET search_path = peer")
            conn.execute(SchemaManager.get_schema())
            conn.execute(
                "INSERT INTO procrastinate_jobs (queue_name, task_name, args)"
                " SELECT 'noop', 'noop', jsonb_build_object('job', n) FROM generate_series(1, 60000) AS n"
            )
        return
    app = App(connector=PsycopgConnector(conninfo=url, kwargs={"options": "-csearch_path=peer,public"}))

    @app.task(name="noop", queue="noop")
    async def noop(job: int) -> None:
        connector: Any = app.connector
        await connector.execute_query_async("INSERT INTO public.effects VALUES (%(job)s)", job=job)

    app.run_worker(queues=["noop"], concurrency=1, delete_jobs="always")


def _dbos(url: str, what: str) -> None:
    """A workflow a review, of one step."""
    from dbos import DBOS

    DBOS(config={"name": "peer", "system_database_url": url})

    def leave(job: int) -> None:
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("INSERT INTO effects VALUES (%s)", (job,))

    step = DBOS.step()(leave)

    def noop(job: int) -> None:
        step(job)

    flow = DBOS.workflow()(noop)

    DBOS.launch()
    if what == "fill":  # without listening, or it would do them all itself
        for job in range(1000):
            DBOS.enqueue_workflow("noop", flow, job)
        return
    DBOS.register_queue("noop", worker_concurrency=10, polling_interval_sec=0.05)
    time.sleep(3600)


def _celery(url: str, what: str) -> None:
    """A task a review over the same PostgreSQL as broker, acknowledged late."""
    from celery import Celery

    broker = "sqla+" + url.replace("postgresql://", "postgresql+psycopg://")
    app = Celery("peer", broker=broker)
    app.conf.update(task_acks_late=True, worker_prefetch_multiplier=1)

    def noop(job: int) -> None:
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("INSERT INTO effects VALUES (%s)", (job,))

    task = app.task(name="noop", ignore_result=True)(noop)
    if what == "fill":
        for job in range(3000):
            task.delay(job)
        return
    app.worker_main(
        ["--quiet", "worker", "--pool=solo", "--loglevel=ERROR", "--without-gossip", "--without-mingle"]
    )


PEERS = {"procrastinate": _procrastinate, "dbos": _dbos, "celery": _celery}


if __name__ == "__main__":
    PEERS[sys.argv[1]](*sys.argv[2:])
