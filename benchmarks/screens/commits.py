"""What a commit of the service waits for while everybody reads, and what of it reading causes."""

from __future__ import annotations

import http.client
import itertools
import multiprocessing
import statistics
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import text

from benchmarks.screens.house import AGENT, Bar
from benchmarks.screens.pages import SCREENS
from retro.store.database import open_store

if TYPE_CHECKING:
    from benchmarks.screens.house import House

COMMIT_MS = 100.0
CRAWL = (*(address for address, *_ in SCREENS.values()), "/reviews", "/service", f"/rules/{AGENT}", "/fleet")


def crawl(house: House, readers: int, seconds: float, ready: Any) -> None:
    """So many readers, each with a connection of its own, going from screen to screen; prints what they got."""
    counts: dict[int, int] = {}
    lock = threading.Lock()
    end = time.monotonic() + seconds

    def read(number: int) -> None:
        connection, place = house.connect(), number
        while time.monotonic() < end:
            try:
                status, *_ = house.get(connection, CRAWL[place % len(CRAWL)])
            except (OSError, http.client.HTTPException):
                status, connection = 0, house.connect()
            with lock:
                counts[status] = counts.get(status, 0) + 1
            place += 1
            if status in {429, 503}:
                time.sleep(1)  # as it was asked to

    threads = [threading.Thread(target=read, args=(number,)) for number in range(readers)]
    for thread in threads:
        thread.start()
    ready.set()
    for thread in threads:
        thread.join()
    told = ", ".join(f"{count:,} of {status}" for status, count in sorted(counts.items()))
    print(f"  {readers} readers in {seconds:.0f} s: answers {told}", flush=True)


class Wait(NamedTuple):
    """A commit of somebody who writes, milliseconds: until it may begin, until its statement is done, until it is stored."""

    begin: float
    statement: float
    commit: float


def waits(house: House, seconds: float) -> list[Wait]:
    """How long each part of a commit took: one each hundredth of a second, as ingest does."""
    store = open_store(house.url, create=False)
    rows = []
    end = time.monotonic() + seconds
    mine = "agent = (SELECT key FROM agents WHERE name = :agent) AND position = 'copy-1'"
    statement = text(f"UPDATE book_positions SET ruling = ruling WHERE {mine}")
    while time.monotonic() < end:
        ticks = [time.perf_counter()]
        with store.write() as conn:
            ticks.append(time.perf_counter())
            conn.execute(statement, {"agent": AGENT})
            ticks.append(time.perf_counter())
        ticks.append(time.perf_counter())
        rows.append(Wait(*((after - before) * 1e3 for before, after in itertools.pairwise(ticks))))
        time.sleep(0.01)
    store.close()
    return rows


def beside(house: House, readers: int, seconds: float, write: House) -> list[Wait]:
    """The commits into one database while everybody reads at a house."""
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    crawlers = context.Process(target=crawl, args=(house, readers, seconds + 1, ready))
    crawlers.start()
    ready.wait()
    rows = waits(write, seconds)
    crawlers.join()
    return rows


def compare_commits(house: House, other: House, readers: int, seconds: float) -> list[Bar]:
    """The commits of a service alone, while everybody reads at another database, and while they read at its own."""
    print()
    rows = {
        "alone": waits(house, seconds / 2),
        f"{readers} readers elsewhere": beside(other, readers, seconds, house),
        f"beside {readers} readers": beside(house, readers, seconds, house),
    }
    parts = f"{'begin':>8}{'statement':>11}{'stored':>8}"
    print(f"\n{'a commit, ms':28}{'n':>8}{'median':>8}{'99 %':>8}{'longest':>9}   longest of{parts}")
    for name, times in rows.items():
        whole = sorted(map(sum, times))
        begin, statement, commit = map(max, zip(*times, strict=True))
        print(
            f"{name:28}{len(times):8,}{statistics.median(whole):8.1f}{whole[int(len(whole) * 0.99)]:8.1f}"
            f"{whole[-1]:9.1f}{begin:21.1f}{statement:11.1f}{commit:8.1f}"
        )
    return [Bar("the longest wait of a commit", max(map(sum, rows[f"beside {readers} readers"])), COMMIT_MS)]
