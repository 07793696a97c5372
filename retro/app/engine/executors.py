"""Who computes a rework: processes of this machine, or a cluster of Dask's that somebody else runs."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from retro.errors import RetroError, UsageError

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
        yield Computers(client.get_executor(), 2 * max(1, sum(client.ncores().values())))


def _dask_client(address: str) -> Any:
    try:
        from distributed import Client  # noqa: PLC0415  not a dependency: who runs a cluster has it
    except ModuleNotFoundError as error:
        raise RetroError(
            "--executor dask:ADDRESS needs Dask here and on its workers: pip install distributed"
        ) from error
    try:
        return Client(address, timeout=_PATIENCE_S)
    except (OSError, ValueError) as error:
        raise RetroError(f"no scheduler of Dask's answers at {address}: {error}") from error
