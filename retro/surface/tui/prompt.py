"""A line one types into, for one thing at a time: the words of a filter, an instant, why something is skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.widgets import Input

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PromptLine"]


class PromptLine(Input):
    """Not there until something is asked; `answer` gives what was typed to who asked."""

    def __init__(self, **names: Any) -> None:
        super().__init__(**names)
        self._then: Callable[[str], None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether something is asked."""
        return self.has_class("open")

    def ask(self, words: str, text: str, then: Callable[[str], None]) -> None:
        """Ask for a line, with a text in it to begin with; `words` say what it is for while it is empty."""
        self._then = then
        self.placeholder, self.value = words, text
        self.cursor_position = len(text)
        self.add_class("open")
        self.focus()

    def answer(self, text: str) -> None:
        """Give what was typed to who asked."""
        then = self._then
        self.close()
        if then is not None:
            then(text)

    def close(self) -> None:
        """Ask nothing any more."""
        self._then = None
        self.remove_class("open")
