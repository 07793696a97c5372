"""A cursor along the path of a page: which stop it comes to by which key, and the page with it drawn. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from retro.present.page.blocks import PathChart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.blocks import Page
    from retro.present.page.screens.stops import StopRow

__all__ = ["chart_of", "closer", "next_stop", "pointed_page"]

_KINDS: Final = {"c": ("checkpoint", 1), "C": ("checkpoint", -1), "b": ("best", 1)}
_FEWEST: Final = 2
"""Stops on either side of one that is looked at closer, at least."""


def chart_of(page: Page) -> PathChart | None:
    """The path that a page draws, and where it stands; None where it draws none."""
    return next(
        (
            block
            for section in page.sections
            for block in section.blocks
            if isinstance(block, PathChart) and not block.small
        ),
        None,
    )


def pointed_page(page: Page, cursor: int | None) -> Page:
    """The page with the cursor at a stop of its path; None takes it away."""
    chart = chart_of(page)
    sections = tuple(
        replace(
            section,
            blocks=tuple(
                replace(chart, cursor=cursor) if block is chart else block for block in section.blocks
            ),
        )
        if chart is not None
        else section
        for section in page.sections
    )
    return replace(page, sections=sections)


def next_stop(stops: Sequence[StopRow], at: int | None, key: str) -> int | None:
    """Where a key leads to from a stop, or from none; None where there is no such stop.

    `left`, `right`: the one before, the next; `0`, `$`: the first and last that are drawn; `c`, `C`: the next checkpoint
    and the one before; `b`: the best exit, from anywhere.
    """
    last = len(stops) - 1
    if key in _KINDS:
        kind, step = _KINDS[key]
        begin = -1 if at is None or key == "b" else at
        places = (
            range(begin + step, last + 1) if step > 0 else range((last + 1 if at is None else at) - 1, -1, -1)
        )
        return next(
            (place for place in places if stops[place].kind == kind or kind in stops[place].name), None
        )
    if key in "0$":
        return 0 if key == "0" else last
    if at is None:
        return last if key == "left" else 0
    return min(max(at + (1 if key == "right" else -1), 0), last)


def closer(stops: Sequence[StopRow], at: int | None) -> tuple[str, str] | None:
    """The instants between which a half of what is drawn lies around a stop; None where it is no shorter."""
    last = len(stops) - 1
    place = last // 2 if at is None else at
    around = max(_FEWEST, len(stops) // 4)
    first, end = stops[max(0, place - around)].at, stops[min(last, place + around)].at
    return None if (first, end) in {(stops[0].at, stops[-1].at), (first, first)} else (first, end)
