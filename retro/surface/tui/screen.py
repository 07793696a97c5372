"""One screen of the terminal, whatever address it shows: a page, or a list with the page of the row beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Input

from retro.present.links import address_of, segment
from retro.present.page.blocks import Table
from retro.present.references import ReviewReference, ScreenReference
from retro.present.widths import line, wrap
from retro.safe import plain_text
from retro.surface.screens.catalogue import SCREENS
from retro.surface.tui.block import LineBlock
from retro.surface.tui.filters import address_with, words_of
from retro.surface.tui.heads import crumb_line, key_line, list_title
from retro.surface.tui.lines import LinesView
from retro.surface.tui.page import PageView
from retro.surface.tui.parts import ListParts
from retro.surface.tui.reader import view_of
from retro.surface.tui.rows import ListView

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.timer import Timer

    from retro.surface.tui.house import HouseApp
    from retro.surface.tui.reader import View

__all__ = ["MirrorScreen"]

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
_LETTERS: Final = "dhprea[].om s t x X m".replace(" ", "")


class MirrorScreen(Screen[None]):
    """The screen of an address. It reads in threads of its own, and draws what came of it."""

    app: HouseApp
    AUTO_FOCUS = None
    CSS = """
    MirrorScreen { background: $background; }
    #filter { display: none; border: none; height: 1; padding: 0 1; background: $panel; }
    #filter.open { display: block; }
    #list { display: none; width: 1fr; }
    #list.shown { display: block; }
    #list.narrow { border-right: solid $panel; }
    ListView, PageView { height: 1fr; width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open"),
        Binding("escape", "leave", "back"),
        Binding("j", "move(1)", "down"),
        Binding("k", "move(-1)", "up"),
        Binding("slash", "filter", "filter"),
        Binding("g", "go", "go"),
        Binding("minus", "last", "last view"),
        Binding("y", "copy", "copy"),
        Binding("w", "browse", "browser"),
        Binding("ctrl+r,f5", "read", "read anew"),
        *(Binding(key, f"press({key!r})", key) for key in _LETTERS),
        *(Binding(key.upper(), f"press({key!r})", key) for key in "dhpre"),
    ]

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address
        self.view: View | None = None
        self._going = False
        self._notice = ""
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """The way here, the filter, list and page, the keys."""
        yield LineBlock(id="crumbs")
        yield Input(id="filter", placeholder="filter, or esc")
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

    def news(self) -> None:
        """Something has come in: what is about now is read anew, anything else only says so."""
        if self.view is None or self.view.screen in _LIVE or self.view.failed:
            self.action_read()
        else:
            self.say("Something has come in since this was read: ctrl+r reads it anew")

    def say(self, text: str) -> None:
        """A word in place of the keys, for a while."""
        self._notice = plain_text(text)
        self._frame()
        self.set_timer(_NOTICE_S, self._be_quiet)

    # What is read

    def action_read(self) -> None:
        """Read the address, again where it was read before."""
        self.run_worker(self._read(self.address), exclusive=True, group="view")

    async def _read(self, address: str) -> None:
        view = await self._view_of(address)
        if not self.is_attached or view.address != self.address:
            return
        if view.failed and self.view is not None and not self.view.failed:
            self.say(f"{view.page.headline.result} What stands here was read before.")
            return
        again = self.view is not None and self.view.address == view.address
        self.view = view
        if view.rows is None:
            self.page.show(view.page, keep=again)
            self.page.focus()
        else:
            parts = ListParts(view.address)
            parts.store(0, view.rows, view.later)
            self.list.show(parts)
            self.list.focus()
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
        self.list.store(part, view.rows or Table((), ()), view.later)
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
        self.query_one("#crumbs", LineBlock).show([crumb_line(crumbs, width), ()])
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
            keys = [key_line(view, width, deep=deep, listed=listed)]
        self.query_one("#keys", LineBlock).show(keys)

    def _be_quiet(self) -> None:
        self._notice = ""
        self._frame()

    # What keys do

    def on_lines_view_follow(self, follow: LinesView.Follow) -> None:
        """Go where a click leads."""
        self.app.go(address_of(follow.reference))

    def action_open(self) -> None:
        """Open the row, follow the link, or what Enter means here."""
        reference = self.list.reference if self.is_listed and self.list.has_focus else self.page.reference
        if reference is not None:
            self.app.go(address_of(reference))
        else:
            self._take("Enter")

    def action_leave(self) -> None:
        """Leave what is innermost: the filter, the way to the end of a list, this screen; never the house."""
        box = self.query_one("#filter", Input)
        if box.has_class("open"):
            self._close_filter()
        elif self._going:
            self._going = False
            self._be_quiet()
        elif not self.list.rest():
            self.app.leave()

    def action_move(self, step: int) -> None:
        """A row or a line further, or back."""
        view = self.list if self.is_listed and self.list.has_focus else self.page
        view.action_scroll_down() if step > 0 else view.action_scroll_up()

    def action_go(self) -> None:
        """Wait for the second key of a pair."""
        self._going = True
        names = ", ".join(f"{screen.key} {screen.title.lower()}" for screen in SCREENS if screen.listed)
        self._notice = f"go to: {names}"
        self._frame()

    def action_press(self, key: str) -> None:
        """A letter: the second of a pair, or one of the ways on that the screen or the row has."""
        if self._going:
            self._going = False
            self._be_quiet()
            self._go_to(key)
        elif not self._take(key) and not self._take_of_row(key):
            self.say(f"{key} leads nowhere from here; ? says what does")

    def _go_to(self, key: str) -> None:
        name = next((screen.name for screen in SCREENS if screen.listed and screen.key == key), None)
        if name is None:
            self.say(f"g {key} leads nowhere; g and then t, r, p, o or s do")
        else:
            self.app.go(address_of(ScreenReference(name)))

    def _take(self, key: str) -> bool:
        """Go on by one of the screen's own ways; whether it has one of that key."""
        steps = () if self.view is None else self.view.steps
        address = next((step.address for step in steps if step.key == key), None)
        if address is None:
            return key in "[]" and self._take_neighbour(1 if key == "]" else -1)
        if address.startswith("#"):
            return self.page.go_to(address.removeprefix("#"))
        self.app.go(address)
        return True

    def _take_of_row(self, key: str) -> bool:
        reference = self.list.reference if self.is_listed else None
        if reference is None:
            return False
        if key == "r":
            self.app.go(address_of(reference))
        elif key == "d" and isinstance(reference, ReviewReference):
            self.app.go(f"/diff/{segment(reference.review)}")
        else:
            return False
        return True

    def _take_neighbour(self, step: int) -> bool:
        """The one before or after in the list that one came from, in the place of this one."""
        place = self.app.screen_stack.index(self)
        behind = self.app.screen_stack[place - 1] if place else None
        if not isinstance(behind, MirrorScreen) or not behind.is_listed:
            return False
        behind.list.move_to(behind.list.place + step)
        reference = behind.list.reference
        if reference is None:
            self.say("that row is still being read")
        else:
            self.visit(address_of(reference))
        return True

    def action_last(self) -> None:
        """What one looked at before."""
        if self.app.last is None:
            self.say("there is no view before this one")
        else:
            self.app.go(self.app.last)

    def action_copy(self) -> None:
        """Copy the address and the command that prints the same."""
        command = "" if self.view is None else self.view.command
        address = self.app.web_address(self.address)
        self.app.copy_to_clipboard("\n".join(plain_text(text) for text in (address, command) if text))
        self.say(f"copied: {command or address}")

    def action_browse(self) -> None:
        """Open it in the browser, where `retro web` runs."""
        address = self.app.web_address(self.address)
        self.app.open_url(address)
        self.say(f"{address} opens where `retro web` runs")

    # The filter

    def action_filter(self) -> None:
        """Open the filter of a list."""
        if not self.is_listed and "?" not in self.address:
            self.say("there is nothing to filter here")
            return
        box = self.query_one("#filter", Input)
        box.value = words_of(self.address)
        box.add_class("open")
        box.focus()

    def on_input_submitted(self, submitted: Input.Submitted) -> None:
        """See the list through the filter."""
        self._close_filter()
        self.visit(address_with(self.address, submitted.value))

    def _close_filter(self) -> None:
        self.query_one("#filter", Input).remove_class("open")
        (self.list if self.is_listed else self.page).focus()
