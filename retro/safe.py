"""What strangers wrote, made harmless to show: control, bidi and invisible characters taken out. Pure.

Everything an agent wrote (names, tags, reasoning) is untrusted. Escaping for HTML or Markdown belongs to whoever
writes that format; here only what no format should carry is removed.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache
from operator import is_
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, TypeVar, Union, get_args, get_origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Protocol, Self

    class Copyable(Protocol):
        """A document: a model of pydantic's, or what is copied like one."""

        def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self: ...

    Document = TypeVar("Document", bound=Copyable)

__all__ = ["clean", "plain_text", "shorten", "visible"]

_BREAK: Final = re.compile(r"[ \t]*(?:[\n\r\v\f\x85\u2028\u2029]+[ \t]*)+|\t+")
_UNSEEN: Final = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"  # controls
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers, Arabic mark
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f"  # zero width, bidi embeddings, overrides and isolates
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufdd0-\ufdef\ufffe\uffff"  # fillers, selectors, non-characters
    "\ud800-\udfff"  # halves of pairs, which no UTF-8 can carry
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # tags: text hidden in plain sight
    "]"
)

_OURS: Final = frozenset({"path", "pnl_trajectory", "post_exit_trajectory", "equity", "calendar"})
"""Fields that hold instants and figures only; they are the bulk of a report."""


def plain_text(text: str) -> str:
    """The text without control, bidi and invisible characters; a line break or tab becomes one space. Idempotent."""
    if text.isascii() and text.isprintable():
        return text
    visible_text = _UNSEEN.sub("", _BREAK.sub(" ", text))
    if visible_text.isprintable():
        return visible_text
    return "".join(c for c in visible_text if unicodedata.category(c) not in {"Cf", "Cc", "Cs"})


def shorten(text: str, longest: int, *, trim: bool = True) -> str:
    """The text, or as much of its start as fits into so many characters with an ellipsis.

    No blank stands before the ellipsis, unless `trim` is False: names are cut where they are cut. What a terminal has
    room for is measured in columns, not characters: `present.widths.cut`.
    """
    if len(text) <= longest:
        return text
    head = text[: longest - 1]
    return f"{head.rstrip() if trim else head}…"


def visible(document: str) -> str:
    """The same JSON with bidi and invisible characters as escapes: no value changes, and nothing reads as it is not."""
    if document.isascii():
        return document
    return _UNSEEN.sub(lambda match: json.dumps(match[0])[1:-1], document)


def clean(document: Document) -> Document:
    """The document with `plain_text` applied to every string a stranger may have written, keys included.

    What was clean stays the same object; figures, and the instants code wrote, are not looked at.
    """
    changes = {
        name: cleaned
        for name in _told_in(type(document))
        if (cleaned := _cleaned(value := getattr(document, name))) is not value
    }
    return document.model_copy(update=changes) if changes else document


@cache
def _told_in(form: Any) -> tuple[str, ...]:
    """The fields of a form that may hold a stranger's text."""
    return tuple(
        name
        for name, field in form.__pydantic_fields__.items()
        if name not in _OURS and _holds_text(field.annotation)
    )


def _holds_text(annotation: Any) -> bool:
    """Whether a value so declared may hold text: figures do not, nor does a form that has none but figures."""
    if annotation in {float, int, bool, NoneType}:
        return False
    if hasattr(annotation, "__pydantic_fields__"):
        return bool(_told_in(annotation))
    if get_origin(annotation) in {list, tuple, Union, UnionType}:
        return any(map(_holds_text, get_args(annotation)))
    return True


def _cleaned(value: Any) -> Any:
    """A value of a document with its strings cleaned; the very same object when all were clean."""
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, list):
        items = [_cleaned(item) for item in value]
        return value if all(map(is_, items, value)) else items
    if isinstance(value, dict):
        keys, items = [plain_text(key) for key in value], [_cleaned(item) for item in value.values()]
        if all(map(is_, keys, value)) and all(map(is_, items, value.values())):
            return value
        return _rekeyed(zip(keys, items, strict=True))
    return clean(value) if hasattr(value, "model_copy") else value


def _rekeyed(rows: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A table of clean keys; keys that became the same are numbered, so that no row is lost."""
    out: dict[str, Any] = {}
    for base, value in rows:
        name = base
        count = 1
        while name in out:
            count += 1
            name = f"{base} ({count})"
        out[name] = value
    return out
