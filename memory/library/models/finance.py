"""The default model: all-MiniLM-L6-v2 told what the jargon of a text means, as it knows English but not finance.

A text is read twice: as it stands, and as the other words for what it speaks of (a bear is somebody who bets on a fall).
Both come from the same weights; nothing is trained.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from memory.library.embedder import Vectors, unit
from memory.library.models.centre import own_direction
from memory.library.models.minilm import PLAIN, plain_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.library.models.minilm import OnnxModel

__all__ = ["MODEL", "FinanceModel", "bundled_model", "synonyms"]

MODEL: Final = f"{PLAIN}-finance"
"""The name that stands beside vectors of the default model."""
_WEIGHT: Final = 0.5
"""Of what a text's jargon means, beside the text; from .3 to .7 paraphrases are found alike."""
_MOST: Final = 4
"""Other words that are read of one text."""
_READ: Final = 600
"""Characters of a text whose jargon is looked at: about what the model reads of it."""
_WORD: Final = re.compile(r"[^\W_]+(?:['&-][^\W_]+)*")
_ENDINGS: Final = ("", "'s", "s", "es")


class FinanceModel:
    """A model of sentences and the other words for what a text speaks of; see `Embedder`."""

    def __init__(self, plain: OnnxModel, name: str) -> None:
        self._plain = plain
        self.name = name
        self.dimensions = plain.dimensions

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row a text, of length 1."""
        rows = self._plain.embed_documents(texts).astype(np.float64)
        meant = {place: ", ".join(words) for place, text in enumerate(texts) if (words := synonyms(text))}
        if meant:
            rows[list(meant)] += _WEIGHT * self._plain.embed_documents(list(meant.values()))
        return unit(rows, self.dimensions, len(texts))

    def embed_query(self, text: str) -> Vectors:
        """The vector of what is looked for, less what it has in common with all texts of finance."""
        (row,) = self.embed_documents([text])
        return np.asarray(unit(own_direction(row), self.dimensions, 1)[0])


@cache
def bundled_model() -> FinanceModel:
    """The default model, loaded once; raises as `plain_model` does."""
    return FinanceModel(plain_model(), MODEL)


def synonyms(text: str) -> list[str]:
    """Other expressions for what a text names, in its order, at most 4; none that stands in it."""
    plain = text[:_READ].lower().replace("\u2019", "'")
    others: dict[str, None] = {}
    for expression, group in _named(_WORD.findall(plain)):
        others.update(dict.fromkeys(word for word in group if word != expression and word not in plain))
    return list(others)[:_MOST]


def _named(words: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(expression, its group) of every one that stands in these words, the longest from the left."""
    groups, longest = _groups()
    place = 0
    while place < len(words):
        for size in range(min(longest, len(words) - place), 0, -1):
            expression = _singular(" ".join(words[place : place + size]))
            if expression is not None:
                yield from ((expression, group) for group in groups[expression])
                place += size
                break
        else:
            place += 1


def _singular(spelled: str) -> str | None:
    """The expression that is spelled so, or whose plural or genitive is."""
    groups, _ = _groups()
    stems = (spelled.removesuffix(ending) for ending in _ENDINGS if spelled.endswith(ending))
    return next((stem for stem in stems if stem in groups), None)


@cache
def _groups() -> tuple[dict[str, list[tuple[str, ...]]], int]:
    """Expression -> the groups it stands in, and the most words that one has."""
    lines = Path(__file__).with_name("finance_terms.txt").read_text(encoding="utf-8").splitlines()
    groups: dict[str, list[tuple[str, ...]]] = {}
    for line in lines:
        group = tuple(part.strip() for part in line.split("|"))
        if not line.startswith("#"):
            for expression in group:
                groups.setdefault(" ".join(_WORD.findall(expression)), []).append(group)
    return groups, max(expression.count(" ") + 1 for expression in groups)
