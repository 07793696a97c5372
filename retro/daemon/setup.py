"""What both forms of the service begin with: orders, configuration, log, database and its lock, and a workbench."""

from __future__ import annotations

import os
import random
import socket
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from retro.daemon.lock import Instance
from retro.logs import set_up
from retro.secret import find_secrets
from retro.store.database import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from retro.app.context import WorkContext
    from retro.config import Config
    from retro.logs import Log
    from retro.store.database import Store

__all__ = ["RunOptions", "clock", "configured", "log_of", "opened", "private", "workbench"]


@contextmanager
def private() -> Iterator[None]:
    """What is written meanwhile, by whatever part of us, is for its owner alone."""
    mask = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(mask)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The command line of the service, and the handles that it hands to itself when it starts anew."""

    config: str | None = None
    db: str | None = None
    verbose: bool = False
    quiet: bool = False
    lock: int | None = None
    told: int | None = None


def clock() -> int:
    """The wall clock, in microseconds."""
    return time.time_ns() // 1000


def configured(orders: RunOptions) -> Config:
    """The configuration, with the database of the command line."""
    from retro.config import load, with_database  # noqa: PLC0415  a service that starts anew has read it already

    config = load(None if orders.config is None else Path(orders.config), os.environ)
    return with_database(config, orders.db) if orders.db else config


def log_of(orders: RunOptions) -> Log:
    """Where events are told, without the secrets there are."""
    return set_up(find_secrets(os.environ), verbose=orders.verbose, quiet=orders.quiet)


def opened(url: str, orders: RunOptions, log: Log) -> tuple[Store, Instance | None]:
    """The database, and on SQLite the lock that makes us its only service."""
    store = open_store(url)
    if store.created:
        log("database_made", path=str(store.path))
    if store.path is None:
        return store, None
    try:
        return store, Instance.of(store.path, handle=orders.lock)
    except BaseException:
        store.close()
        raise


def workbench(
    store: Store, config: Config, log: Log, stopping: Callable[[], bool], beat: Callable[[], None]
) -> WorkContext:
    """What work is done with, under a name of its own among all processes."""
    from retro.app.engine.wiring import bench_of  # noqa: PLC0415  what computes is loaded when there is work

    return bench_of(
        store,
        config,
        os.environ,
        clock=clock,
        owner=f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:12]}",
        host=socket.gethostname(),
        log=log,
        beat=beat,
        rng=random.Random(),  # noqa: S311  it spreads retries, no more
        stopping=stopping,
        bound=log.bound,
    )
