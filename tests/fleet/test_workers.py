"""Workers of a fleet: whatever happens to an engine's knocks, each review is made once and says what it says on SQLite.

Numbers in names are those of the fleet's test plan (docs/fleet.md); at full size: `tests/fleet_sweep.py`.
"""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retro.app.context import Knock, PassSummary
from retro.app.doctor.check import Installation
from retro.app.doctor.fleet import fleet
from retro.app.engine.knocks import answer, ripe_knocks
from retro.app.intake.sources import read_all
from retro.daemon import fleet as daemon
from retro.daemon.fleet import Worker, WorkerTerms, install
from retro.daemon.notify import Notifier
from retro.daemon.worker_page import WorkerCounts, serve_page
from retro.errors import LostClaimError, UsageError
from retro.periods import DAY, HOUR
from retro.store.database import Store, open_store
from retro.store.jobs import claims, outbox
from retro.store.jobs.backlog import ripe_buckets
from retro.store.jobs.queue import HOLDER
from retro.store.locks import bucket_of
from retro.store.migrations.engine import engine_schema, engine_state
from tests.worlds.service_world import MONDAY, Recorder, World, life, lines_of

AGENTS = ("ash", "birch", "cedar")
WHEN = MONDAY + DAY + 2 * HOUR
EMPTY = (
    "TRUNCATE procrastinate_jobs, procrastinate_workers, procrastinate_events, procrastinate_periodic_defers"
)


def told(store: Store, folder: Path) -> World:
    """Three agents' first day, told to a database; nothing is settled, owed or made."""
    world = World(store, folder, at=MONDAY + HOUR, mail=Recorder())
    for name in AGENTS:
        world.tell(life(1, name))
    world.clock.set(WHEN)
    return world


@pytest.fixture
def postgres(postgres_url: str) -> Iterator[Store]:
    store = open_store(postgres_url)
    yield store
    store.close()


@pytest.fixture
def world(postgres: Store, tmp_path: Path) -> World:
    install(postgres)
    engine_rows(postgres, EMPTY)  # a schema of ours is emptied between tests, the engine's is not
    return told(postgres, tmp_path)


def worker_of(world: World) -> Worker:
    return Worker(world.bench(alone=False, host="here"), WorkerTerms(concurrency=2))


async def _to_the_end(worker: Worker) -> None:
    """Sweep and answer until the ledger has nothing to do; every knock that is asked for goes through the engine."""
    for _ in range(9):
        async with worker.opened():
            await worker.sweep()
            await worker.run(wait=False)
        with worker.bench.store.read() as conn:
            now = worker.bench.clock()
            is_over = not ripe_buckets(conn, now) and not outbox.ripe(conn, now)
            if (
                is_over and not engine_state(conn).waiting
            ):  # one that nobody needs may be asked for at the very end
                return
    pytest.fail("it never ends")


def work_to_the_end(world: World) -> Worker:
    worker = worker_of(world)
    asyncio.run(_to_the_end(worker))
    return worker


def documents(world: World) -> dict[str, str]:
    return {review.id: world.text(review.id) for review in world.reviews() if review.state == "done"}


def engine_rows(store: Store, statement: str) -> Any:
    with store.write() as conn:
        conn.exec_driver_sql(f'SET LOCAL search_path = "{engine_schema(conn)}"')
        result = conn.exec_driver_sql(statement)
        return result.scalars().all() if result.returns_rows else []


def test_f1_workers_make_each_review_once_with_the_bytes_of_sqlite(world: World, tmp_path: Path) -> None:
    worker = work_to_the_end(world)
    (tmp_path / "lite").mkdir()
    alone = told(open_store(str(tmp_path / "lite" / "retro.db")), tmp_path / "lite")
    alone.knock()
    assert documents(world) == documents(alone)
    assert len(documents(world)) >= 2 * len(AGENTS)
    assert {review.attempts for review in world.reviews()} == {0}
    letters, expected = (
        sorted((letter.review_id, letter.channel) for letter in each.letters()) for each in (world, alone)
    )
    assert letters == expected != []
    assert {letter.state for letter in world.letters()} == {"sent"}
    assert worker.counts.outcomes["done"] == len(documents(world))
    assert worker.counts.outcomes["failed"] == 0
    alone.store.close()


def test_f8_what_the_engine_loses_the_next_sweep_asks_for_again(world: World) -> None:
    worker = worker_of(world)

    async def asked_and_lost() -> None:
        async with worker.opened():
            await worker.sweep()

    asyncio.run(asked_and_lost())
    with world.store.read() as conn:
        assert engine_state(conn).waiting == {"stream": len(AGENTS)}
    engine_rows(world.store, EMPTY)
    work_to_the_end(world)
    assert len(documents(world)) >= 2 * len(AGENTS)


def test_the_server_knows_at_once_of_many_knocks(world: World) -> None:
    """It has planned how to fetch one while there was none, and would look at all of them for each."""
    worker = worker_of(world)

    async def asked() -> None:
        async with worker.opened():
            assert worker._engine is not None
            await worker._ask_all(worker._engine, [Knock("stream", bucket) for bucket in range(60)])

    asyncio.run(asked())
    known = engine_rows(
        world.store, "SELECT reltuples FROM pg_class WHERE oid = 'procrastinate_jobs'::regclass"
    )
    assert known == [60]
    engine_rows(world.store, EMPTY)


def test_a_knock_that_died_with_its_worker_is_taken_from_it_and_what_it_held_is_made(world: World) -> None:
    """Its row says that it is being answered, and the review that it is leased: neither is waited for."""
    bucket = bucket_of("ash")
    world.owe()
    with world.store.write() as conn:
        assert claims.claim(conn, f"{HOLDER}dead", world.clock(), world.bench().lease, limit=9, bucket=bucket)
    worker = worker_of(world)

    async def died() -> None:
        async with worker.opened():
            await worker.ask(Knock("stream", bucket))
            await worker.ask(Knock("stream", bucket))

    asyncio.run(died())
    engine_rows(world.store, "UPDATE procrastinate_jobs SET status = 'doing'")
    with world.store.read() as conn:
        assert engine_state(conn).stalled == 1, "and twice asked for is asked for once"
    work_to_the_end(world)
    with world.store.read() as conn:
        assert engine_state(conn)[:3] == ({}, {}, 0)
    assert [event["knock"] for event in world.events("knock_taken_over")] == [f"stream-{bucket}"]
    assert len(documents(world)) >= 2 * len(AGENTS)


def test_f4_who_holds_a_bucket_frees_at_once_what_a_zombie_held_and_its_fence_is_shut(world: World) -> None:
    bench, bucket = world.bench(alone=False), bucket_of("ash")
    world.owe()
    with world.store.write() as conn:
        zombie = claims.claim(conn, f"{HOLDER}zombie", world.clock(), bench.lease, limit=1, bucket=bucket)
        other = claims.claim(
            conn, "a service", world.clock(), bench.lease, limit=1, bucket=bucket_of("birch")
        )
    for name in ("ash", "birch"):
        answer(bench, Knock("stream", bucket_of(name)))
    states = {review.id: review.state for review in world.reviews()}
    assert states[zombie[0].id] == "done"
    assert states[other[0].id] == "running", "`retro run` holds no bucket: its lease counts"
    with world.store.write() as conn, pytest.raises(LostClaimError):
        claims.finish(conn, zombie[0], world.clock())


def test_a_letter_that_is_being_sent_is_not_freed_by_a_knock_that_makes_reviews(world: World) -> None:
    bench, bucket = world.bench(alone=False), bucket_of("ash")
    answer(bench, Knock("stream", bucket))
    with world.store.write() as conn:
        sending = outbox.claim(
            conn, f"{HOLDER}x", world.clock(), bench.lease, "file", digest=outbox.ALONE, bucket=bucket
        )
    assert sending
    answer(bench, Knock("stream", bucket))
    assert [x.state for x in world.letters() if x.key == sending[0].key] == ["sending"]
    answer(bench, Knock("letters", bucket))
    assert {x.state for x in world.letters()} == {"sent"}


def test_a_sweep_asks_for_each_bucket_that_has_anything_and_for_no_other(world: World) -> None:
    asked: list[Knock] = []
    bench = world.bench(alone=False, ask=asked.append)
    buckets = sorted(map(bucket_of, AGENTS))
    knocks = ripe_knocks(bench)
    assert knocks == [Knock("stream", bucket) for bucket in buckets]
    for knock in knocks:
        answer(bench, knock)
    assert asked == [Knock("letters", bucket) for bucket in buckets] == ripe_knocks(bench)
    for knock in [*asked]:
        answer(bench, knock)
    assert ripe_knocks(bench) == []


def test_who_a_source_tells_of_is_knocked_for_at_once_and_nobody_where_nothing_is_new(
    postgres: Store, tmp_path: Path
) -> None:
    journal = tmp_path / "a.jsonl"
    journal.write_bytes(lines_of(life(1, "ash") + life(1, "birch")))
    source = {"kind": "journal", "path": str(journal)}
    world = World(postgres, tmp_path, at=WHEN, configuration={"source": [source]})
    asked: list[Knock] = []
    bench = world.bench(alone=False, host="here", ask=asked.append)
    read_all(bench, PassSummary())
    assert asked == [Knock("stream", bucket) for bucket in sorted(map(bucket_of, ("ash", "birch")))]
    with journal.open("ab") as file:
        file.write(lines_of(life(1, "birch")) + lines_of(life(1, "cedar")))
    asked.clear()
    read_all(bench, PassSummary())
    assert asked == [Knock("stream", bucket_of("cedar"))]


def test_the_doctor_knows_who_is_silent_and_what_waits_for_hours(world: World) -> None:
    def examined(hours: int) -> list[tuple[str, str]]:
        house = Installation(world.bench().config, {}, WHEN + hours * HOUR, world.store)
        return [(check.state, check.detail.partition(";")[0].partition(":")[0]) for check in fleet(house)]

    def signs(of: str) -> None:
        engine_rows(
            world.store,
            f"INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '{of}')",
        )

    nobody_there = "no worker gives a sign of life"
    assert examined(0) == [("note", nobody_there)], "what nobody has looked at yet is not late"
    work_to_the_end(world)
    engine_rows(world.store, EMPTY)
    assert examined(0) == [("note", nobody_there)]
    assert examined(25) == [("broken", nobody_there)], "the day after has ended, and nobody has looked"
    world.clock.set(WHEN + 25 * HOUR)
    world.owe()
    assert examined(25) == [("broken", nobody_there)], "it is written down, and waits"
    signs("1 second")
    assert examined(25) == [("broken", "buckets of agents that wait for more than 2 hours")]
    work_to_the_end(world)
    assert examined(25) == [("ok", "workers that give signs of life")]
    engine_rows(world.store, EMPTY)
    signs("1 minute")
    engine_rows(
        world.store,
        "INSERT INTO procrastinate_jobs (queue_name, task_name, status, worker_id)"
        " SELECT 'stream', 'knock', 'doing', max(id) FROM procrastinate_workers",
    )
    assert examined(25) == [("note", "knocks whose worker is silent"), ("note", nobody_there)]


def test_sqlite_has_no_fleet(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "retro.db"))
    with pytest.raises(UsageError, match="PostgreSQL"):
        install(store)
    store.close()


def test_a_worker_gives_signs_of_life_while_it_reads_a_source_for_long(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the watchdog of its unit would kill it at each first reading of a large one."""
    reading, read = threading.Event(), threading.Event()

    class Reader(Worker):
        def look(self, *, note: bool) -> None:
            assert note
            reading.set()
            read.wait(10)

    monkeypatch.setattr(daemon, "_TICK_S", 0.01)
    address = str(tmp_path / "systemd")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(address)
        systemd.settimeout(5)
        worker = Reader(World(store, tmp_path).bench(), WorkerTerms())
        notifier = Notifier({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "4000"})

        async def signs() -> list[bytes]:
            ticks = asyncio.create_task(daemon._tick(worker, notifier))
            await asyncio.to_thread(reading.wait, 5)
            got = [await asyncio.to_thread(systemd.recv, 99) for _ in range(3)]
            ticks.cancel()
            read.set()
            return got

        assert asyncio.run(signs()) == [b"WATCHDOG=1"] * 3


def test_a_worker_says_how_it_is(world: World) -> None:
    async def pages() -> list[tuple[int, str]]:
        counts = WorkerCounts()
        counts.add("stream", world.knock(), 1.5)
        stopping = False
        server = await serve_page(counts, world.store, ("127.0.0.1", 0), lambda: stopping)
        assert server is not None
        port = server.sockets[0].getsockname()[1]

        def get(path: str) -> tuple[int, str]:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, ""

        got = [await asyncio.to_thread(get, path) for path in ("/healthz", "/metrics", "/x")]
        stopping = True
        got.append(await asyncio.to_thread(get, "/healthz"))
        server.close()
        return got

    with world.store.engine.connect() as forgotten:
        forgotten.exec_driver_sql("BEGIN ISOLATION LEVEL REPEATABLE READ")
        forgotten.exec_driver_sql("SELECT count(*) FROM reviews")
        health, metrics, nothing, ended = asyncio.run(pages())
    assert (health, nothing[0], ended[0]) == ((200, "ok\n"), 404, 503)
    assert 'retro_worker_knocks{queue="stream"} 1\n' in metrics[1]
    assert "retro_lag_seconds 0\n" in metrics[1]
    assert 'retro_worker_outcomes{outcome="lost"} 0\n' in metrics[1]
    assert metrics[1].endswith("# EOF\n")
    (snapshot_s,) = re.findall(r"^retro_oldest_snapshot_seconds (\S+)$", metrics[1], re.MULTILINE)
    assert 0 < float(snapshot_s) < 3600, "of the session that nobody ended"
    assert "retro_lock_waits " in metrics[1]
    assert 'retro_dead_rows{table="reviews"} ' in metrics[1]
    assert "retro_standby_lag_seconds" not in metrics[1], "there is no standby"
