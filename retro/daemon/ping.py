"""The dead man's switch: somebody outside is told that we run, so that they notice when we do not."""

from __future__ import annotations

import http.client
import time
import urllib.request
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Ping"]

_TIMEOUT_S: Final = 10.0
_EVERY_S: Final = 300.0


class Ping:
    """Tells a healthchecks-style URL of start, success and failure; it never fails and never quotes the URL."""

    def __init__(self, url: str | None, log: Callable[..., None]) -> None:
        self._url = url
        self._log = log
        self._well_since: float | None = None
        self._broken = False

    def start(self) -> None:
        """Work begins."""
        self._tell("/start")

    def success(self, *, at_once: bool = False) -> None:
        """All is well; said every five minutes at most, unless something has just changed."""
        now = time.monotonic()
        if at_once or self._well_since is None or now - self._well_since >= _EVERY_S:
            self._tell("")
            self._well_since = now

    def fail(self) -> None:
        """Something needs a person."""
        self._tell("/fail")
        self._well_since = None

    def _tell(self, suffix: str) -> None:
        if self._url is None:
            return
        parts = urlsplit(self._url)
        url = urlunsplit(parts._replace(path=parts.path.rstrip("/") + suffix))
        try:
            request = urllib.request.Request(url, headers={"User-Agent": "slow-mirror"})  # noqa: S310  http(s): checked
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310  as above
                answer.read(1024)
        except (OSError, http.client.HTTPException, ValueError) as error:
            if not self._broken:
                self._log("ping_failed", level="warning", reason=type(error).__name__)
            self._broken = True
        else:
            self._broken = False
