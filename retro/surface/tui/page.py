"""A page in a terminal: its lines, and a way from link to link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.binding import Binding
from textual.geometry import Region, Size

from retro.present.page.screens.stops import stop_rows
from retro.present.text.page import lines_of
from retro.surface.tui.lines import LinesView
from retro.surface.tui.path import chart_of, pointed_page

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.events import Resize

    from retro.present.page.blocks import Page
    from retro.present.page.screens.stops import StopRow
    from retro.present.references import Reference
    from retro.present.widths import Line

__all__ = ["PageView"]

_WIDEST: Final = 120
"""Columns beyond which prose is no easier to read: what a terminal prints is no wider either."""
_PATH: Final = "trajectory"
_PICTURE: Final = 17
"""Lines from the title of a path to the words of its cursor."""


class PageView(LinesView):
    """A page, drawn anew where the terminal has another width."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "link(1)", "next link", show=False),
        Binding("shift+tab", "link(-1)", "previous link", show=False),
        Binding("left", "screen.path('left')", show=False),
        Binding("right", "screen.path('right')", show=False),
    ]

    def __init__(self, **names: Any) -> None:
        super().__init__(**names)
        self._page: Page | None = None
        self._lines: list[Line] = []
        self._links: list[tuple[int, Reference]] = []
        self._places: dict[str, int] = {}
        self._link: int | None = None
        self._drawn_for = 0
        self._cursor: int | None = None

    def show(self, page: Page, *, keep: bool = False) -> None:
        """Draw a page from its top; `keep`: from where the reader is, for it is the same page with other figures."""
        self._page, self._drawn_for, self._cursor = page, 0, None
        if not keep:
            self._link = None
        self._draw()
        if not keep:
            self.scroll_to(0, 0, animate=False)
        self.refresh()

    def on_resize(self, event: Resize) -> None:  # noqa: ARG002  the size is asked of the widget
        """Draw for the new width."""
        self._draw()

    def line_at(self, y: int) -> Line:
        """A line of the page; empty beneath its last."""
        return self._lines[y] if 0 <= y < len(self._lines) else ()

    def is_pointed(self, y: int, reference: Reference) -> bool:
        """Whether it is the link that `tab` came to."""
        return self._link is not None and self._links[self._link] == (y, reference)

    @property
    def reference(self) -> Reference | None:
        """What Enter follows."""
        return None if self._link is None else self._links[self._link][1]

    @property
    def stops(self) -> list[StopRow]:
        """The stops of the path that is drawn; none where there is no path."""
        chart = None if self._page is None else chart_of(self._page)
        return [] if chart is None else stop_rows(chart)

    @property
    def cursor(self) -> int | None:
        """The stop that is pointed at."""
        return self._cursor

    def point(self, cursor: int | None) -> None:
        """Point at a stop of the path, and have all of its picture in sight; None: at none."""
        if self._page is None or cursor == self._cursor:
            return
        self._cursor, self._drawn_for = cursor, 0
        self._page = pointed_page(self._page, cursor)
        self._draw()
        if cursor is not None and _PATH in self._places:
            top = self._places[_PATH]
            height = min(_PICTURE, self.size.height)
            self.scroll_to_region(Region(0, top, 1, height), animate=False)
        self.refresh()

    def go_to(self, section: str) -> bool:
        """Scroll to a section of the page by its key; whether it has one."""
        if section not in self._places:
            return False
        self.scroll_to(y=self._places[section], animate=False)
        return True

    def action_link(self, step: int) -> None:
        """Go to the next link, or the one before; from none to the first that is in sight."""
        if not self._links:
            return
        if self._link is None:
            top = self.scroll_offset.y
            ahead = [k for k, (y, _) in enumerate(self._links) if y >= top]
            self._link = (ahead[0] if ahead else 0) if step > 0 else len(self._links) - 1
        else:
            self._link = (self._link + step) % len(self._links)
        self.scroll_to_region(Region(0, self._links[self._link][0], 1, 1), animate=False)
        self.refresh()

    def _draw(self) -> None:
        width = min(self.scrollable_content_region.width, _WIDEST)
        if self._page is None or width <= 0 or width == self._drawn_for:
            return
        self._drawn_for = width
        parts = lines_of(self._page, width)
        self._lines = [line for part in parts for line in part]
        self._links = [
            (y, span.ref) for y, line in enumerate(self._lines) for span in line if span.ref is not None
        ]
        if self._link is not None and self._link >= len(self._links):
            self._link = None
        self._places = {}
        start = len(parts[0])
        for section, part in zip(self._page.sections, parts[1:], strict=False):
            self._places[section.key] = start + 1  # a section begins with an empty line
            start += len(part)
        self.virtual_size = Size(width, len(self._lines))
