"""A page as a screen of the server: the blocks of the file, with a way to everything they name, and the other screens."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from retro.present.html import TEMPLATES, environment_of_pages
from retro.present.links import address_of
from retro.safe import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.blocks import Page
    from retro.present.references import Reference

__all__ = [
    "STYLE_PREFIX",
    "ScreenFrame",
    "ScreenPlace",
    "plain_page",
    "screen_of",
    "style_name",
    "style_text",
]

STYLE_PREFIX: Final = "/-/s/"
"""Where the style lies: its name holds a digest of it, so that it never changes under its address."""
_PAGES: Final = "retro.present.page."
"""Where the blocks are: a reference keeps its name as it is, and what a chart draws is clean already."""
_STYLES: Final = ("page.css", "screen.css")


@dataclass(frozen=True, slots=True)
class ScreenPlace:
    """A way to another screen; `current`: it is where we are."""

    title: str
    reference: Reference
    current: bool = False


@dataclass(frozen=True, slots=True)
class ScreenFrame:
    """What stands around a page: the other screens, the way here, and the ways to the same in other formats.

    `earlier` and `later` lead through a long list; `forms` are addresses of the same figures, by the name of their format.
    """

    screens: Sequence[ScreenPlace]
    crumbs: Sequence[ScreenPlace] = ()
    forms: Sequence[tuple[str, str]] = ()
    command: str = ""
    earlier: str = ""
    later: str = ""


def plain_page(page: Page) -> Page:
    """The page with `plain_text` applied to every string in it: no control characters, no tricks of direction."""
    plain: Page = _plain(page)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if is_dataclass(value) and not isinstance(value, type) and type(value).__module__.startswith(_PAGES):
        return replace(value, **{part.name: _plain(getattr(value, part.name)) for part in fields(value)})
    return value


def screen_of(page: Page, frame: ScreenFrame) -> str:
    """The page as HTML for this server: everything a stranger wrote is escaped, as in a file."""
    template = environment_of_pages().get_template("screen.html.j2")
    return template.render(page=page, frame=frame, link=address_of, style=f"{STYLE_PREFIX}{style_name()}")


@cache
def style_text() -> str:
    """The style of every screen."""
    return "".join((TEMPLATES / name).read_text("utf-8") for name in _STYLES)


@cache
def style_name() -> str:
    """Its name: another style, another name."""
    return f"screen.{hashlib.sha256(style_text().encode()).hexdigest()[:12]}.css"
