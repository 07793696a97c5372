"""The pulse of what is stored, read once for all who listen.

A page asks again every few seconds while somebody looks at it. No connection stays open: a browser has six for a server,
and six pages that listened on one each would keep the seventh waiting for good.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from retro.app.questions.screens.pulse import pulse

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.surface.screens.house import House

__all__ = ["Pulse"]

_FRESH_S: Final = 2.0


class Pulse:
    """Two lines: a digest that changes when something comes in, and what the title says of things that want a person."""

    def __init__(self, house: House, *, now: Callable[[], float] = time.monotonic) -> None:
        self._house, self._now = house, now
        self._lock = threading.Lock()
        self._read_at = float("-inf")
        self._state: tuple[int, ...] | None = None
        self._text = ""

    def text(self) -> str:
        """What was read less than two seconds ago, or is read now; of a file that nobody wrote to nothing is asked."""
        with self._lock:
            if self._now() - self._read_at >= _FRESH_S:
                now = self._house.clock()
                state = self._house.store.state(now)
                if state is None or state != self._state:
                    reading = pulse(self._house.store, now)
                    wanted = f"({reading.wanting})" if reading.wanting else ""
                    self._state, self._text = state, f"{reading.digest}\n{wanted}\n"
                self._read_at = self._now()
            return self._text
