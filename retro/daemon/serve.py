"""The work loop. The scheduler only knocks; the ledger knows what is due, so a knock too many or too few does no harm."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from retro.app.engine.backlog import has_pending_work
from retro.daemon.handover import handed_over, needs_of, plain, received, restored, stamp_of
from retro.daemon.notify import Notifier
from retro.daemon.ping import Ping
from retro.daemon.setup import clock, configured, log_of, opened, private, workbench
from retro.daemon.stop import Interrupted, Signals, deferred
from retro.errors import ConfigError, StoreError
from retro.store.jobs.enrolments import next_end
from retro.store.jobs.hosts import note_knock
from retro.store.jobs.outbox import wake_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.app.context import PassSummary, WorkContext
    from retro.daemon.lock import Instance
    from retro.daemon.setup import RunOptions
    from retro.logs import Log
    from retro.store.database import Store

__all__ = ["serve"]

_LOOK_S: Final = 15.0
_WHOLE_S: Final = 3600.0
"""How often everything is looked at although nothing seems due: what became of pull requests, damaged records."""
_JUMP_S: Final = 120.0
_NOTED_S: Final = 300.0
_QUIET: Final = 2
"""Knocks without work after which the service becomes small again."""
_FATAL: Final = frozenset(
    {10, 11, 26}
)  # SQLite: input or output failed, the file is damaged, it is no database


@private()
def serve(orders: RunOptions, *, anew: Callable[[RunOptions], None] | None = None) -> int:
    """Run until told to stop. `anew` replaces the process by a fresh one, to be small again after work."""
    configuration = plain(configured(orders)) if orders.told is None else received(orders.told)
    log = log_of(orders)
    store, lock = opened(needs_of(configuration).url, orders, log)
    loop = _Loop(orders, configuration, log, store)
    try:
        with Signals() as signals:
            return loop.run(signals, lock, anew or _exec)
    finally:
        loop.notifier.stopping()
        store.close()
        if lock is not None:
            lock.release()


class _Loop:
    """The state of a running service. `configuration` is plain data."""

    def __init__(self, orders: RunOptions, configuration: dict[str, Any], log: Log, store: Store) -> None:
        self.orders = orders
        self.configuration = configuration
        self.needs = needs_of(configuration)
        self.log = log
        self.store = store
        self.host = socket.gethostname()
        self.notifier = Notifier(os.environ)
        self.ping = Ping(self.needs.service.ping_url, log)
        self.bench: WorkContext | None = None
        self.looked = orders.told is not None
        self.quiet = 0
        self.worked = self.knocked = time.monotonic()
        self.noted: float | None = None
        self.clocks = _clocks()
        self.lock: Instance | None = None

    def run(self, signals: Signals, lock: Instance | None, anew: Callable[[RunOptions], None]) -> int:
        """Knock after knock, until a signal or a broken disk ends it."""
        self.lock = lock
        self._note_configuration()
        scheduler = _scheduler(self.needs.service.knock_seconds, signals, self.log)
        self.notifier.ready()
        if not self.looked:
            self.log("started", database=self.store.url)
            self.ping.start()
        signals.wake.set()
        try:
            while not signals.stop:
                knocked = signals.wake.wait(min(_LOOK_S, 2 * self.needs.service.knock_seconds))
                self.notifier.beat()
                if not knocked and time.monotonic() - self.knocked > 2 * self.needs.service.knock_seconds:
                    scheduler.modify_job("knock", next_run_time=datetime.now(UTC))
                if not knocked or signals.stop:
                    continue
                signals.wake.clear()
                if signals.reload or self._is_edited():
                    signals.reload = False
                    self._reload()
                if not self._knock(signals):
                    return 1
                if self.quiet >= _QUIET and self.bench is not None:
                    _start_anew(self, lock, scheduler, anew)
        except Interrupted:
            self.log("interrupted", level="warning")
        finally:
            scheduler.shutdown(wait=False)
        self.log("stopped")
        return 0

    def _knock(self, signals: Signals) -> bool:
        """One knock; False when the service must not go on."""
        self._watch_the_clock()
        try:
            return self._knocked(signals)
        finally:
            self.knocked = time.monotonic()

    def _knocked(self, signals: Signals) -> bool:
        try:
            if self.looked and not self._anything_to_do():
                self.quiet += 1
                self.ping.success()
            else:
                self.quiet = 0
                self._tell(self._work(signals))
                self.looked, self.worked = True, time.monotonic()
            self._note_knock()
            self._say_idle()
        except StoreError as error:
            self.log("store_failed", level="error", reason=str(error))
            self.ping.fail()
            return not _is_fatal(error)
        return True

    def _note_knock(self) -> None:
        """Leave word in the database that this machine is at work, so that whoever watches sees when it is not."""
        if self.noted is not None and time.monotonic() - self.noted < _NOTED_S:
            return
        with self.store.write() as conn:
            note_knock(conn, self.host, clock())
        self.noted = time.monotonic()

    def _anything_to_do(self) -> bool:
        late = time.monotonic() - self.worked >= _WHOLE_S
        return late or has_pending_work(self.store, self.needs.sources, self.host, clock())

    def _tell(self, tally: PassSummary) -> None:
        if tally.clean:
            self.ping.success()
        else:
            self.ping.fail()
        if any(asdict(tally).values()):
            self.log("knock", **asdict(tally))

    def _work(self, signals: Signals) -> PassSummary:
        from retro.app.engine.worker import run_pass  # noqa: PLC0415  what computes is loaded when there is work

        self.notifier.status("working")
        if self.bench is None:
            self.bench = workbench(
                self.store, restored(self.configuration), self.log, signals.stopping, self.notifier.beat
            )
        signals.working(True)
        try:
            return run_pass(self.bench, all_agents=not self.looked)
        finally:
            signals.working(False)

    def _say_idle(self) -> None:
        with self.store.read() as conn:
            following = next_end(conn)
        when = (
            ""
            if following is None
            else f"; the next period ends {datetime.fromtimestamp(following / 1e6, UTC):%Y-%m-%d %H:%M} UTC"
        )
        self.notifier.status(f"idle{when}")

    def _is_edited(self) -> bool:
        """Whether the file of the configuration is another one than was read, or than was found broken."""
        stamp = stamp_of(self.configuration["_file"])
        return bool(stamp != self.configuration["_stamp"])

    def _reload(self) -> None:
        """Read the configuration again; a broken one is said once, and the old one kept."""
        self.notifier.reloading()
        stamp = self.configuration["_stamp"] = stamp_of(self.configuration["_file"])
        try:
            # the file it was read from: one that is gone for a moment does not mean the built-in defaults
            file = self.configuration["_file"] or self.orders.config
            configuration = plain(configured(replace(self.orders, config=file)))
        except ConfigError as error:
            self.log("configuration_kept", level="error", faults=error.faults)
        else:
            # of before it was read: what is written meanwhile is read at the next knock
            configuration["_stamp"] = stamp
            if configuration["store"]["url"] != self.needs.url:
                self.log("database_kept", level="warning", reason="another database needs a restart")
                configuration["store"] = self.configuration["store"]
            self.configuration, self.needs, self.bench, self.looked = (
                configuration,
                needs_of(configuration),
                None,
                False,
            )
            self.ping = Ping(self.needs.service.ping_url, self.log)
            self._note_configuration()
            self.log("configuration_read")
            self._wake_letters()
        self.notifier.ready()

    def _note_configuration(self) -> None:
        if self.lock is not None:
            file = os.path.abspath(self.configuration["_file"] or "config.toml")  # noqa: PTH100  as `stamp_of`
            self.lock.note(file, self.configuration["_stamp"])

    def _wake_letters(self) -> None:
        """What waits for a channel to be mended is tried at once: the configuration may have mended it."""
        try:
            with self.store.write() as conn:
                wake_all(conn, clock())
        except StoreError as error:
            self.log("store_failed", level="error", reason=str(error))

    def _watch_the_clock(self) -> None:
        """The wall clock against one that nobody sets: the ledger heals either way, but a person should know."""
        before, self.clocks = self.clocks, _clocks()
        jump = (self.clocks[0] - before[0]) - (self.clocks[1] - before[1])
        if abs(jump) > _JUMP_S:
            self.log("clock_jumped", level="warning", seconds=round(jump))


def _clocks() -> tuple[float, float]:
    return time.time(), time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def _is_fatal(error: StoreError) -> bool:
    """After a failed write the truth on the disk is unknown: stop, and let recovery begin with a fresh start."""
    code = getattr(getattr(error.__cause__, "orig", None), "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _FATAL


def _scheduler(every_s: float, signals: Signals, log: Log) -> Any:
    """Sets `wake` every so often. It goes by the wall clock, so the loop puts it right after that was set back."""
    from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED  # noqa: PLC0415
    from apscheduler.schedulers.background import BackgroundScheduler  # noqa: PLC0415
    from apscheduler.triggers.interval import IntervalTrigger  # noqa: PLC0415

    class Heartbeat(IntervalTrigger):  # type: ignore[misc]  # it comes without types
        """From now to now: the stock one counts every beat of a year that a clock has jumped over."""

        def get_next_fire_time(self, _: datetime | None, now: datetime) -> datetime:
            return now + timedelta(seconds=every_s)

    scheduler = BackgroundScheduler(
        timezone=UTC,
        job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
    )
    scheduler.add_job(signals.wake.set, Heartbeat(seconds=every_s, timezone=UTC), id="knock")
    trouble = EVENT_JOB_ERROR | EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES
    scheduler.add_listener(lambda event: log("scheduler", level="error", what=repr(event)), trouble)
    scheduler.start()
    return scheduler


def _start_anew(
    loop: _Loop, lock: Instance | None, scheduler: Any, anew: Callable[[RunOptions], None]
) -> None:
    """Become small again: what computes stays loaded in a process for ever, so it is left behind with the process.

    The same process id, the same lock, the same place in the ledger; where it cannot be done nothing is lost.
    """
    scheduler.pause()
    loop.store.close()
    handles = [handed_over(loop.configuration), *([] if lock is None else [lock.handle])]
    for handle in handles:
        os.set_inheritable(handle, True)
    with deferred():  # a signal that comes while nobody listens waits for the next image
        try:
            anew(replace(loop.orders, told=handles[0], lock=None if lock is None else lock.handle))
        except OSError as error:
            loop.log("not_anew", level="warning", reason=str(error))
    os.close(handles[0])
    loop.quiet = 0
    scheduler.resume()


def _exec(orders: RunOptions) -> None:
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", "retro.daemon", json.dumps(asdict(orders))])  # noqa: S606  ourselves
