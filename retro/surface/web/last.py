"""What was read of an address before, for while its database is held by somebody else."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.periods import format_instant

if TYPE_CHECKING:
    from retro.present.page.blocks import Page
    from retro.surface.screens.answer import Answer
    from retro.surface.screens.routes import Request

__all__ = ["LastAnswers"]

_MOST: Final = 8
"""Addresses: a page of a week takes a megabyte."""


class _Kept(NamedTuple):
    answer: Answer
    at: int


class LastAnswers:
    """The last good answers of the addresses that were asked for lately, each with the instant it was read at."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[object, ...], _Kept] = OrderedDict()

    def keep(self, request: Request, answer: Answer, at: int) -> None:
        """Put down the page that was answered at an instant (microseconds)."""
        kept = _Kept(answer._replace(document="", rows=None), at)
        with self._lock:
            self._kept[_key(request)] = kept
            self._kept.move_to_end(_key(request))
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)

    def of(self, request: Request, why: str) -> Answer | None:
        """What was answered before, and on its page why it stands there again; None where nothing was."""
        with self._lock:
            kept = self._kept.get(_key(request))
        if kept is None:
            return None
        return kept.answer._replace(page=_told(kept.answer.page, kept.at, why), acts=())


def _key(request: Request) -> tuple[object, ...]:
    return request.screen, request.names, request.pairs


def _told(page: Page, at: int, why: str) -> Page:
    alarm = f"{why}. What stands here was read at {format_instant(at)}"
    return replace(page, headline=replace(page.headline, alarms=(alarm, *page.headline.alarms)))
