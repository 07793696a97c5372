"""Pages that were drawn lately: who asks again for what nobody has changed since gets the same bytes, and reads nothing."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.periods import DAY

if TYPE_CHECKING:
    from collections.abc import Hashable

    from retro.surface.screens.house import House
    from retro.surface.screens.routes import Request

__all__ = ["PageCache", "PagePlace"]

_LASTING: Final = frozenset({"r", "p", "diff"})
"""Screens that are of what is stored and of the day, and of nothing else."""
_PAGES: Final = 64


class PagePlace(NamedTuple):
    """Where a page lies: under what was asked for on which UTC day, and the state of the database it was read from."""

    asked: Hashable
    state: Hashable


class PageCache:
    """The last pages of screens that last. Of a server's database it holds nothing: nobody tells it of a commit there."""

    def __init__(self, house: House, *, pages: int = _PAGES) -> None:
        self._house, self._most = house, pages
        self._lock = threading.Lock()
        self._pages: dict[PagePlace, str] = {}

    def place(self, request: Request) -> PagePlace | None:
        """Where the page that is asked for now belongs, to be asked before it is read; None where it is not kept."""
        if request.screen not in _LASTING or request.format == "csv":
            return None
        now = self._house.clock()
        state = self._house.store.state(now)
        asked = (request.screen, request.names, request.format, request.pairs, now // DAY)
        return None if state is None else PagePlace(asked, state)

    def page(self, place: PagePlace | None) -> str | None:
        """The page that lies there."""
        with self._lock:
            return None if place is None else self._pages.get(place)

    def keep(self, place: PagePlace | None, page: str) -> None:
        """Lay a page there; the oldest gives way."""
        if place is None:
            return
        with self._lock:
            self._pages[place] = page
            while len(self._pages) > self._most:
                del self._pages[next(iter(self._pages))]
