"""Who computes a rework: processes of this machine, or a cluster of Dask's that somebody else runs."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pkgutil
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from retro.errors import RetroError, UsageError
from retro.version import EDITION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

__all__ = ["Computers", "computers"]

_PATIENCE_S: Final = 15.0


class Computers(NamedTuple):
    """An executor, and how many units are given to it at once: each processor has the next one waiting."""

    executor: Executor
    at_once: int


@contextmanager
def computers(name: str) -> Iterator[Computers]:
    """The executor of `processes` or `dask:ADDRESS`; `UsageError` for another, `RetroError` where it is not to be had."""
    if name == "processes":
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        spawned = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(cores, spawned) as pool:
            try:
                yield Computers(pool, 2 * cores)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
        return
    scheme, _, address = name.partition(":")
    if scheme != "dask" or not address:
        raise UsageError(f"--executor takes processes or dask:ADDRESS, not {name!r}")
    with _dask_client(address) as client:
        _look_at_workers(client, address)
        # pure: an answer of an earlier call, from other facts, is none
        yield Computers(client.get_executor(pure=False), 2 * sum(client.ncores().values()))


def _dask_client(address: str) -> Any:
    try:
        import distributed  # noqa: PLC0415  not a dependency: who runs a cluster has it
    except ModuleNotFoundError as error:
        raise RetroError(
            "--executor dask:ADDRESS needs Dask here and on its workers: pip install distributed"
        ) from error
    for logger in (
        "distributed",
        "distributed.client",
    ):  # what it logs of a lost scheduler is told by an error of ours
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    connect: Any = distributed.Client
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of packages that figures do not rest on
            return connect(address, timeout=_PATIENCE_S)
    except (OSError, ValueError) as error:
        raise RetroError(f"no scheduler of Dask's answers at {address}: {error}") from error


def _look_at_workers(client: Any, address: str) -> None:
    """`RetroError` where there is no worker, or one of them would not compute what we do.

    Asked by a function that every Python has: one of ours would end a worker that has none of us, and another after it.
    """
    try:
        client.wait_for_workers(1, timeout=_PATIENCE_S)
    except TimeoutError as error:
        raise RetroError(
            f"the scheduler of Dask's at {address} has no worker: dask worker {address}"
        ) from error
    for worker, answer in client.run(
        pkgutil.resolve_name, "retro.version:EDITION", on_error="return"
    ).items():
        if answer != EDITION:
            raise RetroError(
                f"the worker of Dask's at {worker} has not version {EDITION}, as we are: {answer}"
            )
