"""What the screens cost beside what one would use without them, and what they cost the service that writes meanwhile.

    python -m benchmarks.screens [--positions 100000] [--readers 50] [--seconds 10] [--database postgresql://user@host/empty]

A real `retro web` over a life of so many positions. Without it an owner would open pages that were printed to files
(`--format html`, served by Python's own file server), load the whole list into a spreadsheet (every row, sorted by its
regret), or have the command print what the terminal shows: times are ratios to these, of one run. Bars are the design's
that no other process moves much: bytes, a page of a list at its far end beside its first, a commit of the service that
waits at most 100 ms while everybody reads, and a ninth window beside eight that listen. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import http.client
import multiprocessing
import os
import pty
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import text

from retro.periods import HOUR
from retro.store.books import pages
from retro.store.books.positions import save_positions
from retro.store.database import Store, open_store
from tests.worlds.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AGENT = "harbor-3"
ROUNDS = 25
COMMIT_MS = 100.0
SCREENS = {
    "Today": ("/", 14),
    "a review": (f"/r/{AGENT}.weekly.2026-W10", 20),
    "a position": (f"/p/{AGENT}/p-1", 12),
    "positions": (f"/positions?agent={AGENT}", 10),
}
"""Its address, and how many KB it may be, packed."""
CRAWL = (*(address for address, _ in SCREENS.values()), "/reviews", "/service", f"/rules/{AGENT}", "/fleet")
_LIKE_A_PAGE = ("accept-encoding", "gzip")


class House(NamedTuple):
    """A folder with its database, the address of what serves it, and the key."""

    folder: Path
    url: str
    port: int
    key: str

    def words(self, *words: str) -> list[str]:
        """A command of ours."""
        return [sys.executable, "-m", "retro", "--db", self.url, *words]

    def connect(self, port: int | None = None) -> http.client.HTTPConnection:
        """A connection that stays."""
        return http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=60)

    def get(self, connection: http.client.HTTPConnection, address: str) -> tuple[int, bytes]:
        """What comes back, as it came."""
        headers = dict([_LIKE_A_PAGE, ("authorization", f"Bearer {self.key}")])
        connection.request("GET", address, headers=headers)
        reply = connection.getresponse()
        return reply.status, reply.read()


def built(folder: Path, url: str, positions: int) -> None:
    """An agent of every type of event with its reviews, and its lives again and again until there are so many."""
    for words in (("ingest", "journal", str(ROOT / "examples" / "agent.jsonl")), ("run", "--once")):
        command = [sys.executable, "-m", "retro", "--db", url, *words]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    store = open_store(url, create=False)
    with store.read() as conn:
        rows = [dict(row) for row in conn.execute(text("SELECT * FROM book_positions")).mappings()]
    closed = [row for row in rows if row["closed_at"] is not None]
    for first in range(0, positions, 5000):
        with store.write() as conn:
            save_positions(
                conn, AGENT, [copied(closed, n) for n in range(first, min(first + 5000, positions))]
            )
    store.close()


def copied(rows: list[dict[str, Any]], number: int) -> dict[str, Any]:
    """A life again, hours earlier and under another name."""
    row = rows[number % len(rows)]
    earlier = (number + 1) * HOUR // 4
    instants = {name: row[name] - earlier for name in ("opened_at", "closed_at")}
    plain = {name: value for name, value in row.items() if name not in {"agent", "exit_resolved_at"}}
    figures = {name: None if row[name] is None else float(row[name]) for name in ("notional", "risk")}
    return {**plain, **instants, **figures, "exit_resolved_at": None, "position": f"copy-{number}"}


@contextlib.contextmanager
def serving(words: list[str], port: int, folder: Path) -> Iterator[float]:
    """A process that serves, until it is let go; gives the seconds until it answered for the first time."""
    started = time.perf_counter()
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            while process.poll() is None:
                with contextlib.suppress(OSError, http.client.HTTPException):
                    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                    connection.request("GET", "/healthz")
                    connection.getresponse().read()
                    connection.close()
                    break
                time.sleep(0.01)
            if process.poll() is not None:
                raise SystemExit(f"port {port} is taken, or what serves there ended: --port names another")
            yield time.perf_counter() - started
        finally:
            process.terminate()


def milliseconds(ask: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The median of many times, after one that is not counted."""
    ask()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        ask()
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)


def compare_pages(house: House) -> list[str]:
    """Each screen: bytes, milliseconds, and beside a file of the same page."""
    breaches = []
    folder = house.folder / "files"
    folder.mkdir()
    connection = house.connect()
    for name, (address, _) in SCREENS.items():
        body = house.get(connection, address)[1]
        (folder / f"{name.replace(' ', '-')}.html").write_bytes(gzip.decompress(body))
    port = house.port + 1
    print(f"\n{'screen':14}{'KB packed':>10}{'may be':>8}{'ms':>8}{'a file, ms':>12}{'ratio':>8}")
    with serving([sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"], port, folder):
        for name, (address, most) in SCREENS.items():
            size = len(house.get(connection, address)[1]) / 1024
            ours = milliseconds(lambda address=address: house.get(connection, address))  # type: ignore[misc]
            file = f"/{name.replace(' ', '-')}.html"
            theirs = milliseconds(lambda file=file: house.get(house.connect(port), file))  # type: ignore[misc]
            print(f"{name:14}{size:10.1f}{most:8}{ours:8.1f}{theirs:12.1f}{ours / theirs:8.1f}")
            if size >= most:
                breaches.append(f"{name} has {size:.1f} KB packed")
    return breaches


def compare_lists(house: House, positions: int) -> list[str]:
    """A page of a list at its beginning, in its middle and sorted, beside loading all of it."""
    connection = house.connect()
    list_address = SCREENS["positions"][0]
    middle = f"{list_address}&after=copy-{positions // 2}"
    times = {
        "first page": milliseconds(lambda: house.get(connection, list_address)),
        "page in the middle": milliseconds(lambda: house.get(connection, middle)),
        "sorted by regret": milliseconds(lambda: house.get(connection, f"{list_address}&sort=-regret")),
        "filtered: pnl<0 held>1d": milliseconds(
            lambda: house.get(connection, f"{list_address}&q=pnl%3C0+held%3E1d")
        ),
    }
    store = open_store(house.url, create=False)
    whole = milliseconds(lambda: loaded(store), 3)
    store.close()
    print(
        f"\n{'of ' + format(positions, ',') + ' positions':28}{'ms':>8}{'of loading and sorting all of it':>36}"
    )
    for name, ms in times.items():
        print(f"{name:28}{ms:8.1f}{ms / whole:36.3f}")
    print(f"{'loading and sorting all':28}{whole:8.0f}")
    ratio = times["page in the middle"] / times["first page"]
    return [f"a page in the middle takes {ratio:.1f} times the first"] if ratio > 1.5 else []


def loaded(store: Store) -> list[Any]:
    """Every row of a list, as a spreadsheet has them, by its regret."""
    with store.read() as conn:
        rows = list(pages.positions_after(conn, AGENT, None, 1 << 40))
    return sorted(rows, key=lambda row: row.regret or 0.0, reverse=True)


def crawl(house: House, readers: int, seconds: float, ready: Any) -> None:
    """So many readers, each with a connection of its own, going from screen to screen; prints what they got."""
    counts: dict[int, int] = {}
    lock = threading.Lock()
    end = time.monotonic() + seconds

    def read(number: int) -> None:
        connection, place = house.connect(), number
        while time.monotonic() < end:
            try:
                status, _ = house.get(connection, CRAWL[place % len(CRAWL)])
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


def waits(house: House, seconds: float) -> list[float]:
    """How long each commit of somebody who writes took, milliseconds: one each hundredth of a second, as ingest does."""
    store = open_store(house.url, create=False)
    times = []
    end = time.monotonic() + seconds
    statement = text("UPDATE book_positions SET ruling = ruling WHERE position = 'copy-1'")
    while time.monotonic() < end:
        started = time.perf_counter()
        with store.write() as conn:
            conn.execute(statement)
        times.append((time.perf_counter() - started) * 1e3)
        time.sleep(0.01)
    store.close()
    return times


def compare_commits(house: House, readers: int, seconds: float) -> list[str]:
    """The commits of a service alone, and while everybody reads."""
    print()
    alone = waits(house, seconds / 2)
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    crawlers = context.Process(target=crawl, args=(house, readers, seconds + 1, ready))
    crawlers.start()
    ready.wait()
    beside = waits(house, seconds)
    crawlers.join()
    print(f"\n{'a commit, ms':28}{'n':>8}{'median':>8}{'99 %':>8}{'longest':>9}")
    for name, times in (("alone", alone), (f"beside {readers} readers", beside)):
        quantile = sorted(times)[int(len(times) * 0.99)]
        print(f"{name:28}{len(times):8,}{statistics.median(times):8.1f}{quantile:8.1f}{max(times):9.1f}")
    longest = max(beside)
    return [f"a commit waited {longest:.0f} ms"] if longest > COMMIT_MS else []


def compare_windows(house: House, seconds: float) -> list[str]:
    """A window alone, and beside eight that listen without a pause."""
    connection = house.connect()
    alone = milliseconds(lambda: house.get(connection, "/"))
    end = time.monotonic() + seconds
    asked = [0] * 8

    def listen(number: int) -> None:
        mine = house.connect()
        while time.monotonic() < end:
            house.get(mine, "/-/pulse")
            asked[number] += 1
            time.sleep(0.05)  # a hundred times as often as a page does

    threads = [threading.Thread(target=listen, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    beside = milliseconds(lambda: house.get(connection, "/"))
    for thread in threads:
        thread.join()
    print(
        f"\nToday alone {alone:.1f} ms; beside eight windows that asked {sum(asked):,} times {beside:.1f} ms"
    )
    return [f"a ninth window takes {beside / alone:.1f} times as long"] if beside > 5 * alone else []


def first_screen(words: list[str], folder: Path, wanted: bytes) -> tuple[float, float]:
    """Seconds, of the clock and of the processor, until a command shows this in a terminal, and is ended."""
    started = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ["TERM"] = "xterm-256color"
        os.execv(words[0], words)
    shown = b""
    while wanted not in shown and time.perf_counter() - started < 30:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                shown += os.read(terminal, 1 << 16)
            except OSError:
                break
    seconds = time.perf_counter() - started
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    with contextlib.suppress(OSError):
        while os.read(terminal, 1 << 16):
            pass
    usage = os.wait4(pid, 0)[2]
    os.close(terminal)
    return seconds, usage.ru_utime + usage.ru_stime


def compare_terminals(house: House) -> None:
    """The terminal's first screen beside the command that prints the same."""
    print(f"\n{'until Today is shown, s':28}{'clock':>8}{'processor':>11}")
    clocks = []
    for name, words, wanted in (
        ("retro today", ("today",), b"That is all"),
        ("retro tui", ("tui",), b"TODAY"),
    ):
        runs = [first_screen(house.words(*words), house.folder, wanted) for _ in range(4)][1:]
        clocks.append(statistics.median(run[0] for run in runs))
        print(f"{name:28}{clocks[-1]:8.2f}{statistics.median(run[1] for run in runs):11.2f}")
    print(f"the screen takes {clocks[1] / clocks[0]:.2f} times what the command takes")


def main() -> int:
    """Print the tables; 1 where a bar is not met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--positions", type=int, default=100_000)
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--port", type=int, default=8690)
    parser.add_argument("--database", help="an empty PostgreSQL; without it a SQLite file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        url = options.database or str(folder / "mirror.db")
        built(folder, url, options.positions)
        words = [sys.executable, "-m", "retro", "--db", url, "web", "--no-open", "--port", str(options.port)]
        with serving(words, options.port, folder) as first:
            print(f"first answer after {first:.2f} s")
            house = House(folder, url, options.port, (folder / "web.key").read_text().strip())
            breaches = [
                *compare_pages(house),
                *compare_lists(house, options.positions),
                *compare_commits(house, options.readers, options.seconds),
                *compare_windows(house, 3.0),
            ]
        compare_terminals(house)
    for breach in breaches:
        print(f"too much: {breach}")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
