"""Texts of the library as pages: what a search brought, one item as it was told, how each library stands. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from retro.figures import DASH, count, moment
from retro.periods import format_instant
from retro.present.page.blocks import (
    Figure,
    FigureList,
    Headline,
    Notes,
    Page,
    Prose,
    Section,
    page_of_blocks,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.library.search import ItemHit
    from memory.library.stats import LibraryStats

__all__ = ["item_lines", "item_page", "items_page", "libraries_page"]

_OWN_PLACE: Final = frozenset({"id", "text", "metadata"})
"""Fields of an item that are shown otherwise than as a figure of their name."""


def items_page(text: str, hits: Sequence[ItemHit]) -> Page:
    """What means the same as a text, best first."""
    return page_of_blocks("Library", text, "what means the same", count(len(hits), "item"), item_lines(hits))


def item_lines(hits: Sequence[ItemHit]) -> tuple[Prose | Notes, ...]:
    """Each with its score and place, its text, and the parts of the score."""
    return tuple(block for place, hit in enumerate(hits, 1) for block in _hit(place, hit))


def _hit(place: int, hit: ItemHit) -> tuple[Prose, Notes]:
    item, parts = hit.item, hit.components
    named = {
        "similarity": parts.similarity,
        "words": parts.lexical,
        "recency": parts.recency,
        "importance": parts.importance,
    }
    words = (item.id, item.collection, hit.layer, item.symbol, moment(format_instant(item.at)))
    where = "  ".join(word for word in (*words, "archived" if hit.archived else "") if word)
    reasons = ", ".join(f"{name} {value:.3f}" for name, value in named.items() if value is not None)
    return Prose(item.text, f"{place}. {hit.score:.3f}  {where}"), Notes((reasons,), tone="faint")


def item_page(document: Mapping[str, Any]) -> Page:
    """One item, by the JSON of `retro library show`: its text, what is said of it, its metadata."""
    figures = tuple(
        Figure(name.replace("_", " ").capitalize(), _value(value))
        for name, value in document.items()
        if name not in _OWN_PLACE and value not in (None, [], {})
    )
    metadata = tuple(Figure(name, _value(value)) for name, value in document["metadata"].items())
    sections = [Section("text", "Text", (Prose(document["text"]),))]
    if metadata:
        sections.append(Section("metadata", "Metadata", (FigureList(metadata),)))
    whose = document["agent"] or "everybody"
    return Page(
        Headline("Item", document["id"], f"of {whose}", document["collection"], "", "plain", figures),
        tuple(sections),
    )


def _value(value: Any) -> str:
    """A value as it was told: text bare, whatever has parts as JSON."""
    if isinstance(value, dict) and set(value) == {"at", "reason"}:
        return f"{value['at']}, {value['reason']}"
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def libraries_page(sizes: Sequence[LibraryStats]) -> Page:
    """How each library stands: items, layers, index, archive, how long searches take."""
    sections = tuple(_library(number, size) for number, size in enumerate(sizes))
    result = count(sum(size.items for size in sizes), "item")
    return Page(Headline("Libraries", "Libraries", "how each stands", result, "", "plain"), sections)


def _library(number: int, size: LibraryStats) -> Section:
    unindexed = f"{size.unindexed:,} without a vector of it" if size.unindexed else ""
    latency = DASH if size.latency_ms is None else f"{size.latency_ms:,.1f} ms"
    archive = f"{count(size.archive.blocks, 'block')}, {size.archive.bytes:,} bytes"
    rows = (
        Figure("Items", f"{size.items:,}", f"{size.forgotten:,} forgotten"),
        *(Figure(f"in {name}", f"{n:,}") for name, n in (*size.collections.items(), *size.layers.items())),
        Figure("In the archive", f"{size.archive.items:,}", archive),
        Figure("Searched by", size.model, unindexed),
        Figure("A search", latency, f"the median of {count(size.searches, 'search', 'searches')}"),
    )
    problems = (Notes(size.problems, tone="warn"),) if size.problems else ()
    return Section(f"library-{number}", size.agent or "Everybody", (FigureList(rows), *problems))
