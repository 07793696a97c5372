"""Commands in our sentences: `retro show ID` between backticks is code where a format has code, and stays so where it has none."""

from __future__ import annotations

import re
from html import unescape
from typing import Final

__all__ = ["commands_as_code", "commands_as_spans"]

_COMMAND: Final = re.compile(r"(?<!`)`(retro(?: [\w./=\[\]-]+)*)`(?!`)", re.ASCII)
_REFERENCES: Final = re.compile(r"(?<!&#96;)&#96;(retro(?: [\w./=&#;-]+?)*)&#96;(?!&#96;)", re.ASCII)
"""The same after every character that could start a construct of Markdown became a character reference."""


def commands_as_code(escaped: str) -> str:
    """HTML in which each command is `code`; what else stands in it has been escaped, and a command has nothing to escape."""
    return _COMMAND.sub(r"<code>\1</code>", escaped)


def commands_as_spans(escaped: str) -> str:
    """Markdown in which each command is a code span; what else stands in it has been escaped."""

    def span(match: re.Match[str]) -> str:
        command = f"`{unescape(match[1])}`"
        return command if _COMMAND.fullmatch(command) else match[0]

    return _REFERENCES.sub(span, escaped)
