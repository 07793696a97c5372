"""A list in a terminal: one line a row, as long as it is, with a place in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.segment import Segment
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from retro.present.widths import line
from retro.surface.tui.lines import LinesView

if TYPE_CHECKING:
    from collections.abc import Collection

    from textual.events import Resize

    from retro.present.page.blocks import Table
    from retro.present.references import Reference
    from retro.present.widths import Line
    from retro.surface.tui.parts import ListParts

__all__ = ["ListView"]

_AHEAD: Final = 60
"""Rows read before one comes to them, so that nobody waits at the end of a part."""
_NARROWEST: Final = 20
"""Columns without which nothing is drawn: a window on its way to its size has none."""
_POINTER: Final = "▸ "
_PICKED: Final = ("x ", "▸x")
"""What stands before a row that was picked, and where the place is in it."""


class ListView(LinesView):
    """Rows of a list, however many: only those near the place are in memory. It says `Wanted` of what it lacks."""

    class Wanted(Message):
        """A part of the list has to be read: its number, and its address."""

        def __init__(self, part: int, address: str) -> None:
            super().__init__()
            self.part, self.address = part, address

    class Moved(Message):
        """The place in the list is another one."""

    class Fitted(Message):
        """The rows have another width."""

    def __init__(self, **names: Any) -> None:
        super().__init__(**names)
        self._parts: ListParts | None = None
        self._waiting: int | None = None
        self._to_the_end = False  # the last part was asked for, and the place goes there
        self.place = 0
        self.picked: Collection[Reference] = ()

    def show(self, parts: ListParts) -> None:
        """Begin with a list whose first part is there, from its first row."""
        self._parts, self._waiting, self._to_the_end, self.place = parts, None, False, 0
        self.scroll_to(0, 0, animate=False)
        self._measure()
        self._want()

    def store(self, part: int, table: Table, following: str) -> None:
        """Put in what was wanted."""
        if self._parts is None:
            return
        self._waiting = None
        self._parts.store(part, table, following)
        self._measure()
        if self._to_the_end and self.complete:
            self._to_the_end = False
            self.move_to(self.rows - 1)
        self._want()

    @property
    def rows(self) -> int:
        """How many rows there are, as far as that is known."""
        return 0 if self._parts is None else self._parts.rows

    @property
    def complete(self) -> bool:
        """Whether the last one is known."""
        return self._parts is None or self._parts.complete

    @property
    def reference(self) -> Reference | None:
        """What the row at the place leads to; None while it is being read."""
        return None if self._parts is None or not self.rows else self._parts.reference(self.place)

    def heading(self) -> list[Line]:
        """The titles over the rows."""
        return [] if self._parts is None or self._width < _NARROWEST else self._parts.heading(self._width)

    def move_to(self, row: int) -> None:
        """Go to a row; before the first and after the last there is none."""
        place = min(max(row, 0), max(self.rows - 1, 0))
        before, self.place = self.place, place
        self.scroll_to_region(Region(0, place, 1, 1), animate=False)
        if before != place:
            self.refresh_line(before)
            self.refresh_line(place)
            self.post_message(self.Moved())
        self._want()

    def line_at(self, y: int) -> Line:
        """A row, with a pointer where the place is."""
        if self._parts is None or self._width < _NARROWEST or not 0 <= y < self.rows:
            return ()
        spans = self._parts.line(y, self._width)
        if not spans:
            return line(("  ...", "faint"))
        here = y == self.place
        mark = _POINTER if here else ""
        if self.picked and self._parts.reference(y) in self.picked:
            mark = _PICKED[here]
        if not mark:
            return spans
        first, *following = spans
        return (first._replace(text=mark + first.text[len(mark) :]), *following)

    def is_pointed(self, y: int, reference: Reference) -> bool:  # noqa: ARG002  a row has one place to go to
        """Whether the place is in this row."""
        return y == self.place

    def strip_of(self, row: Line, y: int) -> Strip:
        """A row in colours; the one at the place on a ground of its own, as wide as the list."""
        if y != self.place:
            return Strip([Segment(span.text, self.style_of(span)) for span in row])
        ground = self.get_component_rich_style("lines--pointed", partial=True)
        strip = Strip([Segment(span.text, self.style_of(span) + ground) for span in row])
        return strip.extend_cell_length(self._width, self.rich_style + ground)

    def clicked(self, x: int, y: int) -> None:  # noqa: ARG002  a row is pointed at anywhere in it
        """Go to the row; what is at it already is opened."""
        if y >= self.rows:
            return
        if y == self.place and self.reference is not None:
            self.post_message(self.Follow(self.reference))
        self.move_to(y)

    def on_resize(self, event: Resize) -> None:  # noqa: ARG002  the size is asked of the widget
        """Rows are drawn for the width they have; the place stays in sight."""
        self._measure()
        self.post_message(self.Fitted())
        self.move_to(self.place)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Read what the wheel brought into sight."""
        super().watch_scroll_y(old_value, new_value)
        self._want()

    def action_scroll_down(self) -> None:
        """The next row."""
        self.move_to(self.place + 1)

    def action_scroll_up(self) -> None:
        """The row before."""
        self.move_to(self.place - 1)

    def action_page_down(self) -> None:
        """A screen further."""
        self.move_to(self.place + max(1, self.size.height - 1))

    def action_page_up(self) -> None:
        """A screen back."""
        self.move_to(self.place - max(1, self.size.height - 1))

    def action_scroll_home(self) -> None:
        """The first row."""
        self._to_the_end = False
        self.move_to(0)

    def action_scroll_end(self) -> None:
        """The last row: the last part is read by itself, whatever lies before it."""
        self._to_the_end = not self.complete
        self.move_to(self.rows - 1)

    def ask_again(self) -> None:
        """Ask anew for what could not be read."""
        self._waiting = None
        self._want()

    def rest(self) -> bool:
        """Stay where one is while the end is read; whether one was on the way there."""
        was, self._to_the_end = self._to_the_end, False
        return was

    @property
    def _width(self) -> int:
        return self.scrollable_content_region.width

    def _measure(self) -> None:
        self.virtual_size = Size(self._width, self.rows)
        self.refresh()

    def _want(self) -> None:
        """Ask for the next part that is looked at or soon will be; for one at a time."""
        if self._parts is None or self._waiting is not None:
            return
        top = round(self.scroll_y)
        height = self.size.height
        wanted = self._parts.end if self._to_the_end else None
        wanted = (
            wanted or self._parts.wanted(top, top + height + _AHEAD) or self._parts.wanted(top - _AHEAD, top)
        )
        if wanted is not None:
            self._waiting = wanted[0]
            self.post_message(self.Wanted(*wanted))
