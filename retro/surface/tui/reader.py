"""What an address shows in a terminal: the answer of its screen, made harmless, or a page that says what stands in the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from retro.errors import RetroError, UnknownError
from retro.periods import format_instant
from retro.present.page.blocks import Table, absence_page
from retro.present.screen import plain_page
from retro.safe import plain_text
from retro.surface.screens.catalogue import answer, screen_of_request
from retro.surface.screens.lens import as_of_request, limit_of
from retro.surface.screens.routes import request_of

if TYPE_CHECKING:
    from retro.present.page.blocks import Page
    from retro.present.screen import ScreenStep
    from retro.surface.screens.house import House
    from retro.surface.screens.routes import Request

__all__ = ["View", "view_of"]


@dataclass(frozen=True, slots=True)
class View:
    """What an address shows: its page, the way here, the command that prints the same, and ways on by one key.

    `rows` is the table of a list that goes on at `later`, or, where it was read from its end, lies beneath what is at
    `above`; `last` is its last part, `total` how many rows it has. None of any other page. `failed`: it could not be read now,
    and may be later. `filtered`: words narrow it. `past` says as of when it is, and what cannot be seen of that; "": it is of now. `acts` are the
    title, verb and subject of what can be done.
    """

    address: str
    screen: str
    title: str
    page: Page
    crumbs: tuple[str, ...] = ()
    command: str = ""
    steps: tuple[ScreenStep, ...] = ()
    rows: Table | None = None
    later: str = ""
    above: str = ""
    last: str = ""
    total: int = 0
    failed: bool = False
    filtered: bool = False
    past: str = ""
    acts: tuple[tuple[str, str, str], ...] = ()


def view_of(house: House, address: str) -> View:
    """What an address shows now; it is read in a transaction of its own, which ends before anything is drawn."""
    path, _, query = address.partition("?")
    request = request_of(path.encode(), query.encode())
    if request is None:
        return _absence(address, "There is no such screen.")
    try:
        reply = answer(house, request)
    except UnknownError as error:
        return replace(_absence(address, str(error), request=request), past=_past(house, request))
    except RetroError as error:
        return _absence(address, str(error), ("retro doctor",), request, failed=True)
    screen = screen_of_request(request)
    page = plain_page(reply.page)
    return View(
        address,
        screen.name,
        screen.title,
        page,
        tuple(plain_text(place.title) for place in reply.crumbs) or (screen.title,),
        reply.command,
        reply.steps,
        _rows(page) if screen.rows else None,
        reply.later,
        reply.above,
        reply.last,
        reply.total,
        filtered=reply.filters is not None or (reply.question is not None and reply.question.name == "q"),
        past=_past(house, request),
        acts=reply.acts,
    )


def _past(house: House, request: Request) -> str:
    """As of when it is, and what cannot be seen of that."""
    at = as_of_request(house, request)
    return "" if at is None else f"As of {format_instant(at)}. {limit_of(request.screen)}"


def _rows(page: Page) -> Table | None:
    """The table that a list's page is of, where it has rows that lead somewhere."""
    tables = [block for section in page.sections for block in section.blocks if isinstance(block, Table)]
    return tables[0] if len(tables) == 1 and tables[0].rows else None


def _absence(
    address: str,
    why: str,
    commands: tuple[str, ...] = (),
    request: Request | None = None,
    *,
    failed: bool = False,
) -> View:
    sentence = plain_text(why).rstrip(".") + "."
    page = plain_page(absence_page("Nothing here", f"{sentence[:1].upper()}{sentence[1:]}", commands))
    screen = "" if request is None else request.screen
    return View(address, screen, "Nothing here", page, ("Nothing here",), failed=failed)
