"""`retro worker`: one of many on one database, and the only door to the engine that knocks for them.

The engine delivers knocks, each a queue and a bucket of agents, one of a bucket at a time; what there is to do says the
ledger (`retro.app.engine.knocks`). Whatever is here may be lost at any instant, the engine's tables too.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from retro.app.context import Knock, PassSummary
from retro.app.engine.knocks import answer, ripe_knocks
from retro.app.intake import sources
from retro.daemon.notify import Notifier
from retro.daemon.setup import configured, log_of, private, workbench
from retro.daemon.worker_page import WorkerCounts, serve_page
from retro.errors import StoreError, UsageError
from retro.store.database import open_store
from retro.store.jobs.hosts import note_knock
from retro.store.locks import try_host
from retro.store.migrations.engine import engine_schema, has_engine, make_engine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from procrastinate import App
    from procrastinate.jobs import Job

    from retro.app.context import Queue, WorkContext
    from retro.daemon.setup import RunOptions
    from retro.store.database import Store

__all__ = ["Worker", "WorkerTerms", "install", "work"]

_SWEEP: Final = "* * * * * */30"
"""Every half minute: with the 20 seconds after which a worker counts as dead, its bucket is another's within 90."""
_BEAT_S, _DEAD_S = 5.0, 20.0
_FIRST: Final = 1
"""What is answered before the knocks that wait: what dead workers were at; and before that the sweep, which sees it."""
_MANY: Final = 50
"""Knocks asked for at once that the server is to know of: how to fetch one it has planned while there was none, and with a
thousand waiting looked at each of them for each, a fifth of a second long."""
_TICK_S: Final = 5.0
_LOOK_S: Final = 60.0
_NOTED_S: Final = 300.0
_HOURLY_S: Final = 3600
_PATIENCE_S: Final = 45.0
_LONGEST_WAIT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class WorkerTerms:
    """What one worker does: the queues it takes knocks of, how many at a time, and where it says how it is (host, port)."""

    queues: tuple[Queue, ...] = ("stream", "letters")
    concurrency: int = 1
    page: tuple[str, int] | None = None


def install(store: Store) -> bool:
    """Make the engine's tables; whether there were none. `UsageError` without a server or without the engine."""
    _server(store)
    from procrastinate.schema import SchemaManager  # noqa: PLC0415  only where it is wanted

    with store.write() as conn:
        return make_engine(conn, SchemaManager.get_schema())


def _server(store: Store) -> None:
    if store.dialect != "postgresql":
        raise UsageError(
            "a fleet shares a PostgreSQL: --db postgresql://...; on SQLite `retro run` does everything"
        )
    try:
        import procrastinate  # noqa: F401, PLC0415  as above
    except ModuleNotFoundError as error:
        raise UsageError('a fleet needs its engine: pip install "slow-mirror[fleet,postgres]"') from error


@private()
def work(orders: RunOptions, terms: WorkerTerms) -> int:
    """Answer knocks until told to stop; 0 when that was done in good order."""
    config, log = configured(orders), log_of(orders)
    logging.getLogger("procrastinate").setLevel(logging.DEBUG if orders.verbose else logging.ERROR)
    store = open_store(config.store.url)
    notifier = Notifier(os.environ)
    try:
        _server(store)
        with store.read() as conn:
            if not has_engine(conn):
                raise UsageError("this database has no fleet yet: run `retro fleet init` once")
        stop = _Stop()
        worker = Worker(workbench(store, config, log, stop.asked, lambda: None), terms)
        log("started", database=store.url, queues=list(terms.queues), concurrency=terms.concurrency)
        asyncio.run(_serve(worker, stop, notifier))
        log("stopped")
        return 0
    finally:
        notifier.stopping()
        store.close()


class _Stop:
    """Whether we were told to stop; the second time we do at once, and so when a step does not come to its end."""

    def __init__(self) -> None:
        self.said = False
        self.event = asyncio.Event()

    def asked(self) -> bool:
        """Whether nothing new is to be begun."""
        return self.said

    def on_signal(self) -> None:
        """The review at hand is ended, the rest given back; what is left by force is freed by who comes next."""
        if self.said:
            _leave()
        self.said = True
        self.event.set()
        asyncio.get_running_loop().call_later(_PATIENCE_S, _leave)


def _leave() -> NoReturn:
    os._exit(1)


async def _serve(worker: Worker, stop: _Stop, notifier: Notifier) -> None:
    """Run the worker beside what shows it, until a signal; where the database went away, from the beginning."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.on_signal)
    page = await serve_page(worker.counts, worker.bench.store, worker.terms.page, stop.asked)
    ticks = asyncio.create_task(_tick(worker, notifier))
    wait_s = 1.0
    while not stop.said:
        began = time.monotonic()
        running = asyncio.create_task(_run(worker))
        told = asyncio.create_task(stop.event.wait())
        notifier.ready()
        await asyncio.wait({running, told}, return_when=asyncio.FIRST_COMPLETED)
        running.cancel()
        error = (await asyncio.gather(running, return_exceptions=True))[0]
        if not told.done():
            wait_s = 1.0 if time.monotonic() - began > _LONGEST_WAIT_S else min(2 * wait_s, _LONGEST_WAIT_S)
            worker.bench.log("engine_lost", level="error", reason=str(error or "it stopped"), again_s=wait_s)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.event.wait(), wait_s)
        told.cancel()
    ticks.cancel()
    if page is not None:
        page.close()


async def _run(worker: Worker) -> None:
    async with worker.opened():
        await worker.run()


async def _tick(worker: Worker, notifier: Notifier) -> None:
    """Signs of life, and beside them what is this machine's own: its sources, which may take hours to read."""
    looked = noted = -_NOTED_S
    look: asyncio.Task[None] | None = None
    while True:
        notifier.beat()
        now = time.monotonic()
        if look is not None and look.done():
            look.result()  # what nobody expected ends the signs of life, and with them the worker
        if now - looked >= _LOOK_S and (look is None or look.done()):
            looked = now
            due, noted = now - noted >= _NOTED_S, now if now - noted >= _NOTED_S else noted
            look = asyncio.create_task(asyncio.to_thread(worker.look, note=due))
        await asyncio.sleep(_TICK_S)


class Worker:
    """Answers knocks of some queues with a bench, and asks the engine for others."""

    def __init__(self, bench: WorkContext, terms: WorkerTerms) -> None:
        self.bench = replace(bench, ask=self._ask_later)
        self.terms = terms
        self.counts = WorkerCounts()
        self._engine: App | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """With the engine at hand, inside the block."""
        self._engine, self._loop = self._engine_of_store(), asyncio.get_running_loop()
        try:
            async with self._engine.open_async():
                yield
        finally:
            self._engine = None

    async def run(self, *, wait: bool = True) -> None:
        """Answer what is knocked until cancelled, or (not `wait`) until nothing waits; where the engine is at hand."""
        if self._engine is not None:
            await self._engine.run_worker_async(
                queues=[*self.terms.queues, "sweep"],
                concurrency=self.terms.concurrency,
                wait=wait,
                delete_jobs="always",
                install_signal_handlers=False,
                update_heartbeat_interval=_BEAT_S,
                stalled_worker_timeout=_DEAD_S,
            )

    def look(self, *, note: bool) -> None:
        """Read the sources of this machine, unless another of its workers does; and note that we are here."""
        bench = self.bench
        try:
            with bench.store.write() as conn:
                if note:
                    note_knock(conn, bench.host, bench.clock())
            if not bench.config.source:
                return
            tally = PassSummary()
            with bench.store.write() as conn:
                if try_host(conn, bench.host):
                    sources.read_all(bench, tally)
            self.counts.add("sources", tally, 0.0)
        except StoreError as error:
            bench.log("store_failed", level="error", reason=str(error))

    def _engine_of_store(self) -> App:
        """An engine on the ledger's server, in a schema of its own."""
        from procrastinate import App, PsycopgConnector  # noqa: PLC0415  only where it is wanted

        store = self.bench.store
        with store.read() as conn:
            schema = engine_schema(conn)
        _, how = store.engine.dialect.create_connect_args(store.engine.url)  # hosts for a failover among it
        options = f"{how.pop('options', '')} -csearch_path={schema}".strip()
        limits = {"connect_timeout": 10, "keepalives_idle": 30, "tcp_user_timeout": 30_000}  # as the store's
        connector = PsycopgConnector(
            kwargs={**limits, **how, "options": options, "application_name": "retro worker"},
            min_size=2,
            max_size=self.terms.concurrency + 3,
        )
        app = App(connector=connector)
        app.task(name="knock")(self._answer)
        task = app.task(name="sweep", queue="sweep", queueing_lock="sweep", priority=2 * _FIRST)
        app.periodic(cron=_SWEEP)(task(self.sweep))
        return app

    def _answer(self, queue: Queue, bucket: int | None) -> None:
        """Answer one knock, in a thread of its own."""
        began = time.monotonic()
        tally = answer(self.bench, Knock(queue, bucket))
        self.counts.add(queue, tally, time.monotonic() - began)

    def _ask_later(self, knock: Knock) -> None:
        """From a thread: whoever is told of it is the loop, and nobody waits."""
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(self.ask(knock), self._loop)

    async def ask(self, knock: Knock, *, first: bool = False) -> None:
        """Let the engine knock, unless it is to already; `first`: before all that wait."""
        from procrastinate.exceptions import AlreadyEnqueued  # noqa: PLC0415  only where it is wanted

        if self._engine is not None:
            job = self._job(self._engine, knock, first=first)
            with contextlib.suppress(AlreadyEnqueued):
                await self._engine.job_manager.defer_job_async(job)

    async def _ask_all(self, engine: App, knocks: Sequence[Knock]) -> None:
        """Let it knock for many in one statement; for each by itself where somebody else asked for one meanwhile."""
        from procrastinate.exceptions import AlreadyEnqueued  # noqa: PLC0415  as above

        waiting = {job.queueing_lock for job in await engine.job_manager.list_jobs_async(status="todo")}
        jobs = [self._job(engine, knock) for knock in knocks]
        jobs = [job for job in jobs if job.queueing_lock not in waiting]
        try:
            if jobs:
                await engine.job_manager.batch_defer_jobs_async(jobs)
        except AlreadyEnqueued:
            for knock in knocks:
                await self.ask(knock)
        if len(jobs) >= _MANY:
            await engine.connector.execute_query_async("ANALYZE procrastinate_jobs")

    @staticmethod
    def _job(engine: App, knock: Knock, *, first: bool = False) -> Job:
        name = f"{knock.queue}-{'all' if knock.bucket is None else knock.bucket}"
        task = engine.configure_task(
            "knock",
            queue=knock.queue,
            lock=name,
            queueing_lock=f"{name}-first" if first else name,  # one may wait in the line already
            priority=_FIRST if first else 0,
        )
        return task.make_new_job(queue=knock.queue, bucket=knock.bucket)

    async def sweep(self, timestamp: int = 0) -> None:
        """Ask for every knock that was lost or never asked for, and take from dead workers what they were at."""
        if self._engine is None:
            return
        jobs = self._engine.job_manager
        for job in await jobs.get_stalled_jobs(seconds_since_heartbeat=_DEAD_S):
            with contextlib.suppress(Exception):  # another sweep was faster
                # not put back: its worker may live, and would then end the knock that another answers
                await jobs.finish_job(job, status=_failed(), delete_job=True)
                self.bench.log("knock_taken_over", level="warning", knock=str(job.lock))
                if job.task_name == "knock":  # what was held there is leased still, and no sweep would look
                    await self.ask(msgspec.convert(job.task_kwargs, Knock), first=True)
        await jobs.prune_stalled_workers(seconds_since_heartbeat=_DEAD_S * 3)
        knocks = await asyncio.to_thread(ripe_knocks, self.bench)
        if timestamp % _HOURLY_S >= _HOURLY_S - 30:  # once an hour, whichever worker sweeps then
            knocks.append(Knock("stream", None))
        await self._ask_all(self._engine, knocks)


def _failed() -> Any:
    from procrastinate.jobs import Status  # noqa: PLC0415  only where it is wanted

    return Status.FAILED
