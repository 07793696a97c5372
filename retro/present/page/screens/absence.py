"""What stands where there is nothing to show. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.present.page.blocks import Headline, Notes, Page, Section

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["absence_page", "unreadable_page"]


def absence_page(title: str, why: str, commands: Sequence[str] = ()) -> Page:
    """A screen that has nothing to show: why, and what to type."""
    blocks = (Notes(tuple(commands)),) if commands else ()
    return Page(
        Headline(kicker="Nothing here", title=title, subtitle="", result=why, why="", tone="plain"),
        (Section("absence", "What to do", blocks),) if blocks else (),
    )


def unreadable_page(why: str) -> Page:
    """A filter, an order or an instant that nobody can read, and why."""
    return Page(Headline("Nothing here", "The slow mirror", "", "That cannot be read", why, "plain"), ())
