"""What systemd is told: that we are ready, what we do, and, from the work loop itself, that we still do it."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Notifier"]

_MICRO = 1_000_000


class Notifier:
    """Speaks to `$NOTIFY_SOCKET`, where there is one. A message that cannot be sent is nobody's trouble."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._address = env.get("NOTIFY_SOCKET", "")
        pid = env.get("WATCHDOG_PID")
        ours = pid is None or pid == str(os.getpid())
        watchdog_us = env.get("WATCHDOG_USEC", "")
        self._every = int(watchdog_us) / _MICRO / 4 if watchdog_us.isdigit() and ours else None
        self._last = -1e9

    def ready(self) -> None:
        """The service works."""
        self._send("READY=1")

    def status(self, text: str) -> None:
        """One line for `systemctl status`."""
        self._send(f"STATUS={text}")

    def stopping(self) -> None:
        """It ends."""
        self._send("STOPPING=1")

    def reloading(self) -> None:
        """It reads its configuration again; `ready` follows."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def beat(self) -> None:
        """A sign of life, not more often than a watchdog needs."""
        now = time.monotonic()
        if self._every is not None and now - self._last >= self._every:
            self._last = now
            self._send("WATCHDOG=1")

    def _send(self, message: str) -> None:
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out,
        ):
            out.settimeout(1)
            out.sendto(message.encode(), address)
