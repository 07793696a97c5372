"""What a worker says of itself to whoever watches it: `/healthz` and `/metrics`, over plain HTTP on one port."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from retro.app.questions.metrics import worker_metrics
from retro.daemon.setup import clock
from retro.errors import StoreError
from retro.present.openmetrics import openmetrics_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.app.context import PassSummary
    from retro.store.database import Store

__all__ = ["WorkerCounts", "serve_page"]

_PATIENCE_S: Final = 5.0
_HEAD: Final = 8192
_METRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@dataclass(slots=True)
class WorkerCounts:
    """What a worker has done since it started, by queue: knocks answered and seconds at them; and what they came to."""

    knocks: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)

    def add(self, queue: str, tally: PassSummary, seconds: float) -> None:
        """One more knock of a queue, and what it came to."""
        self.knocks[queue] += 1
        self.seconds[queue] = self.seconds.get(queue, 0.0) + seconds
        for outcome in ("done", "unchanged", "failed", "parked", "lost", "sent", "refused"):
            self.outcomes[outcome] += getattr(tally, outcome)


async def serve_page(
    counts: WorkerCounts, store: Store, address: tuple[str, int] | None, stopping: Callable[[], bool]
) -> asyncio.Server | None:
    """Serve both pages at an address (host, port); None where none is given. `OSError` where it is taken."""
    if address is None:
        return None

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            async with asyncio.timeout(2 * _PATIENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(await _response(head, counts, store, stopping))
                await writer.drain()
        writer.close()

    return await asyncio.start_server(on_connection, *address, limit=_HEAD)


async def _response(head: bytes, counts: WorkerCounts, store: Store, stopping: Callable[[], bool]) -> bytes:
    method, _, rest = head.partition(b"\r\n")[0].partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0]
    if method not in {b"GET", b"HEAD"}:
        return _message("405 Method Not Allowed", "only GET\n")
    try:
        async with asyncio.timeout(_PATIENCE_S):
            if path == b"/healthz":
                await asyncio.to_thread(_reach, store)
                state = "503 Service Unavailable" if stopping() else "200 OK"
                return _message(state, "stopping\n" if stopping() else "ok\n")
            if path == b"/metrics":
                return _message("200 OK", await asyncio.to_thread(_metrics, counts, store), _METRICS)
    except (StoreError, TimeoutError):
        return _message("503 Service Unavailable", "the database cannot be reached\n")
    return _message("404 Not Found", "there are /healthz and /metrics\n")


def _reach(store: Store) -> None:
    with store.read() as conn:
        conn.exec_driver_sql("SELECT 1")


def _metrics(counts: WorkerCounts, store: Store) -> str:
    with store.read() as conn:
        families = worker_metrics(conn, clock(), counts.knocks, counts.seconds, counts.outcomes)
    return openmetrics_of(families)


def _message(state: str, text: str, kind: str = "text/plain; charset=utf-8") -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {state}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
