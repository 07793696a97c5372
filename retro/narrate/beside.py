"""What stands beside a slot: nothing that would make another figure of it, or another one's figure. Pure.

Code fills in a right number; the words around it could still turn its sign, give it another unit, a rate it is not, or
the name of something else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from retro.narrate.slots import SLOT, is_loss

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.narrate.slots import Slots

__all__ = ["foreign_slots", "misused_slots", "sentences"]

_ALTERED: Final = "a slot whose figure is altered"
_DENIED: Final = "a slot whose sign the words deny"
_ANOTHERS: Final = "a figure of another one than the sentence names"

_BOUNDS: Final = re.compile(
    r"\.\.| or (?:above|below)"
)  # of an interval, whose signs stay where the figure's goes
_NAMES: Final = frozenset({"name", "instrument", "venue", "strategy", "side", "role"})
_WORDS: Final = _NAMES | {"evidence", "recommendation"}
_WHOLE: Final = frozenset({"agent", "period", "horizon"})
_SENTENCE: Final = re.compile(r"(?<=[.!?;\u2026])\s+")

# A sign, a letter or a unit: wherever any slot stands.
_BEFORE: Final = re.compile(
    r"[^\s(\"'\u201c\u2018\u2014]$|(?:^|\s)\u2014$|[-\u2013]\s*$|\b(?:minus|negative|plus|less)\s+$",
    re.IGNORECASE,
)
_AFTER: Final = re.compile(
    r"[^\s.,;:!?)\"'\u201d\u2019\u2026\u2014]|\s+(?:times|squared|cubed|fold|percent|per cent)\b",
    re.IGNORECASE,
)

# A unit or a rate: where the slot is a figure and no name.
_UNIT_BEFORE: Final = re.compile(
    r"\b(?:usd\w*|us dollars?|dollars?|euros?|eur|gbp|pounds?|btc|bitcoins?|eth|ethers?|sol)\s+$",
    re.IGNORECASE,
)
_UNIT_AFTER: Final = re.compile(
    r"\s+(?:[A-Z]{2,}|[A-Z](?=\W|$)|(?i:k|m|x|r|mn|mm|bn|bps?|pips?|points?|dollars?|euros?|pounds?|cents?|usd\w*|eur|gbp"
    r"|btc|eth|sol|sats?|gwei|coins?|bitcoins?|ethers?|sigmas?))\b|\s+\{"
)
_RATE: Final = re.compile(
    r"\s+(?:per|each|apiece|every|an?|hourly|daily|weekly|monthly|yearly|annually|annuali[sz]ed)\b",
    re.IGNORECASE,
)
_OWN_RATE: Final = re.compile(
    r"\s+(?:per|a|each|every) (?:resolved )?(?:citation|outcome|trade|decision)\b", re.IGNORECASE
)
_GAIN: Final = re.compile(
    r"\b(?:gain(?:ed|ing|s? of)|won|profit(?:ed|s? of)|rose|grew)(?: by| only| just| about| some| nearly| almost)*\s+$",
    re.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    """The sentences of a text, and what semicolons part."""
    return _SENTENCE.split(text)


def misused_slots(text: str, slots: Slots) -> Iterator[tuple[str, str]]:
    """Kind and detail of everything beside the text's slots that would make another figure of one."""
    for match in SLOT.finditer(text):
        before, after = text[: match.start()], text[match.end() :]
        if (
            _BEFORE.search(before)
            or _AFTER.match(after)
            or (_is_figure(match[1]) and _is_other(match[1], before, after))
        ):
            yield _ALTERED, match[0]
        slot = slots.by_name.get(match[1])
        if slot is not None and _is_denied(before, slot.text):
            yield _DENIED, match[0]
    for sentence in sentences(text):
        references = [reference for name in SLOT.findall(sentence) if (reference := _reference(name))]
        named = {(kind, key) for kind, key, last in references if last == "name"}
        for kind, key, last in references:
            if last not in _NAMES and (kind, key) not in named and kind in {kind for kind, _ in named}:
                yield _ANOTHERS, f"{kind}.{key}.{last}"


def foreign_slots(text: str, position: str) -> list[str]:
    """Slots that hold a figure of another position than the one a text is about."""
    references = [(name, reference) for name in SLOT.findall(text) if (reference := _reference(name))]
    return [
        name
        for name, (kind, key, last) in references
        if kind == "p" and key != position and last not in _NAMES
    ]


def _is_figure(name: str) -> bool:
    return name not in _WHOLE and name.rsplit(".", 1)[-1] not in _WORDS


def _is_other(name: str, before: str, after: str) -> bool:
    """Whether a unit or a rate stands beside a figure that brings its own."""
    if _UNIT_BEFORE.search(before) or _UNIT_AFTER.match(after):
        return True
    return _RATE.match(after) is not None and not (name.endswith(".avg") and _OWN_RATE.match(after))


def _is_denied(before: str, text: str) -> bool:
    """Whether the words before a signed figure say the opposite; a loss that code can tell without its sign is none."""
    if is_loss(before):
        return text.startswith("+") or (text.startswith("-") and _BOUNDS.search(text) is not None)
    return text.startswith("-") and _GAIN.search(before) is not None


def _reference(name: str) -> tuple[str, str, str] | None:
    """The kind, the key and the last word of a slot about one heuristic, position or group."""
    kind, _, remainder = name.partition(".")
    key, _, last = remainder.partition(".")
    return (kind, key, last.rsplit(".", 1)[-1]) if last and kind != "pnl" else None
