"""What an address is seen through, as one types it and as the address has it: the words of a list, an instant. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = [
    "address_at",
    "address_of_part",
    "address_with",
    "instant_of",
    "path_of",
    "whole_address",
    "words_of",
]

_WORDS: Final = "q"
_INSTANT: Final = "as-of"
_OF_THE_LIST: Final = frozenset({_WORDS, "after"})
"""What says how far and through which words a list is seen: of another one it says nothing."""
_OF_THE_PART: Final = frozenset({"from", "to"})


def path_of(address: str) -> str:
    """The address without what it is seen through."""
    return address.partition("?")[0]


def words_of(address: str) -> str:
    """The words an address is filtered by."""
    return dict(parse_qsl(address.partition("?")[2])).get(_WORDS, "")


def address_with(address: str, words: str) -> str:
    """The address of the same list, from its first row on, seen through these words; of none: the whole list."""
    return _changed(address, _OF_THE_LIST, ((_WORDS, words),))


def instant_of(address: str) -> str:
    """The instant as of which an address is asked, as it was typed; "": now."""
    return dict(parse_qsl(address.partition("?")[2])).get(_INSTANT, "")


def address_at(address: str, instant: str) -> str:
    """The same address as of an instant, a list from its first row on; of none: now."""
    return _changed(address, {_INSTANT, "after"}, ((_INSTANT, instant),))


def address_of_part(address: str, start: str, end: str) -> str:
    """The part of a path between two instants."""
    return _changed(address, _OF_THE_PART, (("from", start), ("to", end)))


def whole_address(address: str) -> str | None:
    """The whole of what the address shows a part of; None where it shows all of it."""
    whole = _changed(address, _OF_THE_PART, ())
    return None if whole == address else whole


def _changed(address: str, without: Collection[str], pairs: tuple[tuple[str, str], ...]) -> str:
    path, _, query = address.partition("?")
    rest = [(key, value) for key, value in parse_qsl(query) if key not in without]
    rest += [(key, value.strip()) for key, value in pairs if value.strip()]
    return f"{path}?{urlencode(rest)}" if rest else path
