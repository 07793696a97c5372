"""A page as a screen of the server: the blocks of the file, with a way to everything they name, and the other screens."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import date
from functools import cache
from operator import is_
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode

from retro.present.links import address_of
from retro.present.references import ExplanationReference
from retro.safe import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.blocks import Page
    from retro.present.references import Reference

__all__ = [
    "STYLE_PREFIX",
    "ActForm",
    "FilterForm",
    "InstantForm",
    "KeyHelp",
    "QuestionForm",
    "ScreenFrame",
    "ScreenPlace",
    "ScreenStep",
    "plain_page",
    "screen_of",
    "style_name",
    "style_text",
]

STYLE_PREFIX: Final = "/-/s/"
"""Where the style lies: its name holds a digest of it, so that it never changes under its address."""
_PAGES: Final = "retro.present.page."
"""Where the blocks are: a reference keeps its name as it is, and what a chart draws is clean already."""
_EPOCH: Final = date(1970, 1, 1).toordinal()
_STYLES: Final = ("page.css", "screen.css")


@dataclass(frozen=True, slots=True)
class ScreenPlace:
    """A way to another screen; `current`: it is where we are; `key` leads there after `g`."""

    title: str
    reference: Reference
    current: bool = False
    key: str = ""


class ScreenStep(NamedTuple):
    """Where one goes from a screen by one key; a link is all that is needed where keys are off."""

    key: str
    title: str
    address: str


class KeyHelp(NamedTuple):
    """A key, and what it does."""

    key: str
    does: str


class FilterForm(NamedTuple):
    """What a list is narrowed to and ordered by, and the orders there are; `others` are filters that stay.

    `words` are the conditions of the text, each with the address of the list without it; `example` shows how one is typed.
    """

    text: str
    sort: str
    sorts: tuple[str, ...]
    others: tuple[tuple[str, str], ...] = ()
    words: tuple[tuple[str, str], ...] = ()
    example: str = ""


class QuestionForm(NamedTuple):
    """A text that a screen is asked with: the address that answers, the text's name, what it is, the word on the button.

    `example` shows how one is typed.
    """

    address: str
    name: str
    label: str
    button: str
    text: str = ""
    example: str = ""


class InstantForm(NamedTuple):
    """The days one can look back to, numbered since 1970, the one that is looked at, and what cannot be seen of it.

    `instant` is as of when, RFC 3339; "": now.
    """

    first: int
    last: int
    day: int
    instant: str
    sentence: str
    others: tuple[tuple[str, str], ...] = ()

    @property
    def date(self) -> str:
        """The day that is looked at, ISO 8601."""
        return date.fromordinal(_EPOCH + self.day).isoformat()


class ActForm(NamedTuple):
    """What is done when it is sent: where to, with which fields, the word on its button, and whether it asks why."""

    address: str
    fields: tuple[tuple[str, str], ...]
    title: str
    why: bool = False


@dataclass(frozen=True, slots=True)
class ScreenFrame:
    """What stands around a page: the other screens, the way here, and the ways to the same in other formats.

    `earlier` and `later` lead through a long list; `forms` are addresses of the same figures, by the name of their format.
    `scripts` and `icon` are addresses of files of ours. `steps` are ways on by one key, `keys` says what each key does;
    `filters`, `question`, `past` and `act` are its forms, `acts` leads to what an owner may do;
    a `live` screen is drawn anew when something has come in, any other only says so. `beside`: other lives can be laid over what it shows;
    `explains` is the review whose figures the page shows: each leads to where it comes from.
    """

    screens: Sequence[ScreenPlace]
    crumbs: Sequence[ScreenPlace] = ()
    forms: Sequence[tuple[str, str]] = ()
    command: str = ""
    earlier: str = ""
    later: str = ""
    scripts: Sequence[str] = ()
    icon: str = ""
    steps: Sequence[ScreenStep] = ()
    keys: Sequence[KeyHelp] = ()
    live: bool = False
    beside: bool = False
    filters: FilterForm | None = None
    question: QuestionForm | None = None
    past: InstantForm | None = None
    explains: str = ""
    act: ActForm | None = None
    acts: Sequence[tuple[str, str]] = ()


def plain_page(page: Page) -> Page:
    """The page with `plain_text` applied to every string in it: no control characters, no tricks of direction."""
    plain: Page = _plain(page)
    return plain


def _plain(value: Any) -> Any:
    """The value itself where nothing in it has to be changed: most of a page is."""
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, tuple):
        parts = tuple(map(_plain, value))
        return value if all(map(is_, parts, value)) else parts
    changed = {}
    for name in _block_fields(value.__class__):
        own = getattr(value, name)
        plain = _plain(own)
        if plain is not own:
            changed[name] = plain
    return replace(value, **changed) if changed else value


@cache
def _block_fields(kind: type) -> tuple[str, ...]:
    """The fields of a block or a part of one; of anything else none."""
    is_block = is_dataclass(kind) and kind.__module__.startswith(_PAGES)
    return tuple(part.name for part in fields(kind)) if is_block else ()


def screen_of(page: Page, frame: ScreenFrame) -> str:
    """The page as HTML for this server: everything a stranger wrote is escaped, as in a file."""
    from retro.present.html import environment_of_pages  # noqa: PLC0415  a terminal draws no HTML

    template = environment_of_pages().get_template("screen.html.j2")

    def carried(address: str) -> str:
        return _carried(address, frame.past)

    def link(reference: Reference) -> str:
        return carried(address_of(reference))

    return template.render(
        page=page,
        frame=frame,
        carried=carried,
        link=link,
        live=True,
        why=_way_to_figures(frame),
        style=f"{STYLE_PREFIX}{style_name()}",
    )


def _carried(address: str, past: InstantForm | None) -> str:
    """An address as it is followed from here: who looks back goes on looking back."""
    if past is None or not past.instant or "as-of=" in address:
        return address
    return f"{address}{'&' if '?' in address else '?'}{urlencode({'as-of': past.instant})}"


def _way_to_figures(frame: ScreenFrame) -> str:
    """What the name of a figure is put behind; "" where nothing says where the figures come from."""
    return f"{address_of(ExplanationReference(frame.explains))}?figure=" if frame.explains else ""


@cache
def style_text() -> str:
    """The style of every screen."""
    from retro.present.html import TEMPLATES  # noqa: PLC0415  as above

    return "".join((TEMPLATES / name).read_text("utf-8") for name in _STYLES)


@cache
def style_name() -> str:
    """Its name: another style, another name."""
    return f"screen.{hashlib.sha256(style_text().encode()).hexdigest()[:12]}.css"
