"""A JSON document read a stretch at a time, value by value: what is in memory is one value and not the document."""

from __future__ import annotations

import codecs
import re
from json import JSONDecodeError, JSONDecoder
from typing import TYPE_CHECKING, Any, Final

import msgspec

from retro.errors import InputError
from retro.ingest.source import other_encoding
from retro.journal import quote

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["JsonText"]

_HEAD: Final = 64
_CHUNK: Final = 1 << 18
_LARGEST: Final = 256 << 20
"""Characters of one value."""
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_scan: Final = JSONDecoder(parse_float=str, parse_int=str).raw_decode
_decode: Final = msgspec.json.Decoder(float_hook=str).decode


class JsonText:
    """The text of a document from one place on; every method goes on behind what it took.

    `InputError` of what is no JSON, is cut short, or has a value of more than 256 MiB.
    """

    def __init__(self, stream: BinaryIO, path: str) -> None:
        self._stream, self._path = stream, path
        # bytes that are no UTF-8 stay what they are, for the value they stand in to be refused by name
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._text, self._at, self._is_whole = "", 0, False
        self._taken = 0
        first = stream.read(_HEAD)
        if wrong := other_encoding(first):
            raise InputError(f"{path}: {wrong}")
        self._add(first.removeprefix(b"\xef\xbb\xbf"))

    def begins(self) -> str:
        """The first character of the next value, "" at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def takes(self, character: str) -> bool:
        """Whether a character comes next; it is taken then."""
        is_next = self.begins() == character
        self._at += is_next
        return is_next

    def expect(self, character: str) -> None:
        """Take a character that has to come next."""
        if not self.takes(character):
            raise self.refusal(f"expected {character!r}" if self.begins() else "it is cut short")

    def value(self) -> Any:
        """The next value, numbers with their digits."""
        start, end = self._span()
        raw = self._text[start:end].encode("utf-8", "surrogateescape")
        self._at = end
        try:
            return _decode(raw)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise self.refusal(str(error)) from None

    def skip(self) -> None:
        """Pass over the next value."""
        self._at = self._span()[1]

    def refusal(self, why: str) -> InputError:
        """What is said of a document that is wrong where it was read to."""
        return InputError(
            f"{self._path} is not JSON ({quote(why, 80)}, after {self._taken + self._at:,} characters); write it again"
        )

    def _span(self) -> tuple[int, int]:
        """From where to where the next value stands; more is read until it is whole."""
        if not self.begins():
            raise self.refusal("it is cut short")
        while True:
            try:
                end = _scan(self._text, self._at)[1]
            except JSONDecodeError as error:
                wrong = str(error.msg)
            except (ValueError, RecursionError) as error:
                raise self.refusal(str(error)) from None
            else:
                if end < len(self._text) or self._is_whole:
                    return self._at, end
                wrong = "it is cut short"  # a number may go on
            if len(self._text) - self._at > _LARGEST:
                raise InputError(
                    f"{self._path}: a value is larger than {_LARGEST >> 20} MiB; write it as JSON Lines, one object a line"
                )
            # doubled each time, so that a long value is not looked at once for every stretch of it
            if not self._more(len(self._text) - self._at):
                raise self.refusal(wrong)

    def _more(self, least: int = 0) -> bool:
        """Read on, letting go of what was taken; False at the end."""
        if self._is_whole:
            return False
        self._taken += self._at
        self._text, self._at = self._text[self._at :], 0
        self._add(self._stream.read(max(_CHUNK, least)))
        return True

    def _add(self, raw: bytes) -> None:
        self._is_whole = not raw
        self._text += self._decoder.decode(raw, final=self._is_whole)
