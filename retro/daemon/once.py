"""`retro run --once`: do what is due and end, for cron and timers."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from retro.daemon.notify import Notifier
from retro.daemon.ping import Ping
from retro.daemon.setup import clock, configured, log_of, opened, private, workbench
from retro.daemon.stop import Interrupted, Signals
from retro.errors import StoreError

if TYPE_CHECKING:
    from retro.app.context import PassSummary
    from retro.config import Config
    from retro.daemon.setup import RunOptions
    from retro.logs import Log
    from retro.store.database import Store

__all__ = ["once", "send"]


@private()
def once(orders: RunOptions) -> int:
    """Do what is due and end: for cron and timers. 75 when another is at it.

    1 when anything parked or failed, or a channel took nothing of what there was for it: cron reports no other way.
    """
    config, log = configured(orders), log_of(orders)
    store, lock = opened(config.store.url, orders, log)
    ping, notifier = Ping(config.service.ping_url, log), Notifier(os.environ)
    try:
        with Signals() as signals:
            ping.start()
            try:
                tally = _worked_once(store, config, log, signals, notifier)
            except StoreError:
                ping.fail()
                raise
            except Interrupted:
                log("interrupted", level="warning")
                return 1
        _note_knock(store)
        parked = _parked(store)
        well = tally.clean and not tally.unreached and not parked
        fields: dict[str, Any] = asdict(tally) | ({"attention": parked} if parked else {})
        log("run_once", level="error" if parked else "info", **fields)
        (ping.success if well else ping.fail)()
        return 0 if well else 1
    finally:
        store.close()
        if lock is not None:
            lock.release()


@private()
def send(orders: RunOptions) -> PassSummary:
    """Send what is written and make nothing; `BusyError` when a service is there to do it."""
    from retro.app.context import PassSummary  # noqa: PLC0415  what computes is loaded when there is work
    from retro.app.engine.delivery import send_all  # noqa: PLC0415

    config, log = configured(orders), log_of(orders)
    store, lock = opened(config.store.url, orders, log)
    tally = PassSummary()
    try:
        with Signals() as signals:
            send_all(workbench(store, config, log, signals.stopping, lambda: None), tally)
    finally:
        store.close()
        if lock is not None:
            lock.release()
    return tally


def _worked_once(store: Store, config: Config, log: Log, signals: Signals, notifier: Notifier) -> PassSummary:
    from retro.app.engine.worker import run_once  # noqa: PLC0415  as above

    bench = workbench(store, config, log, signals.stopping, notifier.beat)
    signals.working(True)
    try:
        return run_once(bench, time.sleep)
    finally:
        signals.working(False)


def _note_knock(store: Store) -> None:
    from retro.store.jobs.hosts import note_knock  # noqa: PLC0415  as above

    with store.write() as conn:
        note_knock(conn, socket.gethostname(), clock())


def _parked(store: Store) -> str:
    """What waits for a person, in words; nothing where nothing does."""
    from retro.app.reviews.notices import parked_text  # noqa: PLC0415  as above

    with store.read() as conn:
        return parked_text(conn)
