"""Lines of a page in a terminal that is ours: drawn one by one as they come into sight, each piece in its tone."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from retro.present.widths import cells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.events import Click

    from retro.present.references import Reference
    from retro.present.widths import Line, TextSpan

__all__ = ["LinesView"]

_REVERSED: Final = Style(reverse=True)
_UNDERLINED: Final = Style(underline=True)


class LinesView(ScrollView, can_focus=True):
    """What shows lines: `line_at` gives them, `pointed` is the one that leads somewhere now."""

    DEFAULT_CSS = """
    LinesView {
        scrollbar-size: 1 1; scrollbar-gutter: stable; background: $background; color: $foreground;
        scrollbar-color: $quiet; scrollbar-color-hover: $quiet; scrollbar-color-active: $foreground;
        scrollbar-background: $panel; scrollbar-background-hover: $panel; scrollbar-background-active: $panel;
    }
    LinesView > .lines--up { color: $success; }
    LinesView > .lines--down { color: $error; }
    LinesView > .lines--warn { color: $warning; }
    LinesView > .lines--faint { color: $quiet; }
    LinesView > .lines--strong { color: $foreground; text-style: bold; }
    LinesView > .lines--pointed { background: $panel; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "lines--up",
        "lines--down",
        "lines--warn",
        "lines--faint",
        "lines--strong",
        "lines--pointed",
    }

    class Follow(Message):
        """Somebody wants to go where a reference leads."""

        def __init__(self, reference: Reference) -> None:
            super().__init__()
            self.reference = reference

    def line_at(self, y: int) -> Line:
        """The line at a height, from 0 on."""
        raise NotImplementedError

    def is_pointed(self, y: int, reference: Reference) -> bool:
        """Whether this reference in this line is the one that Enter follows."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        """One line of what is in sight."""
        left, top = self.scroll_offset
        width = self.scrollable_content_region.width
        return self.strip_of(self.line_at(top + y), top + y).crop_extend(left, left + width, self.rich_style)

    def strip_of(self, line: Line, y: int) -> Strip:
        """A line in colours, what can be followed underlined."""
        return Strip([Segment(text, style) for text, style in self._pieces(line, y)])

    def _pieces(self, line: Line, y: int) -> Iterator[tuple[str, Style]]:
        for span in line:
            style = self.style_of(span)
            if span.ref is None or not span.text.strip():
                yield span.text, style
                continue
            text = span.text.strip()
            before, _, after = span.text.partition(text)
            marked = style + (_REVERSED if self.is_pointed(y, span.ref) else _UNDERLINED)
            yield from ((before, style), (text, marked), (after, style))

    def style_of(self, span: TextSpan) -> Style:
        """The style of a piece's tone on the paper of the page."""
        if span.tone == "plain":
            return self.rich_style
        return self.rich_style + self.get_component_rich_style(f"lines--{span.tone}", partial=True)

    def reference_at(self, x: int, y: int) -> Reference | None:
        """What a place in the text leads to."""
        end = 0
        for span in self.line_at(y):
            end += cells(span.text)
            if x < end:
                return span.ref
        return None

    def on_click(self, event: Click) -> None:
        """Follow what was clicked on."""
        offset = event.get_content_offset(self)
        if offset is not None:
            left, top = self.scroll_offset
            self.clicked(offset.x + left, offset.y + top)

    def clicked(self, x: int, y: int) -> None:
        """Somebody pointed at a place in the text."""
        reference = self.reference_at(x, y)
        if reference is not None:
            self.post_message(self.Follow(reference))
