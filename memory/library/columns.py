"""A library as columns: what a search computes on, kept in step with the store.

The head of a library names by digest all that was added and changed, so columns are used only when they are that
content, or a beginning of it; what was rolled back, forgotten or written by another process is noticed. Copies of full
stretches are sealed in the database, so that a cold search reads a few large values instead of every row; of a large
library it reads vectors as codes, and whoever asks again gets them whole.
"""

from __future__ import annotations

import hashlib
import zlib
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import msgspec
import numpy as np
import numpy.typing as npt

from memory.library.blocks import BLOCK, FIXED, Codes, ItemStretch, coded, joined_codes, packed, unpacked
from memory.library.layers.preset import LAYERS
from memory.library.terms import TermIndex, merged, postings
from memory.library.texts import archived_texts
from memory.store import library as rows
from memory.store import vectors as meanings

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from memory.library.embedder import Vectors
    from memory.store.library import LibraryHead, StoredItem

__all__ = ["BLOCK", "LEXICAL", "ItemColumns", "columns", "drop_columns", "key_of", "layout_of", "seal"]

LEXICAL: Final = "lexical"
"""The model of a library that has no vectors: words and pieces of words."""
NEVER: Final = 2**63 - 1
MANY: Final = 16 * BLOCK
"""Items from which a cold search reads codes."""
_VERSION: Final = 2
_MOST_LIBRARIES: Final = 32
_MOST_ADDED: Final = 4 * BLOCK
_MOST_PARTS: Final = 12

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ItemColumns:
    """n numbers of a library, every array of shape (n,). `at` is `NEVER` where the item was forgotten.

    `fixed`: at, collection, symbol, session, status (codes of `key_of`, 0 for none) and confidence (NaN for none).
    `layer` is -1 outside of the layers; `importance` is NaN where no step has begun it. `matrices`: (first number,
    float32 unit rows; zeros where there is no vector), or none of them and `codes`. `words`: postings by stretch.
    """

    fixed: npt.NDArray[np.void]
    archived: npt.NDArray[np.bool_]
    layer: npt.NDArray[np.int8]
    importance: Floats
    recency: Floats
    matrices: tuple[tuple[int, Vectors], ...]
    codes: Codes | None
    words: TermIndex
    memo: dict[Any, Any] = field(default_factory=dict)
    """What has been read of these items beside the columns; it is dropped with them."""

    def __len__(self) -> int:
        return len(self.fixed)

    def vector(self, number: int) -> Vectors:
        """The vector of the item with this number, where there are matrices."""
        first, matrix = next(pair for pair in reversed(self.matrices) if pair[0] <= number)
        return np.asarray(matrix[number - first])


_Cache = OrderedDict[str, tuple["LibraryHead", ItemColumns]]
_caches: WeakKeyDictionary[Engine, _Cache] = WeakKeyDictionary()
_lock = Lock()


def key_of(text: str | None) -> int:
    """A code by which equal texts are equal; 0 for None."""
    if text is None:
        return 0
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest(), "little", signed=True
    )


def layout_of(now: LibraryHead) -> str:
    """The name of sealed copies: other vectors or terms lie in others."""
    return f"{now.model or LEXICAL}:{now.dimensions or 0}:{_VERSION}"


def _whole_layout(now: LibraryHead) -> str:
    """The name of sealed copies of the vectors alone, whole."""
    return f"{layout_of(now)}:vectors"


def columns(conn: Connection, agent: str, now: LibraryHead | None = None) -> ItemColumns:
    """The agent's library as columns, exactly as far as this connection sees it; `now` is its head, if that was read."""
    now = rows.head(conn, agent) if now is None else now
    with _lock:
        cache = _caches.setdefault(conn.engine, OrderedDict())
        head, items = cache.get(agent, (None, None))
    if head is not None and items is not None and _reads_alike(head, now):
        whole = _whole(conn, agent, now, items)
        if whole is not items:
            with _lock:
                cache[agent] = (head, whole)
        return whole
    if head is not None and items is not None and _begins(conn, agent, head, now):
        if now.items > head.items:
            items = _joined(conn, agent, now, items)
    else:
        items = _built(conn, agent, now)
    items = _with_standing(conn, agent, items)
    with _lock:
        cache[agent] = (now, items)
        cache.move_to_end(agent)
        while len(cache) > _MOST_LIBRARIES:
            cache.popitem(last=False)
    return items


def _whole(conn: Connection, agent: str, now: LibraryHead, items: ItemColumns) -> ItemColumns:
    """The same columns for whoever asks a second time, and so asks often: vectors instead of codes, postings in one."""
    if items.codes is not None:
        items = replace(items, matrices=((0, _matrix(conn, agent, now)),), codes=None)
    if len(items.words) > _MOST_PARTS:
        items = replace(items, words=merged(items.words))
    return items


def drop_columns(conn: Connection) -> None:
    """Drop what this process has cached of the connection's database."""
    with _lock:
        _caches.pop(conn.engine, None)


def _reads_alike(head: LibraryHead, now: LibraryHead) -> bool:
    return head._replace(building=None) == now._replace(building=None)


def _begins(conn: Connection, agent: str, old: LibraryHead, now: LibraryHead) -> bool:
    """Whether the old columns are a beginning of the present ones; after a forgotten item or new vectors they are not."""
    if (old.model, old.dimensions) != (now.model, now.dimensions):
        return False
    if old.items == now.items:
        return old.item_digest == now.item_digest
    near = 0 < old.items < now.items <= old.items + _MOST_ADDED
    return near and rows.digest_at(conn, agent, old.items - 1) == old.item_digest


def _built(conn: Connection, agent: str, now: LibraryHead) -> ItemColumns:
    """The columns read anew: sealed stretches where there are sound ones, rows elsewhere."""
    parts: list[tuple[int, ItemStretch, Codes | None]] = []
    reached, width, by_codes = 0, now.dimensions or 0, now.items >= MANY

    def read(last: int) -> None:
        codes = coded(_vectors(conn, agent, now, reached, last)) if by_codes else None
        parts.append((reached, _read(conn, agent, now, reached, last), codes))

    for number, crc, data in meanings.sealed(conn, agent, layout_of(now)):
        first = number * BLOCK
        if first < reached or first + BLOCK > now.items or zlib.crc32(data) != crc:
            continue
        if first > reached:
            read(first)
        parts.append((first, *unpacked(data, width)))
        reached = first + BLOCK
    if reached < now.items:
        read(now.items)
    fixed = [part.fixed for _, part, _ in parts]
    codes = [part for _, _, part in parts if part is not None] if by_codes else []
    return _standing_apart(
        np.concatenate(fixed) if fixed else np.empty(0, dtype=FIXED),
        () if codes else ((0, _matrix(conn, agent, now)),),
        joined_codes(codes) if codes else None,
        tuple((first, part.words) for first, part, _ in parts),
    )


def _matrix(conn: Connection, agent: str, now: LibraryHead) -> Vectors:
    """Every vector of the library: from sealed copies where there are sound ones, from rows elsewhere."""
    width, reached = now.dimensions or 0, 0
    matrix = np.empty((now.items, width), dtype=np.float32)
    for number, crc, data in meanings.sealed(conn, agent, _whole_layout(now)) if width else ():
        first = number * BLOCK
        if first < reached or first + BLOCK > now.items or zlib.crc32(data) != crc:
            continue
        matrix[reached:first] = _vectors(conn, agent, now, reached, first)
        matrix[first : first + BLOCK] = np.frombuffer(data, "<f4").reshape(BLOCK, width)
        reached = first + BLOCK
    matrix[reached:] = _vectors(conn, agent, now, reached, now.items)
    return matrix


def _joined(conn: Connection, agent: str, now: LibraryHead, items: ItemColumns) -> ItemColumns:
    """The same columns with what was added behind them."""
    first = len(items)
    part = _read(conn, agent, now, first, now.items)
    if items.codes is not None:
        matrices: tuple[tuple[int, Vectors], ...] = ((0, _matrix(conn, agent, now)),)
    else:
        matrices = (*items.matrices, (first, _vectors(conn, agent, now, first, now.items)))
    if len(matrices) > _MOST_PARTS:
        matrices = ((0, np.concatenate([matrix for _, matrix in matrices])),)
    fixed = np.concatenate([items.fixed, part.fixed])
    return _standing_apart(fixed, matrices, None, (*items.words, (first, part.words)))


def _standing_apart(
    fixed: npt.NDArray[np.void],
    matrices: tuple[tuple[int, Vectors], ...],
    codes: Codes | None,
    words: TermIndex,
) -> ItemColumns:
    """Columns whose layers and archive are still to be read."""
    size = len(fixed)
    nothing = np.full(size, np.nan)
    return ItemColumns(
        fixed,
        np.zeros(size, dtype=np.bool_),
        np.full(size, -1, dtype=np.int8),
        nothing,
        nothing,
        matrices,
        codes,
        words,
    )


def _with_standing(conn: Connection, agent: str, items: ItemColumns) -> ItemColumns:
    """The same items with where they stand now: in the archive, in which layer."""
    archived, layer = np.zeros(len(items), dtype=np.bool_), np.full(len(items), -1, dtype=np.int8)
    importance, recency = np.full(len(items), np.nan), np.full(len(items), np.nan)
    archived[meanings.archived_numbers(conn, agent)] = True
    for number, name, weight, fresh in meanings.states(conn, agent):
        layer[number] = LAYERS.index(name)
        importance[number] = np.nan if weight is None else weight
        recency[number] = fresh
    return replace(items, archived=archived, layer=layer, importance=importance, recency=recency, memo={})


def _read(conn: Connection, agent: str, now: LibraryHead, first: int, last: int) -> ItemStretch:
    """The items numbered from `first` up to but not including `last`, from their rows."""
    by_number = rows.numbered(conn, agent, range(first, last))
    texts = _texts(conn, agent, list(by_number.values()))
    fixed = np.zeros(last - first, dtype=FIXED)
    fixed["at"] = NEVER
    for number, row in by_number.items():
        said = msgspec.json.decode(row.document)
        confidence = said.get("confidence")
        fixed[number - first] = (
            row.at,
            key_of(row.collection),
            key_of(said.get("symbol")),
            key_of(said.get("session")),
            key_of(said.get("status")),
            np.nan if confidence is None else confidence,
        )
    ordered = [
        texts.get(by_number[number].id) if number in by_number else None for number in range(first, last)
    ]
    return ItemStretch(fixed, postings(ordered, grams=now.model is None))


def _vectors(conn: Connection, agent: str, now: LibraryHead, first: int, last: int) -> Vectors:
    """The vectors of the items numbered from `first` up to but not including `last`, from their rows."""
    matrix = np.zeros((last - first, now.dimensions or 0), dtype=np.float32)
    if now.model is not None and last > first:
        for number, raw in meanings.of_numbers(conn, agent, now.model, first, last):
            matrix[number - first] = np.frombuffer(raw, dtype="<f4")
    return matrix


def _texts(conn: Connection, agent: str, stored: list[StoredItem]) -> dict[str, str]:
    texts = {row.id: row.text for row in stored if row.text is not None}
    return texts | archived_texts(conn, agent, [row for row in stored if row.text is None])


# sealed copies


def seal(conn: Connection, agent: str, now: LibraryHead) -> None:
    """Store a copy of every full stretch that has none; the caller holds the library's lock."""
    layout, whole = layout_of(now), _whole_layout(now)
    sealed = meanings.seals(conn, agent, layout)
    missing = [number for number in range(now.items // BLOCK) if number not in sealed]
    if missing:
        meanings.unseal(conn, agent, keep=(layout, whole))
    for number in missing:
        first, last = number * BLOCK, (number + 1) * BLOCK
        vectors = _vectors(conn, agent, now, first, last)
        data = packed(_read(conn, agent, now, first, last), coded(vectors))
        meanings.seal(conn, agent, layout, number, zlib.crc32(data), data)
        if now.dimensions:
            raw = vectors.astype("<f4").tobytes()
            meanings.seal(conn, agent, whole, number, zlib.crc32(raw), raw)
