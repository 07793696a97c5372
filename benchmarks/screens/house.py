"""A house with a life of so many positions, what serves it, and how it is asked."""

from __future__ import annotations

import contextlib
import http.client
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import text

from retro.periods import HOUR, day_of, zone
from retro.store.books.positions import save_positions
from retro.store.books.totals import settle_totals
from retro.store.database import open_store
from tests.worlds.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AGENT = "harbor-3"
ROUNDS = 25
_LIKE_A_PAGE = ("accept-encoding", "gzip")


class Bar(NamedTuple):
    """What was measured, and the most that it may be."""

    what: str
    measured: float
    most: float
    unit: str = "ms"


class House(NamedTuple):
    """A folder with its database, the address of what serves it, and the key."""

    folder: Path
    url: str
    port: int
    key: str
    process: int

    def words(self, *words: str) -> list[str]:
        """A command of ours."""
        return [sys.executable, "-m", "retro", "--db", self.url, *words]

    def processor_ms(self) -> float:
        """What whoever serves it has taken of the processor so far, in hundredths of a second."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1e3 / os.sysconf("SC_CLK_TCK")

    def connect(self, port: int | None = None) -> http.client.HTTPConnection:
        """A connection that stays."""
        return http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=60)

    def get(
        self, connection: http.client.HTTPConnection, address: str, tag: str = ""
    ) -> tuple[int, bytes, str]:
        """Status, body as it came, and tag; `tag` is that of the page one has already."""
        known = [("if-none-match", tag)] if tag else []
        headers = dict([_LIKE_A_PAGE, ("authorization", f"Bearer {self.key}"), *known])
        connection.request("GET", address, headers=headers)
        reply = connection.getresponse()
        return reply.status, reply.read(), reply.headers.get("etag", "")


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
        copies = [copied(closed, n) for n in range(first, min(first + 5000, positions))]
        with store.write() as conn:
            save_positions(conn, AGENT, copies)
    with store.write() as conn:
        ends = conn.execute(text("SELECT closed_at FROM book_positions WHERE closed_at IS NOT NULL"))
        settle_totals(conn, AGENT, zone("UTC"), {day_of(at, zone("UTC")) for at in ends.scalars()})
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
def serving(words: list[str], port: int, folder: Path) -> Iterator[tuple[float, int]]:
    """A process that serves, until it is let go; the seconds until it answered for the first time, and its number."""
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
            yield time.perf_counter() - started, process.pid
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
