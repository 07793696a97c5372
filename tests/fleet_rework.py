"""A rework whose computers are killed under it, beside the documents that the service would have written (F13).

    python -m tests.fleet_rework [--agents 200] [--dask] [--workers 3]

Thresholds change, and every review of the agents is looked at anew by processes. A third of the way they are killed; with
`--dask` a cluster goes on (`pip install distributed`) whose scheduler is killed after another third. Nothing but what was
stored may be in the ledger then, nothing may be held, and the stream makes a review that falls due. Processes do the rest,
and once more all of it. In the end each document has the bytes that the service gives, each new revision was made once,
and the second rework has found nothing. With `--workers` the same is then left to a fleet's on PostgreSQL, one of which is killed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from retro.app.engine.executors import computers
from retro.app.engine.rework import ReworkSummary, rework
from retro.daemon.fleet import install
from retro.errors import RetroError
from retro.store import rework as units
from retro.store.database import open_store
from tests.fleet.rework_world import (
    Texts,
    agents_left,
    document_texts,
    enlist_all,
    reviewed_world,
    service_texts,
)
from tests.fleet.servers import Servers
from tests.worlds.service_world import World


def reworked(world: World, executor: str, progress: Callable[[ReworkSummary, int], None]) -> ReworkSummary:
    with computers(executor) as hands:
        return rework(world.bench(), hands.executor, hands.at_once, progress)


def killed(world: World, executor: str, left: int, kill: Callable[[], None], expected: Texts) -> None:
    """Rework until so many agents are left, have the computers killed, and look at what the ledger holds."""
    deaths: list[int] = []

    def progress(_: ReworkSummary, still: int) -> None:
        if still <= left and not deaths:
            deaths.append(still)
            kill()

    try:
        reworked(world, executor, progress)
    except RetroError as error:
        print(f"{executor.partition(':')[0]}: {error}", flush=True)
    else:
        raise AssertionError("it came to its end although what computed was killed")
    states = {review.state for review in world.reviews()}
    assert states <= {"done", "waiting"}, states
    assert document_texts(world).items() <= expected.items(), (
        "something is stored that nobody computed to its end"
    )


def kill_processes() -> None:
    for child in multiprocessing.active_children():
        child.kill()


@contextmanager
def cluster() -> Iterator[tuple[str, Callable[[], None]]]:
    """A scheduler of Dask's and two workers: its address, and what kills the scheduler."""
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen(
        [*words, "--host", "127.0.0.1"], stderr=subprocess.PIPE, text=True, bufsize=1
    )
    assert scheduler.stderr is not None
    address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)
    words = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        address,
        "--nthreads",
        "1",
        "--no-dashboard",
    ]
    workers = [subprocess.Popen([*words, "--no-nanny"], stderr=subprocess.DEVNULL) for _ in range(2)]
    try:
        yield address, lambda: scheduler.send_signal(signal.SIGKILL)
    finally:
        scheduler.kill()
        for process in workers:
            process.kill()
            process.wait()
        scheduler.wait()


def by_workers(folder: Path, names: list[str], number: int, expected: Texts) -> None:
    """Leave a rework to `retro worker`s, kill one a third of the way, and let the others come to the end."""
    servers = Servers(folder, standby=False)
    store = open_store(servers.url)
    world = reviewed_world(store, folder, servers.url, names)
    install(store)
    tables = [
        f"[{table}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
        for table, settings in world.configuration.items()
    ]
    (folder / "worker.toml").write_text("".join(tables))
    enlist_all(world, names)
    with store.write() as conn:
        units.hand_over(conn, by_workers=True)
    words = ["--config", str(folder / "worker.toml"), "worker", "--queues", "rework"]
    processes = [
        subprocess.Popen([sys.executable, "-m", "retro", *words], stderr=subprocess.DEVNULL)
        for _ in range(number)
    ]
    try:
        wait_until(lambda: len(agents_left(world)) <= 2 * len(names) // 3)
        processes[0].kill()
        assert document_texts(world).items() <= expected.items()
        wait_until(lambda: not agents_left(world))
    finally:
        for process in processes:
            process.terminate()
        codes = [process.wait(90) for process in processes]
        texts = document_texts(world)
        store.close()
        servers.stop()
    assert texts == expected, "not what the service writes"
    assert codes == [-signal.SIGKILL, *[0] * (number - 1)], codes


def wait_until(come_to_pass: Callable[[], bool], patience_s: float = 900) -> None:
    deadline = time.monotonic() + patience_s
    while not come_to_pass():
        assert time.monotonic() < deadline, f"not within {patience_s:.0f} s"
        time.sleep(0.2)


def main() -> None:
    """Rework, kill, and print what it came to."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--agents", type=int, default=200)
    options.add_argument("--dask", action="store_true")
    options.add_argument("--workers", type=int, default=0)
    arguments = options.parse_args()
    names = [f"agent-{number}" for number in range(arguments.agents)]
    # twenty or more, so that some are still to be computed whenever their computers die
    vars(units).update(UNIT=max(1, len(names) // 20))
    with tempfile.TemporaryDirectory() as place:
        folder, began = Path(place), time.monotonic()
        expected = service_texts(folder / "service", names)
        url = str(folder / "retro.db")
        world = reviewed_world(open_store(url), folder, url, names)
        print(f"{len(world.reviews())} reviews of {len(names)} agents", flush=True)
        enlist_all(world, names)
        killed(world, "processes", 2 * len(names) // 3, kill_processes, expected)
        if arguments.dask:
            with cluster() as (address, kill):
                killed(world, f"dask:{address}", len(names) // 3, kill, expected)
        summary = reworked(world, "processes", lambda *_: None)
        assert summary.failures == {}
        assert document_texts(world) == expected, "not what the service writes"
        enlist_all(world, names)
        assert reworked(world, "processes", lambda *_: None).revised == 0
        assert document_texts(world) == expected
        revised = sum(revision > 1 for _, revision in expected)
        print(
            f"{revised} new revisions, each made once, with the bytes of the service; a second rework changed nothing;"
            f" {time.monotonic() - began:.0f} s"
        )
        world.store.close()
        if arguments.workers:
            began = time.monotonic()
            by_workers(folder, names, arguments.workers, expected)
            print(
                f"the same by {arguments.workers} workers of a fleet, one of them killed; {time.monotonic() - began:.0f} s"
            )


if __name__ == "__main__":
    main()
