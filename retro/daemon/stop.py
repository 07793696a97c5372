"""Signals: the first SIGTERM or SIGINT ends the service in good order, the second at once.

SIGHUP reads the configuration again.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["Interrupted", "Signals", "deferred"]

_PATIENCE_S: Final = 45.0
"""A step that has not come to its end by then is broken off, so that what is held is given back within a minute."""


_OURS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Interrupted(BaseException):
    """The step at hand has to be broken off: the service was told to stop and cannot wait for it."""


class Signals:
    """What was asked for from outside, for the work loop to look at between steps. `wake` is set whenever it should."""

    def __init__(self, patience_s: float = _PATIENCE_S) -> None:
        self.wake = threading.Event()
        self.stop = False
        self.reload = False
        self._patience_s = patience_s
        self._working = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number, handler in (
            (signal.SIGTERM, self._end),
            (signal.SIGINT, self._end),
            (signal.SIGHUP, self._hang_up),
            (signal.SIGALRM, self._overdue),
        ):
            self._before[number] = signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _OURS)  # what an image before us has deferred
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def stopping(self) -> bool:
        """Whether no new step should begin."""
        return self.stop

    def working(self, yes: bool) -> None:
        """Whether a step is at hand that a signal may break off."""
        self._working = yes

    def _end(self, _: int, __: FrameType | None) -> None:
        if self.stop:
            self._overdue(0, None)
            return
        self.stop = True
        self.wake.set()
        signal.setitimer(signal.ITIMER_REAL, self._patience_s)

    def _overdue(self, _: int, __: FrameType | None) -> None:
        if self.stop and self._working:
            self._working = False  # once: what cleans up after it is not broken off too
            raise Interrupted

    def _hang_up(self, _: int, __: FrameType | None) -> None:
        self.reload = True
        self.wake.set()


@contextmanager
def deferred() -> Iterator[None]:
    """Let our signals wait while the block runs, and over an exec until the next image listens."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _OURS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _OURS)
