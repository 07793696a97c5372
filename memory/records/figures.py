"""What a model's sentence about a text may hold of figures: those that stand in the text, as they stand there."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_APART: Final = re.compile(r"(?<=\d)\s+(?=%|pp\b|bps?\b|r\b)")
_EDGES: Final = "\"'`.,:;!?()[]{}<>*_~\u2026\u00ab\u00bb"
_STRAIGHT: Final = str.maketrans("\u2212\u2013\u2014\u2018\u2019\u201c\u201d", "---''\"\"")
_TEENS: Final = "(?:thir|four|fif|six|seven|eigh|nine)teen"
_TENS: Final = "(?:twen|thir|for|fif|six|seven|eigh|nine)t(?:y|ies)"
_NUMBER: Final = re.compile(
    rf"\b(?:zero|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|{_TEENS}|{_TENS}|hundred|thousand|million"
    r"|billion|dozen|hal(?:f|ves|ved|ving)|thirds?|quarter(?:s|ed)?|(?:four|fif|six|seven|eigh|nin|ten)ths?|twice|thrice"
    r"|(?:doubl|tripl|quadrupl)(?:e|es|ed|ing))s?\b"
)
"""Numbers spelled out; `one` and `second` are said of other things far too often."""


def invented(sentence: str, *sources: str) -> bool:
    """Whether a sentence holds a figure, in digits or in words, that none of the sources holds just so.

    A figure is a whole word with its sign and its unit: of 64.8%, 64.8 is another figure, and so is 0.648.
    """
    known_digits: set[str] = set()
    known_words: set[str] = set()
    for source in sources:
        plain = _plain(source)
        known_digits.update(_figures(plain))
        known_words.update(_NUMBER.findall(plain))
    plain = _plain(sentence)
    return not (known_digits.issuperset(_figures(plain)) and known_words.issuperset(_NUMBER.findall(plain)))


def _plain(text: str) -> str:
    straight = unicodedata.normalize("NFKC", text).casefold().translate(_STRAIGHT)
    return _APART.sub("", straight)


def _figures(plain: str) -> set[str]:
    words = (word.strip(_EDGES).removeprefix("+") for word in plain.split())
    return {word for word in words if any(c.isnumeric() for c in word)}
