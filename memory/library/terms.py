"""Words and pieces of words, and how well a text matches them: BM25.

Source: Robertson and Zaragoza (2009), The Probabilistic Relevance Framework; k1 = 1.2, b = 0.75, and the idf that is
never negative, ln(1 + (N - df + .5) / (df + .5)).
"""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Postings", "TermIndex", "bm25", "merged", "postings", "terms_of"]

K1: Final = 1.2
B: Final = 0.75
COMMON: Final = 0.5
LEAST_COMMON: Final = 32
"""A term that more than half of the visible texts hold, and more than 32, says nothing and is passed over."""
_WORD: Final = re.compile(r"[^\W_]+(?:[.,'][^\W_]+)*")
_GRAM: Final = 4

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Postings:
    """Which of n texts hold which terms: `terms` sorted, `rows` 0..n-1 beside them, `counts` how often; `lengths` (n,)."""

    terms: npt.NDArray[np.uint32]
    rows: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.uint16]
    lengths: npt.NDArray[np.uint32]


TermIndex = tuple[tuple[int, Postings], ...]
"""Postings of stretches of a library, each with the number of its first text."""


def terms_of(text: str, *, grams: bool) -> list[int]:
    """The terms of a text as 32-bit hashes: its words and, with `grams`, each word's stretches of 4 characters."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    words = _WORD.findall(plain)
    spelled = [zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in words]
    if grams:
        for word in words:
            edged = f"#{word}#"
            starts = range(max(1, len(edged) - _GRAM + 1))
            spelled += [
                zlib.crc32(edged[at : at + _GRAM].encode("utf-8", "surrogatepass"), 1) for at in starts
            ]
    return spelled


def postings(texts: Sequence[str | None], *, grams: bool) -> Postings:
    """The postings of these texts; None stands for one that is gone."""
    terms: list[int] = []
    rows: list[int] = []
    counts: list[int] = []
    lengths = np.zeros(len(texts), dtype=np.uint32)
    for row, text in enumerate(texts):
        own = Counter(terms_of(text, grams=grams)) if text is not None else Counter[int]()
        terms += own.keys()
        rows += [row] * len(own)
        counts += [min(count, 65_535) for count in own.values()]
        lengths[row] = own.total()
    keys = np.array(terms, dtype=np.uint32)
    places = np.array(rows, dtype=np.uint32)
    order = np.lexsort((places, keys))
    return Postings(keys[order], places[order], np.array(counts, dtype=np.uint16)[order], lengths)


def bm25(query: Iterable[int], indices: Sequence[TermIndex], visible: Sequence[Flags]) -> list[Floats]:
    """Each text's BM25 as a share, 0 to 1, of the most any text could have; one array per library.

    The most is what a text would have that repeated every term of the query for ever: sum of idf * (k1 + 1). Frequencies and lengths are those of the visible texts of all of them together: what a reader may not see moves no
    score.
    """
    lengths = [_lengths(index, len(flags)) for index, flags in zip(indices, visible, strict=True)]
    size = sum(int(np.count_nonzero(flags)) for flags in visible)
    total = sum(int(length[flags].sum()) for length, flags in zip(lengths, visible, strict=True))
    scores = [np.zeros(len(flags)) for flags in visible]
    if not size or not total:
        return scores
    mean = total / size
    most = 0.0
    every = [bool(flags.all()) for flags in visible]
    ceiling = max(COMMON * size, LEAST_COMMON)
    for term, weight in sorted(Counter(query).items()):
        if all(every) and sum(_frequency(index, term) for index in indices) > ceiling:
            continue
        hits = [
            _hits(index, term, None if whole else flags)
            for index, flags, whole in zip(indices, visible, every, strict=True)
        ]
        frequency = sum(len(rows) for rows, _ in hits)
        if frequency > ceiling:
            continue
        idf = math.log(1.0 + (size - frequency + 0.5) / (frequency + 0.5))
        most += weight * idf * (K1 + 1.0)
        for score, length, (rows, counts) in zip(scores, lengths, hits, strict=True):
            norm = K1 * (1.0 - B + B * (length[rows] / mean))
            score[rows] += weight * idf * counts * (K1 + 1.0) / (counts + norm)
    return [score / most for score in scores] if most > 0 else scores


def _lengths(index: TermIndex, size: int) -> Floats:
    lengths = np.zeros(size)
    for first, part in index:
        lengths[first : first + len(part.lengths)] = part.lengths
    return lengths


def _places(part: Postings, term: int) -> tuple[int, int]:
    """Where the postings of a term begin and end."""
    wanted = np.uint32(term)
    start, stop = part.terms.searchsorted(wanted, side="left"), part.terms.searchsorted(wanted, side="right")
    return int(start), int(stop)


def _frequency(index: TermIndex, term: int) -> int:
    """How many texts hold the term, whoever may see them."""
    return sum(stop - start for start, stop in (_places(part, term) for _, part in index))


def _hits(
    index: TermIndex, term: int, visible: Flags | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint16]]:
    """(the visible texts that hold the term, how often each does); None: all are visible."""
    rows, counts = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.uint16)]
    for first, part in index:
        start, stop = _places(part, term)
        if stop > start:
            rows.append(part.rows[start:stop].astype(np.int64) + first)
            counts.append(part.counts[start:stop])
    held, often = np.concatenate(rows), np.concatenate(counts)
    if visible is None:
        return held, often
    mine = visible[held]
    return held[mine], often[mine]


def merged(index: TermIndex) -> TermIndex:
    """The same postings as one stretch: what is searched often is sorted once."""
    if len(index) < 2:
        return index
    base = index[0][0]
    terms = np.concatenate([part.terms for _, part in index])
    rows = np.concatenate([part.rows + np.uint32(first - base) for first, part in index])
    counts = np.concatenate([part.counts for _, part in index])
    order = np.argsort(terms, kind="stable")
    lengths = np.concatenate([part.lengths for _, part in index])
    return ((base, Postings(terms[order], rows[order], counts[order], lengths)),)
