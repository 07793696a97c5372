"""Stretches of a library in the form in which they are sealed, and vectors in a quarter of their bytes.

What a cold search reads first are codes: each component of a vector as a whole number from -127 to 127 times the vector's
own scale. How far the scale and the codes lie from the vector is kept beside them, so that every similarity by codes comes
with the most that it can be wrong (Cauchy-Schwarz), and the best of an exact search are always among those it keeps.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from memory.library.terms import Postings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.library.embedder import Vectors

__all__ = ["BLOCK", "FIXED", "Codes", "ItemStretch", "coded", "joined_codes", "packed", "unpacked"]

BLOCK: Final = 1024
"""Items of a sealed stretch."""
FIXED: Final = np.dtype(
    [
        ("at", "<i8"), ("collection", "<i8"), ("symbol", "<i8"), ("session", "<i8"), ("status", "<i8"),
        ("confidence", "<f8"),
    ]
)  # fmt: skip
_LARGEST: Final = 127.0


@dataclass(frozen=True, slots=True, eq=False)
class ItemStretch:
    """Consecutive items: what is fixed of each, and the postings of their texts."""

    fixed: npt.NDArray[np.void]
    words: Postings


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """n vectors of d components, nearly: `values` (n, d) times `scale` (n,); `doubt` (n,) is the length of the rest."""

    values: npt.NDArray[np.int8]
    scale: npt.NDArray[np.float32]
    doubt: npt.NDArray[np.float32]

    def similarities(self, query: Vectors) -> npt.NDArray[np.float64]:
        """The products with `query` (d,), shape (n,), each right to its `doubt` times the length of the query."""
        products = np.empty(len(self.values), dtype=np.float32)
        for first in range(0, len(self.values), BLOCK):  # a block of floats stays in the processor's cache
            part = self.values[first : first + BLOCK].astype(np.float32)
            np.dot(part, query, out=products[first : first + BLOCK])
        return np.multiply(products, self.scale, dtype=np.float64)


def coded(vectors: Vectors) -> Codes:
    """The codes of vectors (n, d); a row of zeros has zeros and no doubt."""
    exact = vectors.astype(np.float64)
    scale = (np.abs(exact).max(axis=1, initial=0.0) / _LARGEST).astype(np.float32)
    scale[scale == 0] = 1.0
    steps = scale.astype(np.float64)[:, None]
    values = np.rint(exact / steps).clip(-_LARGEST, _LARGEST)
    rest = exact - values * steps
    doubt = np.sqrt((rest * rest).sum(axis=1)).astype(np.float32)
    upward = np.where(doubt > 0, np.nextafter(doubt, np.float32(np.inf)), doubt)
    return Codes(values.astype(np.int8), scale, upward)


def joined_codes(parts: Sequence[Codes]) -> Codes:
    """Codes one after another as one."""
    return Codes(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.scale for part in parts]),
        np.concatenate([part.doubt for part in parts]),
    )


def packed(part: ItemStretch, codes: Codes) -> bytes:
    """A full stretch: how many postings, fixed columns, codes, then the postings, little-endian."""
    words, out = part.words, io.BytesIO()
    out.write(np.uint64(len(words.terms)).astype("<u8").tobytes())
    out.write(part.fixed.tobytes())
    for array, kind in (
        (codes.scale, "<f4"),
        (codes.doubt, "<f4"),
        (codes.values, "|i1"),
        (words.lengths, "<u4"),
        (words.terms, "<u4"),
        (words.rows, "<u4"),
        (words.counts, "<u2"),
    ):
        out.write(array.astype(kind).tobytes())
    return out.getvalue()


def unpacked(data: bytes, width: int) -> tuple[ItemStretch, Codes]:
    """What `packed` made of a stretch whose vectors have `width` components."""
    size = int(np.frombuffer(data, "<u8", 1)[0])
    place = 8

    def take(kind: Any, count: int) -> npt.NDArray[Any]:
        nonlocal place
        array = np.frombuffer(data, kind, count, place)
        place += array.nbytes
        return array

    fixed = take(FIXED, BLOCK)
    scale, doubt, values = take("<f4", BLOCK), take("<f4", BLOCK), take("|i1", BLOCK * width)
    lengths, terms, places = take("<u4", BLOCK), take("<u4", size), take("<u4", size)
    words = Postings(terms, places, take("<u2", size), lengths)
    return ItemStretch(fixed, words), Codes(values.reshape(BLOCK, width), scale, doubt)
