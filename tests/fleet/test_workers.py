"""Workers of a fleet: whatever happens to an engine's knocks, each review is made once and says what it says on SQLite.

F1, F3, F4, F5, F6 and F8 at full size are in `tests/fleet_sweep.py`; numbers in names are those of the fleet's test plan.
"""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retro.app.engine.knocks import Ask, Knock, answer, sweep
from retro.daemon.fleet import Worker, WorkerTerms, install
from retro.daemon.worker_page import WorkerCounts, serve_page
from retro.errors import LostClaimError, UsageError
from retro.periods import DAY, HOUR
from retro.store.database import Store, open_store
from retro.store.jobs import claims, outbox
from retro.store.jobs.backlog import ripe_buckets
from retro.store.jobs.queue import HOLDER
from retro.store.locks import bucket_of
from retro.store.migrations.engine import engine_schema, engine_state
from tests.worlds.service_world import MONDAY, Recorder, World, life

AGENTS = ("ash", "birch", "cedar")
WHEN = MONDAY + DAY + 2 * HOUR
EMPTY = (
    "TRUNCATE procrastinate_jobs, procrastinate_workers, procrastinate_events, procrastinate_periodic_defers"
)


def nobody(_: Knock, __: int | None) -> None:
    """An engine that loses whatever it is asked for."""


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
            if not ripe_buckets(conn, worker.bench.clock()) and not outbox.ripe(conn, worker.bench.clock()):
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
        return conn.exec_driver_sql(statement)


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
        answer(bench, Knock("stream", bucket_of(name)), nobody)
    states = {review.id: review.state for review in world.reviews()}
    assert states[zombie[0].id] == "done"
    assert states[other[0].id] == "running", "`retro run` holds no bucket: its lease counts"
    with world.store.write() as conn, pytest.raises(LostClaimError):
        claims.finish(conn, zombie[0], world.clock())


def test_a_letter_that_is_being_sent_is_not_freed_by_a_knock_that_makes_reviews(world: World) -> None:
    bench, bucket = world.bench(alone=False), bucket_of("ash")
    answer(bench, Knock("stream", bucket), nobody)
    with world.store.write() as conn:
        sending = outbox.claim(
            conn, f"{HOLDER}x", world.clock(), bench.lease, "file", digest=outbox.ALONE, bucket=bucket
        )
    assert sending
    answer(bench, Knock("stream", bucket), nobody)
    assert [x.state for x in world.letters() if x.key == sending[0].key] == ["sending"]
    answer(bench, Knock("letters", bucket), nobody)
    assert {x.state for x in world.letters()} == {"sent"}


def test_a_sweep_asks_for_each_bucket_that_has_anything_and_for_no_other(world: World) -> None:
    asked: list[Knock] = []
    ask: Ask = lambda knock, _: asked.append(knock)  # noqa: E731  it is one
    bench = world.bench(alone=False)
    buckets = sorted(map(bucket_of, AGENTS))
    assert sweep(bench, ask) == len(AGENTS)
    assert asked == [Knock("stream", bucket) for bucket in buckets]
    for knock in [*asked]:
        answer(bench, knock, ask)
    assert asked[len(AGENTS) :] == [Knock("letters", bucket) for bucket in buckets]
    for knock in asked[len(AGENTS) :]:
        answer(bench, knock, ask)
    assert sweep(bench, ask) == 0


def test_sqlite_has_no_fleet(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "retro.db"))
    with pytest.raises(UsageError, match="PostgreSQL"):
        install(store)
    store.close()


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

    health, metrics, nothing, ended = asyncio.run(pages())
    assert (health, nothing[0], ended[0]) == ((200, "ok\n"), 404, 503)
    assert 'retro_worker_knocks{queue="stream"} 1\n' in metrics[1]
    assert "retro_lag_seconds 0\n" in metrics[1]
    assert metrics[1].endswith("# EOF\n")
