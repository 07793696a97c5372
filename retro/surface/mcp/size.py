"""How much a tool answers: at most 4 KB unless the caller asks for detail, because whatever it says is paid for in context.

What is left out is counted, and `next` says where to go on. Figures keep four digits behind the point, texts their
beginning, and what is null is left out; with `detail` everything stands as everywhere else.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["LARGEST", "brief", "encoded", "fitted", "page"]

Document = dict[str, Any]

LARGEST: Final = 4096
"""Bytes of an answer, its label included."""
_LABEL: Final = 256
_LEVELS: Final = ((12, 400), (8, 240), (6, 160), (5, 100), (4, 60), (3, 40), (2, 24), (1, 12), (0, 8))
"""How many items a list may have and how many characters a text, from generous to what always fits."""
_LARGEST_ITEM: Final = 1200


def encoded(answer: Document) -> str:
    """An answer as it is sent: JSON without blanks."""
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _bytes_of(document: Any) -> int:
    return len(encoded(document).encode("utf-8", "surrogatepass"))


def fitted(make: Callable[[int, int], Document], largest: int = LARGEST - _LABEL) -> Document:
    """What `make(items, characters)` gives with as many items and characters as fit."""
    answer: Document = {}
    for items, characters in _LEVELS:
        answer = make(items, characters)
        if _bytes_of(answer) <= largest:
            return answer
    return answer


def brief(value: Any, items: int, characters: int) -> Any:
    """A JSON value with at most so many items a list and characters a text; nulls and empty parts are left out."""
    if isinstance(value, float):
        return round(value, 4) if abs(value) >= 1 else float(f"{value:.4g}")
    if isinstance(value, str):
        return value if len(value) <= characters else f"{value[: max(characters - 1, 0)]}…"
    if isinstance(value, list):
        return [brief(item, items, characters) for item in value[:items]]
    if isinstance(value, dict):
        parts = {name: brief(part, items, characters) for name, part in value.items()}
        return {name: part for name, part in parts.items() if part not in (None, [], {}, "")}
    return value


def page(
    name: str,
    documents: Sequence[Document],
    cursor: int,
    beside: Document | None = None,
    shorten: Callable[[Document], Document] = lambda document: document,
) -> Document:
    """As many of the documents from `cursor` on as fit, under their name; `next` is the cursor of the following ones.

    `shorten` says what of one is worth telling; `beside` stands in the answer too.
    """
    answer: Document = {name: [], "total": len(documents), **(beside or {})}
    room = LARGEST - _LABEL - _bytes_of(answer) - 32
    for place in range(cursor, len(documents)):
        document = _item(shorten(documents[place]))
        room -= _bytes_of(document) + 1
        if room < 0 and place > cursor:
            answer["next"] = place
            break
        answer[name].append(document)
    return answer


def _item(document: Document) -> Document:
    """A document as one among several: of a size that leaves room for others."""
    return fitted(lambda items, characters: brief(document, items, characters), _LARGEST_ITEM)
