"""What an address shows in a terminal: a page, or a list with the page of the row that is pointed at beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.containers import Horizontal, Vertical
from textual.screen import Screen

from retro.present.links import address_of
from retro.present.page.blocks import Table
from retro.present.widths import line, wrap
from retro.safe import plain_text
from retro.surface.tui.block import LineBlock
from retro.surface.tui.filters import path_of
from retro.surface.tui.heads import crumb_line, key_line, list_title, past_lines
from retro.surface.tui.page import PageView
from retro.surface.tui.parts import ListParts
from retro.surface.tui.prompt import PromptLine
from retro.surface.tui.reader import view_of
from retro.surface.tui.rows import ListView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.timer import Timer

    from retro.present.references import Reference
    from retro.surface.tui.house import HouseApp
    from retro.surface.tui.reader import View

__all__ = ["AddressScreen"]

_WIDE: Final = 140
"""From so many columns on the page of a row stands beside its list."""
_LIST_WIDEST: Final = 100
_LIST_MORE: Final = 8
"""Of 140 columns a list takes 78, which shows what 80 show, and its page the 60 that a page needs."""
_BARE: Final = 62
"""Below so many columns every one is needed for figures: there is no scroll bar."""
_ASIDE_S: Final = 0.08
"""How long a row has to be pointed at before its page is read: who runs through a list waits for none."""
_NOTICE_S: Final = 5.0
_LIVE: Final = frozenset({"today", "service"})


class AddressScreen(Screen[None]):
    """What an address shows, read in threads of their own and drawn; which keys lead on says who inherits."""

    app: HouseApp
    AUTO_FOCUS = None
    STYLE = """
    AddressScreen { background: $background; }
    PromptLine, PromptLine:focus { display: none; border: none; height: 1; padding: 0 1; background: $panel; }
    PromptLine.open { display: block; }
    #list { display: none; width: 1fr; }
    #list.shown { display: block; }
    #list.narrow { border-right: solid $panel; }
    ListView, PageView { height: 1fr; width: 1fr; }
    """

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address, _, self._section = address.partition("#")
        self.view: View | None = None
        self._notice = ""
        self._timer: Timer | None = None
        self._silence: Timer | None = None

    def compose(self) -> ComposeResult:
        """The way here, the filter, list and page, the keys."""
        yield LineBlock(id="crumbs")
        yield PromptLine()
        with Horizontal():
            with Vertical(id="list"):
                yield LineBlock(id="head")
                yield ListView()
            yield PageView()
        yield LineBlock(id="keys")

    @property
    def page(self) -> PageView:
        """The page, whole or beside the list."""
        return self.query_one(PageView)

    @property
    def list(self) -> ListView:
        """The list, where there is one."""
        return self.query_one(ListView)

    @property
    def prompt(self) -> PromptLine:
        """The line one types into."""
        return self.query_one(PromptLine)

    @property
    def is_listed(self) -> bool:
        """Whether a list is shown."""
        return self.view is not None and self.view.rows is not None

    @property
    def is_wide(self) -> bool:
        """Whether there is room for the page of a row beside the list."""
        return self.size.width >= _WIDE

    def on_mount(self) -> None:
        """Read what the address shows."""
        self._frame()
        self.action_read()

    def on_resize(self) -> None:
        """Another width: another frame."""
        self._frame()

    def visit(self, address: str) -> None:
        """Show another address in the place of this one."""
        self.address = address
        self.action_read()

    @property
    def reference(self) -> Reference | None:
        """What is pointed at: the row of a list, or the link of a page."""
        return self.list.reference if self.is_listed and self.list.has_focus else self.page.reference

    def rest(self) -> None:
        """Give the keys back to the list or the page."""
        (self.list if self.is_listed else self.page).focus()

    def news(self) -> None:
        """Something has come in: what is about now is read anew, anything else only says so."""
        if self.view is None or self.view.screen in _LIVE or self.view.failed:
            self.action_read()
        else:
            self.say("Something has come in since this was read: ctrl+r reads it anew")

    def say(self, text: str, *, stays: bool = False) -> None:
        """A word in place of the keys, for a while; `stays`: until another one is said."""
        self._notice = plain_text(text)
        self._frame()
        if self._silence is not None:
            self._silence.stop()
        self._silence = None if stays else self.set_timer(_NOTICE_S, self.be_quiet)

    # What is read

    def action_read(self) -> None:
        """Read the address, again where it was read before."""
        self.run_worker(self._read(self.address), exclusive=True, group="view")

    async def _read(self, address: str) -> None:
        view = await self._view_of(address)
        if not self.is_attached or view.address != self.address:
            return
        if view.failed and self.view is not None and not self.view.failed:
            self.address = self.view.address
            self.say(f"{view.page.headline.result} What stands here was read before.")
            return
        before = "" if self.view is None else self.view.address
        self.view = view
        if view.rows is None:
            self.page.show(view.page, keep=path_of(before) == path_of(view.address))
            if self._section:  # a page has its lines when it has a width
                self.call_after_refresh(self.page.go_to, self._section)
                self._section = ""
        else:
            parts = ListParts(view.address, view.last, view.total)
            place = self.list.place if before == view.address else 0
            parts.store(0, view.rows, view.later)
            self.list.show(parts)
            self.list.move_to(place)
        if not self.prompt.is_open:
            self.rest()
        self._frame()
        self._beside()

    def on_list_view_wanted(self, wanted: ListView.Wanted) -> None:
        """Read a part of the list."""
        self.run_worker(self._read_part(wanted.part, wanted.address), group="part")

    async def _read_part(self, part: int, address: str) -> None:
        view = await self._view_of(address)
        if not self.is_attached:
            return
        if view.failed:
            self.say(view.page.headline.result)
            self.set_timer(_NOTICE_S, self.list.ask_again)
            return
        self.list.store(part, view.rows or Table((), ()), view.later if part >= 0 else view.above)
        self._frame()

    def on_list_view_fitted(self) -> None:
        """The heading stands over the rows."""
        self._frame()

    def on_list_view_moved(self) -> None:
        """Another row: its page is read once one stays."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_ASIDE_S, self._beside)

    def _beside(self) -> None:
        reference = self.list.reference if self.is_listed and self.is_wide else None
        if reference is not None:
            self.run_worker(self._read_beside(address_of(reference)), exclusive=True, group="beside")

    async def _view_of(self, address: str) -> View:
        """What an address shows, read without holding up the keys."""
        house = self.app.house
        return await self.app.run_in_thread(lambda: view_of(house, address))

    async def _read_beside(self, address: str) -> None:
        view = await self._view_of(address)
        if self.is_attached and self.is_listed and self.is_wide:
            self.page.show(view.page)

    # What is drawn around it

    def _frame(self) -> None:
        """Draw crumbs, heads and keys for the width there is, and share it between list and page."""
        if not self.is_attached:
            return
        width = self.size.width
        view, listed, wide = self.view, self.is_listed, self.is_wide
        crumbs = ("reading ...",) if view is None else view.crumbs
        past = "" if view is None else view.past
        self.query_one("#crumbs", LineBlock).show([crumb_line(crumbs, width), *past_lines(past, width)])
        for part in (self.list, self.page):
            part.styles.scrollbar_size_vertical = 0 if width < _BARE else 1
        holder = self.query_one("#list")
        holder.set_class(listed, "shown")
        holder.set_class(listed and wide, "narrow")
        holder.styles.width = min(_LIST_WIDEST, width // 2 + _LIST_MORE) if listed and wide else "1fr"
        self.page.display = not listed or wide
        if view is not None and listed:
            room = self.list.scrollable_content_region.width or width
            self.query_one("#head", LineBlock).show([*list_title(view.page, room), *self.list.heading()])
        deep = self.app.depth > 1
        keys = [line((f" {part}", "warn")) for part in wrap(self._notice, width - 2)]
        if not self._notice:
            keys = [key_line(view, width, deep=deep, listed=listed, more=self.keys_of_its_own)]
        self.query_one("#keys", LineBlock).show(keys)

    @property
    def keys_of_its_own(self) -> Sequence[tuple[str, str]]:
        """Keys that do something on this screen alone, each with what it does."""
        return [("←→", "path")] if not self.is_listed and self.page.stops else []

    def be_quiet(self) -> None:
        """The keys again, in place of a word."""
        self._notice = ""
        self._frame()
