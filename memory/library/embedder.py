"""What turns texts into vectors: the protocol every model is reached by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from memory.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.library.item import LibraryItem

__all__ = ["Embedded", "Embedder", "Vectors", "embed", "embed_texts", "unit"]

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """A model of sentences. `name` stands beside every vector it makes: vectors of two names are never compared."""

    @property
    def name(self) -> str:
        """Which model, which weights, which way of pooling."""

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, dimensions): one row a text, the same whatever other texts it comes with."""

    def embed_query(self, text: str) -> Vectors:
        """Shape (dimensions,): what is looked for."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of one model, made before the transaction that stores them: (agent, id) -> float32 bytes of length 1."""

    model: str
    dimensions: int
    vectors: Mapping[tuple[str, str], bytes] = field(default_factory=dict)


def embed(embedder: Embedder, items: Sequence[LibraryItem]) -> Embedded:
    """The vectors of these items' texts. Takes its time: call it outside of a transaction."""
    return embed_texts(embedder, {(item.agent, item.id): item.text for item in items})


def embed_texts(embedder: Embedder, texts: Mapping[tuple[str, str], str]) -> Embedded:
    """The vectors of texts that will be items, by (agent, id)."""
    rows = unit(embedder.embed_documents(list(texts.values())), embedder.dimensions, len(texts))
    by_key = {key: row.astype("<f4").tobytes() for key, row in zip(texts, rows, strict=True)}
    return Embedded(embedder.name, embedder.dimensions, by_key)


def unit(vectors: npt.NDArray[Any], dimensions: int, count: int) -> Vectors:
    """The rows at length 1 (a row of zeros stays one); `RefusedError` for another shape, or a value that is none."""
    rows = np.asarray(vectors, dtype=np.float64).reshape(count, -1) if count else np.empty((0, dimensions))
    if rows.shape != (count, dimensions):
        raise RefusedError(f"the model gave vectors of shape {rows.shape}, not ({count}, {dimensions})")
    if not np.isfinite(rows).all():
        raise RefusedError("the model gave a vector with a value that is no number")
    lengths = np.sqrt(np.add.reduce(rows * rows, axis=1, keepdims=True))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)
