"""WordPiece as uncased BERT has it: what a sentence model of that family reads instead of text.

Source: Devlin et al. (2019), BERT, and the reference tokenizer published with it.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

__all__ = ["Vocabulary", "bundled", "pieces", "read_vocabulary"]

Vocabulary = dict[str, int]

_LONGEST_WORD: Final = 100
_CHINESE: Final = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
_WHITE: Final = " \t\n\r"


@cache
def bundled() -> Vocabulary:
    """The vocabulary of bert-base-uncased, 30,522 pieces: piece -> id."""
    return read_vocabulary(Path(__file__).with_name("bert_uncased_vocabulary.txt"))


def read_vocabulary(path: Path) -> Vocabulary:
    """A vocabulary file: one piece a line, the number of the line its id."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return {piece: number for number, piece in enumerate(lines) if piece}


def pieces(text: str, most: int, vocabulary: Vocabulary | None = None) -> list[int]:
    """The ids of a text between [CLS] and [SEP], cut so that there are at most `most` of them."""
    ids_of_pieces = bundled() if vocabulary is None else vocabulary
    ids = [ids_of_pieces["[CLS]"]]
    for word in _words(text):
        ids += _pieces_of(word) if vocabulary is None else _split(word, ids_of_pieces)
        if len(ids) >= most:
            break
    return [*ids[: most - 1], ids_of_pieces["[SEP]"]]


@lru_cache(maxsize=50_000)
def _pieces_of(word: str) -> tuple[int, ...]:
    return _split(word, bundled())


def _split(word: str, vocabulary: Vocabulary) -> tuple[int, ...]:
    """The longest pieces from the left; a word that has none as a whole is one unknown piece."""
    if len(word) > _LONGEST_WORD:
        return (vocabulary["[UNK]"],)
    ids, start = [], 0
    while start < len(word):
        prefix = "##" if start else ""
        for stop in range(len(word), start, -1):
            number = vocabulary.get(prefix + word[start:stop])
            if number is not None:
                ids.append(number)
                start = stop
                break
        else:
            return (vocabulary["[UNK]"],)
    return tuple(ids)


def _words(text: str) -> list[str]:
    """Words and single signs of punctuation, lower case, without accents; Chinese characters one by one."""
    clean = []
    for char in text:
        code = ord(char)
        if code in (0, 0xFFFD) or _is_control(char):
            continue
        if char in _WHITE or unicodedata.category(char) == "Zs":
            clean.append(" ")
        elif any(low <= code <= high for low, high in _CHINESE):
            clean.append(f" {char} ")
        else:
            clean.append(char)
    bare = unicodedata.normalize("NFD", "".join(clean))
    plain = "".join(char for char in bare if unicodedata.category(char) != "Mn").lower()
    return "".join(f" {char} " if _is_punctuation(char) else char for char in plain).split()


def _is_control(char: str) -> bool:
    return char not in "\t\n\r" and unicodedata.category(char) in ("Cc", "Cf", "Co")


def _is_punctuation(char: str) -> bool:
    code = ord(char)
    ascii_sign = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    return ascii_sign or unicodedata.category(char).startswith("P")
