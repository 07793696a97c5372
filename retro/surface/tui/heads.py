"""What stands above and beneath a page in a terminal, as lines: the way here, a list's title, the keys. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from retro.present.page.blocks import Table
from retro.present.text.page import lines_of
from retro.present.widths import cells, cut, line, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.blocks import Page
    from retro.present.widths import Line, TextSpan
    from retro.surface.tui.reader import View

__all__ = ["crumb_line", "key_line", "list_title", "past_lines"]

_HOUSE: Final = "The slow mirror"
_BETWEEN: Final = " / "


def crumb_line(crumbs: Sequence[str], width: int) -> Line:
    """The way here, where one is at its end; of a way too long its beginning is left out."""
    text = crumbs[-1] if crumbs else ""
    way = _BETWEEN.join((_HOUSE, *crumbs[:-1]))
    room = width - cells(text) - len(_BETWEEN) - 1
    if room < len(_HOUSE):
        return line(" ", (cut(text, width - 1), "strong"))
    return line(" ", (f"{cut(way, room)}{_BETWEEN}", "faint"), (text, "strong"))


def past_lines(past: str, width: int) -> list[Line]:
    """As of when a screen is, for who looks back; else an empty line."""
    return [line((f" {part}", "warn")) for part in wrap(past, width - 2)] if past else [()]


def list_title(page: Page, width: int) -> list[Line]:
    """A list's name, what it is of and how many there are, and what its page says beside the rows."""
    head = page.headline
    title = head.kicker.upper() if head.title == head.kicker else f"{head.kicker.upper()}: {head.title}"
    text = "  ".join(part for part in (head.subtitle, head.result) if part)
    if cells(title) + cells(text) + 4 <= width:
        lines = [line((title, "strong"), "  ", (text, "faint"))]
    else:
        lines = [line((part, "strong")) for part in wrap(title, width)]
        lines += [line((part, "faint")) for part in wrap(text, width)]
    for section in page.sections:
        blocks = tuple(block for block in section.blocks if not isinstance(block, Table))
        if blocks:
            _, drawn = lines_of(replace(page, sections=(replace(section, blocks=blocks),), foot=()), width)
            lines += drawn[2:]  # without the rule that names it: that was the title
    return lines


def key_line(
    view: View | None, width: int, *, deep: bool, listed: bool, more: Sequence[tuple[str, str]] = ()
) -> Line:
    """The keys of a screen, as many as have room; the ways on that it has itself come first.

    Those to its neighbours are left out: a reader of a list knows them, and others are told by the sheet. `more` are
    keys that this screen alone has, each with what it does.
    """
    steps = () if view is None else view.steps
    keys = [(step.key.lower(), step.title) for step in steps if step.key not in "[]"]
    keys += [("?", "keys")]
    keys += [("esc", "back")] if deep else []
    keys += [("enter", "open"), ("/", "filter")] if listed else [("tab", "next link")]
    keys += [*more, ("g", "go"), (":", "palette"), ("q", "quit")]
    spans: list[TextSpan] = []
    room = width
    for key, title in keys:
        size = cells(key) + cells(title) + 4
        if size > room:
            continue
        room -= size
        spans += line((f" {key} ", "strong"), (f"{title}  ", "faint"))
    return tuple(spans)
