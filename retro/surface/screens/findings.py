"""The examination of the house for many who look at once: made once, and seen by all of them for a while."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RecentFindings"]

_FRESH_S: Final = 15.0


class RecentFindings:
    """What an examination said less than fifteen seconds ago; else it is made, by one while the others wait for it.

    It asks what lies outside, too, such as the disk and a mail server: readers may not have it made again and again.
    """

    def __init__(
        self, examine: Callable[[], list[tuple[str, str, str]]], *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._examine, self._now = examine, now
        self._lock = threading.Lock()
        self._made_at = float("-inf")
        self._findings: list[tuple[str, str, str]] = []

    def __call__(self) -> list[tuple[str, str, str]]:
        """State, name and words of each examination."""
        with self._lock:
            if self._now() - self._made_at >= _FRESH_S:
                self._findings = self._examine()
                self._made_at = self._now()
            return self._findings
