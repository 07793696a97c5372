"""The connections beneath a guarded application: how many there may be, and how long one may keep us waiting.

ASGI sees a request when its head is here; whoever opens a connection and sends nothing, or a byte a minute, or never
reads its answer, is dealt with here. When there is no room the connection that has kept us waiting longest gives way,
of the same address first: a newcomer gets in, and what is being answered is never broken off.
"""

from __future__ import annotations

import contextlib
import gc
import socket
import struct
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

    from retro.surface.guard.guard import Application

__all__ = ["Connection", "ConnectionLimits", "Waiting", "serve"]

_HEAD: Final = 16 << 10
"""Bytes of a request's head that the parser takes at all; the guard refuses half of it in a friendlier way."""
_GRACE_S: Final = 2
_ALLOCATED: Final = 5_000
"""New objects until a collection: it lasts milliseconds then, for an answer may hold a transaction open meanwhile."""
_SWITCH_S: Final = 0.0005
"""Seconds until a thread that computes lets in one that has a row to fetch: ten times as often as usual."""
_AT_ONCE: Final = struct.pack("ii", 1, 0)
"""To linger, for no time: a reset."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections there may be, and how many seconds one may be awaited: its head and body, its reading."""

    of_one: int = 128
    """From one address."""
    of_all: int = 512
    patience_s: float = 15.0


_DEFAULTS: Final = ConnectionLimits()


@dataclass(slots=True)
class Waiting:
    """The connections there are, by address; those that we wait for in the order since when."""

    bounds: ConnectionLimits
    addresses: dict[Connection, str] = field(default_factory=dict)
    awaited: dict[Connection, None] = field(default_factory=dict)

    def admit(self, connection: Connection, address: str) -> bool:
        """Take in a connection; False where there is no room and none to be made."""
        of_same = [other for other, place in self.addresses.items() if place == address]
        if len(of_same) >= self.bounds.of_one:
            candidates = [other for other in self.awaited if self.addresses[other] == address]
        elif len(self.addresses) >= self.bounds.of_all:
            candidates = list(self.awaited)
        else:
            candidates = None
        if candidates is not None:
            if not candidates:
                return False
            candidates[0].drop()
        self.addresses[connection] = address
        return True

    def await_client(self, connection: Connection) -> None:
        """We wait for this client from now on."""
        self.awaited.pop(connection, None)
        if connection in self.addresses:
            self.awaited[connection] = None

    def attend(self, connection: Connection) -> None:
        """It waits for us."""
        self.awaited.pop(connection, None)

    def forget(self, connection: Connection) -> None:
        """It is gone."""
        self.awaited.pop(connection, None)
        self.addresses.pop(connection, None)


class Connection(H11Protocol):
    """A connection that is given up when its client keeps us waiting."""

    waiting: Waiting
    """Of the server; each server makes a class of its own."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the class above
        """It is there, if there is room for it."""
        super().connection_made(transport)
        self._timer: asyncio.TimerHandle | None = None
        self._begun = False
        if self.waiting.admit(self, self.client[0] if self.client else ""):
            self._await_client()
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._stop_timer()
        self.waiting.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request; the clock runs from its first one until it is whole."""
        if not self._begun:
            self._begun = True
            self._await_client()
        super().data_received(data)
        self._attend()

    def on_response_complete(self) -> None:
        """The answer is written and has to be read; the next request may have come already."""
        super().on_response_complete()
        self._begun = False
        self._await_client()
        self._attend()

    def pause_writing(self) -> None:
        """More of an answer is written than its client has read."""
        super().pause_writing()
        self._await_client()

    def resume_writing(self) -> None:
        """The client has read on."""
        super().resume_writing()
        self._attend()

    def drop(self) -> None:
        """Give it up, and what it still has to read: the kernel would keep that for a quarter of an hour."""
        self._stop_timer()
        self.waiting.forget(self)
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()

    def _await_client(self) -> None:
        self.waiting.await_client(self)
        self._stop_timer()
        self._timer = self.loop.call_later(self.waiting.bounds.patience_s, self.drop)

    def _attend(self) -> None:
        """The client waits for us if its request is whole and not yet answered."""
        cycle = self.cycle
        if cycle is not None and not (cycle.more_body or cycle.response_complete or self.flow.write_paused):
            self.waiting.attend(self)
            self._stop_timer()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def serve(
    application: Application,
    host: str,
    port: int,
    *,
    bounds: ConnectionLimits = _DEFAULTS,
    uds: str | None = None,
) -> None:
    """Serve until a signal ends it, on an address, or on the Unix socket at `uds`."""
    bounded = type("BoundedConnection", (Connection,), {"waiting": Waiting(bounds)})
    config = uvicorn.Config(
        cast("Any", application),
        host=host,
        port=port,
        uds=uds,
        http=bounded,
        ws="none",
        interface="asgi3",
        h11_max_incomplete_event_size=_HEAD,
        limit_concurrency=None,
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_level="error",
        timeout_graceful_shutdown=_GRACE_S,
    )
    gc.freeze()  # what was imported stays
    gc.set_threshold(_ALLOCATED, 20, 100)
    sys.setswitchinterval(_SWITCH_S)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run()
