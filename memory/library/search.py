"""Searching by meaning: exact, over every item that may be seen, in one pass.

score = similarity + .15 * share, where similarity is the cosine of two unit vectors and share is BM25 as a part of the most
that any text could have. Within a layer recency and min(importance, 100)/100 are added. The matrix product only says which items to
look at: what is printed is summed exactly and rounded to six digits, so that equal stores give equal answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from memory.errors import RefusedError
from memory.library.columns import LEXICAL, NEVER, Floats, ItemColumns, columns, key_of
from memory.library.intake import owners_of
from memory.library.item import LibraryItem, from_document
from memory.library.layers.preset import LAYERS, OWN
from memory.library.terms import Flags, bm25, terms_of
from memory.library.texts import archived_texts
from memory.library.where import ItemCondition, matches, stated
from memory.store import library as rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from memory.library.embedder import Embedder, Vectors

__all__ = ["Components", "ItemHit", "SearchAnswer", "SearchFilters", "search"]

LEXICAL_WEIGHT: Final = 0.15
FULL_IMPORTANCE: Final = 100.0
_DIGITS: Final = 6
_MARGIN: Final = 1e-4
"""More than float32 can be wrong in 384 sums of a unit vector, and more than rounding moves a score."""
_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """What may be found. Instants are microseconds: `since` <= at <= `as_of`; None asks nothing."""

    collection: str | None = None
    symbol: str | None = None
    layer: str | None = None
    session: str | None = None
    since: int | None = None
    as_of: int | None = None
    min_confidence: float | None = None
    min_score: float | None = None
    archived: bool = False
    where: tuple[ItemCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class Components:
    """What a score is the sum of; null where it does not count.

    `lexical` is the BM25 share: .15 of it counts in a search by meaning, all of it in one by words alone.
    """

    similarity: float | None
    lexical: float
    recency: float | None = None
    importance: float | None = None


@dataclass(frozen=True, slots=True)
class ItemHit:
    """One item that was found."""

    score: float
    components: Components
    item: LibraryItem
    layer: str | None
    archived: bool


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The best hits, best first. `model` is what they were found by; `note` says why it was words alone."""

    model: str
    hits: tuple[ItemHit, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """One library with what may be found of it and how well it matches, arrays of shape (n,)."""

    agent: str
    items: ItemColumns
    visible: Flags
    share: Floats = field(default_factory=lambda: np.empty(0))
    coarse: Floats = field(default_factory=lambda: np.empty(0))


class _Ranked(NamedTuple):
    """A hit in the making, in order: the better score, the later instant, the smaller id."""

    order: tuple[float, int, str, str]
    place: int
    number: int
    components: Components


def search(
    conn: Connection,
    text: str,
    embedder: Embedder | None,
    *,
    agent: str | None = None,
    filters: SearchFilters | None = None,
    k: int = 5,
) -> SearchAnswer:
    """The k items nearest in meaning to a text, of those an agent may see (None: of everybody's). Writes nothing.

    Libraries whose vectors are another model's are never compared with this one's: words alone are then, and `note` says so.
    """
    asked = filters if filters is not None else SearchFilters()
    if not text.strip():
        raise RefusedError("there is nothing to look for: the text is empty")
    if k < 1:
        raise RefusedError("k must be 1 or more")
    libraries = owners_of(conn, agent)
    note = _why_lexical(conn, libraries, embedder)
    chosen = [_candidates(conn, owner, asked) for owner in libraries]
    chosen = [entry for entry in chosen if entry.visible.any()]
    query = _query_vector(text, embedder) if note is None and embedder is not None else None
    scored = _scored(chosen, text, query, asked, grams=_has_grams(conn, libraries))
    ranked = _ranked(conn, scored, query, asked, k)
    model = LEXICAL if embedder is None or note is not None else embedder.name
    return SearchAnswer(model, tuple(_hits(conn, scored, ranked)), note)


def _why_lexical(conn: Connection, libraries: Sequence[str], embedder: Embedder | None) -> str | None:
    """Why vectors cannot be compared; None where they can."""
    models = sorted({head.model or LEXICAL for head in (rows.head(conn, x) for x in libraries) if head.items})
    if embedder is None:
        return "no model of sentences is installed; found by words alone (pip install 'slow-mirror[library]')"
    strangers = [model for model in models if model != embedder.name]
    if strangers:
        return (
            f"the library was indexed by {', '.join(strangers)}, not by {embedder.name}; found by words alone"
            " until `retro library reindex`"
        )
    return None


def _has_grams(conn: Connection, libraries: Sequence[str]) -> bool:
    heads = (rows.head(conn, agent) for agent in libraries)
    return any(head.items and head.model is None for head in heads)


def _query_vector(text: str, embedder: Embedder) -> Vectors:
    vector = np.asarray(embedder.embed_query(text), dtype=np.float32)
    if vector.shape != (embedder.dimensions,):
        raise RefusedError(
            f"{embedder.name} gave a vector of shape {vector.shape}, not ({embedder.dimensions},)"
        )
    return vector


def _candidates(conn: Connection, agent: str, asked: SearchFilters) -> _Candidates:
    items = columns(conn, agent)
    at = items.fixed["at"]
    visible = at <= (asked.as_of if asked.as_of is not None else NEVER - 1)
    if asked.since is not None:
        visible &= at >= asked.since
    for name in ("collection", "symbol", "session"):
        wanted = getattr(asked, name)
        if wanted is not None:
            visible &= items.fixed[name] == key_of(wanted)
    if asked.layer is not None:
        if asked.layer not in LAYERS:
            raise RefusedError(f"layer: must be one of {', '.join(LAYERS)}")
        visible &= items.layer == LAYERS.index(asked.layer)
    if asked.min_confidence is not None:
        visible &= items.fixed["confidence"] >= asked.min_confidence
    if not asked.archived:
        visible &= ~items.archived
    for condition in asked.where:
        visible &= _met(conn, agent, items, condition, visible)
    return _Candidates(agent, items, visible)


def _met(conn: Connection, agent: str, items: ItemColumns, condition: ItemCondition, visible: Flags) -> Flags:
    """Which items meet a condition; what all of them say under its key is read once."""
    if condition.key not in items.memo:
        values: list[object] = [None] * len(items)
        for row in rows.all_rows(conn, agent):
            values[row.number] = stated(row.document, condition.key)
        items.memo[condition.key] = values
    values = items.memo[condition.key]
    met = np.zeros(len(items), dtype=np.bool_)
    for number in np.flatnonzero(visible).tolist():
        met[number] = matches(condition, values[number])
    return met


def _scored(
    chosen: list[_Candidates], text: str, query: Vectors | None, asked: SearchFilters, *, grams: bool
) -> list[_Candidates]:
    """The candidates with their share and a score right to about seven digits."""
    terms = terms_of(text, grams=grams)
    shares = bm25(terms, [entry.items.words for entry in chosen], [entry.visible for entry in chosen])
    scored = []
    for entry, share in zip(chosen, shares, strict=True):
        coarse = share.copy()
        if query is not None:
            similar = [np.dot(matrix, query) for _, matrix in entry.items.matrices]
            coarse = np.concatenate(similar).astype(np.float64) + LEXICAL_WEIGHT * share
        if asked.layer is not None:
            coarse = coarse + entry.items.recency + _importance(entry.items.importance, asked.layer)
        elif query is None:
            coarse[share <= 0] = -math.inf  # by words alone, what shares none is not like it at all
        coarse[~entry.visible] = -math.inf
        scored.append(_Candidates(entry.agent, entry.items, entry.visible, share, coarse))
    return scored


def _importance(stored: Floats, layer: str) -> Floats:
    """min(importance, 100) / 100; what no step has begun counts as what its layer begins with."""
    start = OWN.start_importance(LAYERS.index(layer), "")
    return np.minimum(np.where(np.isnan(stored), start, stored), FULL_IMPORTANCE) / FULL_IMPORTANCE


def _ranked(
    conn: Connection, scored: list[_Candidates], query: Vectors | None, asked: SearchFilters, k: int
) -> list[_Ranked]:
    """The k best, in order, each with the exact parts of its score."""
    near: list[tuple[int, int]] = []
    floor = _floor(scored, k)
    for place, entry in enumerate(scored):
        near += [(place, int(number)) for number in np.flatnonzero(entry.coarse >= floor)]
    similar: dict[bytes, float] = {}
    unordered = []
    for place, number in near:
        parts = _components(scored[place], number, query, asked, similar)
        score = _sum(parts, by_words=query is None)
        if asked.min_score is None or score >= asked.min_score:
            unordered.append((score, place, number, parts))
    ids = {
        place: _ids(conn, scored[place].agent, [n for _, p, n, _ in unordered if p == place])
        for place in range(len(scored))
    }
    ranked = [
        _Ranked(
            (-score, -int(scored[place].items.fixed["at"][number]), ids[place][number], scored[place].agent),
            place, number, parts,
        )
        for score, place, number, parts in unordered
    ]  # fmt: skip
    return sorted(ranked, key=lambda entry: entry.order)[:k]


def _floor(scored: list[_Candidates], k: int) -> float:
    """A score that the k best of all libraries reach, less what rounding may move."""
    if not scored:
        return math.inf
    every = np.concatenate([entry.coarse for entry in scored])
    if k >= len(every):
        return float(np.nextafter(-math.inf, 0.0))
    floor = float(np.partition(every, len(every) - k)[len(every) - k])
    return float(np.nextafter(-math.inf, 0.0)) if floor == -math.inf else floor - _MARGIN


def _components(
    entry: _Candidates, number: int, query: Vectors | None, asked: SearchFilters, similar: dict[bytes, float]
) -> Components:
    """The parts of a score, each rounded to six digits: products of float32 are exact in float64, and so is `fsum`."""
    similarity = None
    if query is not None:
        vector = entry.items.vector(number)
        raw = vector.tobytes()
        if raw not in similar:
            exact = vector.astype(np.float64) * query.astype(np.float64)
            similar[raw] = round(math.fsum(exact.tolist()), _DIGITS) + 0.0
        similarity = similar[raw] if vector.any() else None
    share = round(float(entry.share[number]), _DIGITS)
    if asked.layer is None:
        return Components(similarity, share)
    importance = _importance(entry.items.importance[number : number + 1], asked.layer)
    recency = round(float(entry.items.recency[number]), _DIGITS)
    return Components(similarity, share, recency, round(float(importance[0]), _DIGITS))


def _sum(parts: Components, *, by_words: bool) -> float:
    matched = parts.lexical if by_words else (parts.similarity or 0.0) + LEXICAL_WEIGHT * parts.lexical
    return round(matched + (parts.recency or 0.0) + (parts.importance or 0.0), _DIGITS)


def _ids(conn: Connection, agent: str, numbers: list[int]) -> dict[int, str]:
    return {number: row.id for number, row in rows.numbered(conn, agent, numbers).items()}


def _hits(conn: Connection, scored: list[_Candidates], ranked: list[_Ranked]) -> Iterator[ItemHit]:
    """The items themselves, read from their rows and the archive."""
    stored = {}
    for place, entry in enumerate(scored):
        by_number = rows.numbered(conn, entry.agent, [hit.number for hit in ranked if hit.place == place])
        texts = archived_texts(conn, entry.agent, [row for row in by_number.values() if row.text is None])
        for number, row in by_number.items():
            text = row.text if row.text is not None else texts[row.id]
            stored[place, number] = from_document(entry.agent, row.document, text)
    for hit in ranked:
        entry = scored[hit.place]
        layer = int(entry.items.layer[hit.number])
        yield ItemHit(
            -hit.order[0],
            hit.components,
            stored[hit.place, hit.number],
            None if layer < 0 else LAYERS[layer],
            bool(entry.items.archived[hit.number]),
        )
