"""The ids of heuristics: letters, a hyphen and a number; what this house numbers itself, and what agents cite, is `H-7`.

The one home of that grammar: reading a document, numbering what is new and finding citations in an agent's words all
ask here.
"""

from __future__ import annotations

import re

__all__ = ["ANY_ID", "ITEM_START", "id_of", "ids_cited_in", "is_own_id", "numbers_in"]

ANY_ID = r"[A-Za-z][A-Za-z0-9_]{0,15}-[0-9]{1,9}"
"""An id of any prefix, as a pattern."""
ITEM_START = r"H-[0-9]+[ \t]*\["
"""How an item starts that can only be meant as a heuristic, as a pattern."""

_OWN = re.compile(r"H-[0-9]{1,9}")
_NUMBER = re.compile(r"\bH-([0-9]{1,6})\b")
_CITED = re.compile(r"(?<![A-Za-z0-9_-])H-\d{1,9}(?![A-Za-z0-9_])")


def id_of(number: int) -> str:
    """The id of this number."""
    return f"H-{number}"


def is_own_id(label: str) -> bool:
    """Whether a label is an id such as this house gives, and nothing more."""
    return _OWN.fullmatch(label) is not None


def numbers_in(text: str) -> list[int]:
    """The number of every own id a text mentions, in order; beyond six digits it is a person's own scheme."""
    return [int(number) for number in _NUMBER.findall(text)]


def ids_cited_in(text: str) -> list[str]:
    """The own ids an agent's words cite, in order, repeats included; not those that are part of a longer name."""
    return _CITED.findall(text)
