"""A library as columns: what a search computes on, kept in step with the store.

The head of a library names by digest all that was added and changed, so columns are used only when they are that
content, or a beginning of it; what was rolled back, forgotten or written by another process is noticed. Copies of full
stretches are sealed in the database, so that a cold search reads a few large values instead of every row.
"""

from __future__ import annotations

import hashlib
import io
import zlib
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import msgspec
import numpy as np
import numpy.typing as npt

from memory.library.layers.preset import LAYERS
from memory.library.terms import Postings, TermIndex, merged, postings
from memory.library.texts import archived_texts
from memory.store import library as rows
from memory.store import vectors as meanings

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from memory.library.embedder import Vectors
    from memory.store.library import LibraryHead, StoredItem

__all__ = ["BLOCK", "LEXICAL", "ItemColumns", "columns", "drop_columns", "key_of", "layout_of", "seal"]

BLOCK: Final = 1024
"""Items of a sealed stretch."""
LEXICAL: Final = "lexical"
"""The model of a library that has no vectors: words and pieces of words."""
NEVER: Final = 2**63 - 1
_VERSION: Final = 1
_MOST_LIBRARIES: Final = 32
_MOST_ADDED: Final = 4 * BLOCK
_MOST_PARTS: Final = 12

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_FIXED: Final = np.dtype(
    [
        ("at", "<i8"), ("collection", "<i8"), ("symbol", "<i8"), ("session", "<i8"), ("status", "<i8"),
        ("confidence", "<f8"),
    ]
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class ItemColumns:
    """n numbers of a library, every array of shape (n,). `at` is `NEVER` where the item was forgotten.

    `fixed`: at, collection, symbol, session, status (codes of `key_of`, 0 for none) and confidence (NaN for none).
    `layer` is -1 outside of the layers; `importance` is NaN where no step has begun it. `matrices`: (first number,
    float32 unit rows; zeros where there is no vector). `words`: postings by stretch.
    """

    fixed: npt.NDArray[np.void]
    archived: npt.NDArray[np.bool_]
    layer: npt.NDArray[np.int8]
    importance: Floats
    recency: Floats
    matrices: tuple[tuple[int, Vectors], ...]
    words: TermIndex
    memo: dict[Any, Any] = field(default_factory=dict)
    """What has been read of these items beside the columns; it is dropped with them."""

    def __len__(self) -> int:
        return len(self.fixed)

    def vector(self, number: int) -> Vectors:
        """The vector of the item with this number."""
        first, matrix = next(pair for pair in reversed(self.matrices) if pair[0] <= number)
        return np.asarray(matrix[number - first])


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Consecutive items in the form in which they are sealed."""

    fixed: npt.NDArray[np.void]
    vectors: Vectors
    words: Postings


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


def columns(conn: Connection, agent: str) -> ItemColumns:
    """The agent's library as columns, exactly as far as this connection sees it."""
    now = rows.head(conn, agent)
    with _lock:
        cache = _caches.setdefault(conn.engine, OrderedDict())
        head, items = cache.get(agent, (None, None))
    if head is not None and items is not None and _reads_alike(head, now):
        if len(items.words) > _MOST_PARTS:  # whoever asks a second time asks often
            items = replace(items, words=merged(items.words))
            with _lock:
                cache[agent] = (head, items)
        return items
    if head is not None and items is not None and _begins(conn, agent, head, now):
        if now.items > head.items:
            items = _joined(items, _read(conn, agent, now, head.items, now.items), head.items)
    else:
        items = _built(conn, agent, now)
    items = _with_standing(conn, agent, items)
    with _lock:
        cache[agent] = (now, items)
        cache.move_to_end(agent)
        while len(cache) > _MOST_LIBRARIES:
            cache.popitem(last=False)
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
    parts: list[tuple[int, _Stretch]] = []
    reached = 0
    width = now.dimensions or 0
    matrix = np.zeros((now.items, width), dtype=np.float32)
    for number, crc, data in meanings.sealed(conn, agent, layout_of(now)):
        first = number * BLOCK
        if first < reached or first + BLOCK > now.items or zlib.crc32(data) != crc:
            continue
        if first > reached:
            parts.append((reached, _read(conn, agent, now, reached, first)))
        parts.append((first, _unpacked(data, width)))
        reached = first + BLOCK
    if reached < now.items:
        parts.append((reached, _read(conn, agent, now, reached, now.items)))
    for first, part in parts:
        matrix[first : first + len(part.fixed)] = part.vectors
    fixed = [part.fixed for _, part in parts]
    return _standing_apart(
        np.concatenate(fixed) if fixed else np.empty(0, dtype=_FIXED),
        ((0, matrix),),
        tuple((first, part.words) for first, part in parts),
    )


def _joined(items: ItemColumns, part: _Stretch, first: int) -> ItemColumns:
    matrices = (*items.matrices, (first, part.vectors))
    if len(matrices) > _MOST_PARTS:
        matrices = ((0, np.concatenate([matrix for _, matrix in matrices])),)
    fixed = np.concatenate([items.fixed, part.fixed])
    return _standing_apart(fixed, matrices, (*items.words, (first, part.words)))


def _standing_apart(
    fixed: npt.NDArray[np.void], matrices: tuple[tuple[int, Vectors], ...], words: TermIndex
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


def _read(conn: Connection, agent: str, now: LibraryHead, first: int, last: int) -> _Stretch:
    """The items numbered from `first` up to but not including `last`, from their rows."""
    by_number = rows.numbered(conn, agent, range(first, last))
    texts = _texts(conn, agent, list(by_number.values()))
    by_id = (
        meanings.of_ids(conn, agent, now.model, [row.id for row in by_number.values()]) if now.model else {}
    )
    fixed = np.zeros(last - first, dtype=_FIXED)
    fixed["at"] = NEVER
    matrix = np.zeros((last - first, now.dimensions or 0), dtype=np.float32)
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
        if row.id in by_id:
            matrix[number - first] = np.frombuffer(by_id[row.id], dtype="<f4")
    ordered = [
        texts.get(by_number[number].id) if number in by_number else None for number in range(first, last)
    ]
    return _Stretch(fixed, matrix, postings(ordered, grams=now.model is None))


def _texts(conn: Connection, agent: str, stored: list[StoredItem]) -> dict[str, str]:
    texts = {row.id: row.text for row in stored if row.text is not None}
    return texts | archived_texts(conn, agent, [row for row in stored if row.text is None])


# sealed copies


def seal(conn: Connection, agent: str, now: LibraryHead) -> None:
    """Store a copy of every full stretch that has none; the caller holds the library's lock."""
    layout = layout_of(now)
    sealed = meanings.seals(conn, agent, layout)
    missing = [number for number in range(now.items // BLOCK) if number not in sealed]
    if missing:
        meanings.unseal(conn, agent, keep=layout)
    for number in missing:
        data = _packed(_read(conn, agent, now, number * BLOCK, (number + 1) * BLOCK))
        meanings.seal(conn, agent, layout, number, zlib.crc32(data), data)


def _packed(part: _Stretch) -> bytes:
    """Fixed columns, vectors, then the postings, little-endian."""
    words = part.words
    out = io.BytesIO()
    out.write(np.uint64(len(words.terms)).astype("<u8").tobytes())
    out.write(part.fixed.tobytes())
    out.write(part.vectors.astype("<f4").tobytes())
    for array, kind in (
        (words.lengths, "<u4"),
        (words.terms, "<u4"),
        (words.rows, "<u4"),
        (words.counts, "<u2"),
    ):
        out.write(array.astype(kind).tobytes())
    return out.getvalue()


def _unpacked(data: bytes, width: int) -> _Stretch:
    size = int(np.frombuffer(data, "<u8", 1)[0])
    place = 8

    def take(kind: Any, count: int) -> npt.NDArray[Any]:
        nonlocal place
        array = np.frombuffer(data, kind, count, place)
        place += array.nbytes
        return array

    fixed = take(_FIXED, BLOCK)
    matrix = take("<f4", BLOCK * width).reshape(BLOCK, width)
    lengths, terms, places = take("<u4", BLOCK), take("<u4", size), take("<u4", size)
    return _Stretch(fixed, matrix, Postings(terms, places, take("<u2", size), lengths))
