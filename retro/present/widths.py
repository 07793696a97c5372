"""Lines for a terminal: how wide text is there, wrapping, cutting, padding, colour. Pure."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from retro.present.page.blocks import Tone
    from retro.present.references import Reference

__all__ = ["Line", "TextSpan", "cells", "cut", "line", "pad", "paint", "words", "wrap"]


class TextSpan(NamedTuple):
    """A piece of a line in one tone; `ref` is what it leads to where somebody can follow it."""

    text: str
    tone: Tone = "plain"
    ref: Reference | None = None


Line = tuple[TextSpan, ...]

_CODES: Final[dict[str, str]] = {"strong": "1", "up": "32", "down": "31", "warn": "33", "faint": "2"}
_ELLIPSIS: Final = "…"


def cells(text: str) -> int:
    """Columns a terminal gives the text: wide East Asian characters and emoji take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.east_asian_width(character) in {"W", "F"}:
        return 2
    return 0 if unicodedata.category(character) in {"Mn", "Me"} else 1


def cut(text: str, width: int) -> str:
    """The text, or as much of its start as fits with an ellipsis."""
    if cells(text) <= width:
        return text
    return _head(text, max(0, width - 1)) + _ELLIPSIS if width > 0 else ""


def _head(text: str, width: int) -> str:
    used = 0
    for i, character in enumerate(text):
        used += _width(character)
        if used > width:
            return text[:i]
    return text


def pad(text: str, width: int, *, right: bool = False) -> str:
    """The text cut or filled to exactly `width` columns; `right` puts it at the right end."""
    fitted = cut(text, width)
    gap = " " * (width - cells(fitted))
    return gap + fitted if right else fitted + gap


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, broken at spaces, inside a word only when it must."""
    lines, current = [], ""
    for word in words(text):
        joined = f"{current} {word}" if current else word
        if cells(joined) <= width:
            current = joined
            continue
        if current:
            lines.append(current)
        *full, current = _pieces(word, width)
        lines += full
    if current or not lines:
        lines.append(current)
    return lines


def words(text: str) -> Iterator[str]:
    """Words at spaces; a percent sign stays with its number."""
    phrase = ""
    for word in text.split():
        if phrase and word[0] == "%":
            phrase = f"{phrase} {word}"
            continue
        if phrase:
            yield phrase
        phrase = word
    if phrase:
        yield phrase


def _pieces(word: str, width: int) -> Iterator[str]:
    while cells(word) > width:
        piece = _head(word, width) or word[0]
        yield piece
        word = word[len(piece) :]
    yield word


def line(*spans: str | tuple[str, Tone] | tuple[str, Tone, Reference | None] | TextSpan) -> Line:
    """A line of spans; a bare string is plain."""
    return tuple(TextSpan(span) if isinstance(span, str) else TextSpan(*span) for span in spans)


def paint(lines: Iterable[Sequence[TextSpan]], width: int, *, colour: bool) -> str:
    """The lines as one text, none wider than `width`, without blanks at their ends; coloured only when asked."""
    return "".join(_painted(spans, width, colour=colour) + "\n" for spans in lines)


def _painted(spans: Sequence[TextSpan], width: int, *, colour: bool) -> str:
    out, remaining = [], width
    text = "".join(span for span, *_ in spans).rstrip()
    fits = cells(text) <= width
    for span, tone, _ in spans:
        fitted = span if fits else cut(span, remaining) if cells(span) > remaining else span
        remaining -= cells(fitted)
        code = _CODES.get(tone)
        out.append(f"\x1b[{code}m{fitted}\x1b[0m" if colour and code and fitted.strip() else fitted)
        if remaining <= 0:
            break
    return "".join(out).rstrip()
