"""The filter of a list, as one types it and as its address has it. Pure."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

__all__ = ["address_with", "words_of"]

_WORDS = "q"
_OF_THE_LIST = frozenset({_WORDS, "after"})
"""What says how far and through which words a list is seen: of another one it says nothing."""


def words_of(address: str) -> str:
    """The words an address is filtered by."""
    return dict(parse_qsl(address.partition("?")[2])).get(_WORDS, "")


def address_with(address: str, words: str) -> str:
    """The address of the same list, from its first row on, seen through these words; of none: the whole list."""
    path, _, query = address.partition("?")
    pairs = [(key, value) for key, value in parse_qsl(query) if key not in _OF_THE_LIST]
    if words.strip():
        pairs.append((_WORDS, words.strip()))
    return f"{path}?{urlencode(pairs)}" if pairs else path
