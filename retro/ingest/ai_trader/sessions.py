"""What a model wrote in a session: log/<date>/log.jsonl beside position/, one session a date."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from retro.errors import InputError
from retro.ingest.prose import prose
from retro.ingest.source import open_source, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Sessions"]

_SIGNAL: Final = "<FINISH_SIGNAL>"


class _Message(msgspec.Struct):
    role: str = ""
    content: str | None = ""


class _Entry(msgspec.Struct):
    new_messages: list[_Message] | _Message


_DECODER: Final = msgspec.json.Decoder(_Entry, strict=False)


class Sessions:
    """The sessions of one run, read when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._latest: tuple[str, str] = ("", "")

    @property
    def are_logged(self) -> bool:
        """Whether this run has logs at all."""
        return self._folder.is_dir()

    def trace(self, date: str) -> str:
        """Where the session of a date stands, as its run's folder names it; "" where there is none."""
        return f"log/{date}" if self.text(date) else ""

    def text(self, date: str) -> str:
        """Everything its model said, the user's words and tools' answers left out; "" where it said nothing."""
        if self._latest[0] != date:
            self._latest = (date, prose("\n\n".join(self._said(date))))
        return self._latest[1]

    def _said(self, date: str) -> Iterator[str]:
        names = (date, date.replace(":", "-"), date.replace(":", "_"))
        file = next((path for name in names if (path := self._folder / name / "log.jsonl").is_file()), None)
        if file is None:
            return
        asked: set[str] = set()
        with suppress(InputError), open_source(str(file)) as stream:
            for part in read_lines(stream):
                for message in _messages(part.texts):
                    text = (message.content or "").replace(_SIGNAL, "").strip()
                    if message.role == "assistant" and text and text not in asked:
                        yield text
                    asked.add(text)


def _messages(texts: list[bytes]) -> Iterator[_Message]:
    for text in texts:
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            messages = _DECODER.decode(text).new_messages
            yield from messages if isinstance(messages, list) else [messages]
