"""A few lines that stay where they are: the way here, a list's heading, the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retro.surface.tui.lines import LinesView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.references import Reference
    from retro.present.widths import Line

__all__ = ["LineBlock"]


class LineBlock(LinesView, can_focus=False):
    """Lines as high as they are many."""

    DEFAULT_CSS = "LineBlock { height: 0; overflow: hidden hidden; }"

    def __init__(self, **names: Any) -> None:
        super().__init__(**names)
        self._lines: list[Line] = []

    def show(self, lines: Sequence[Line]) -> None:
        """Show these and no others."""
        if len(lines) != len(self._lines):
            self.styles.height = len(lines)
        self._lines = list(lines)
        self.refresh()

    def line_at(self, y: int) -> Line:
        """A line of it."""
        return self._lines[y] if 0 <= y < len(self._lines) else ()

    def is_pointed(self, y: int, reference: Reference) -> bool:  # noqa: ARG002  nothing in it is ever pointed at
        """Nothing here is followed by a key."""
        return False
