"""The operations of the grammar, one function each: every one words an amendment of a document as it stands.

What they word is a proposal like any other: `playbook.edit` checks it again when it is carried out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from playbook.amendment import Amendment, Grounds, Op
from playbook.confidence import CANDIDATE
from playbook.document import Playbook, find, next_number, parse, standing
from playbook.errors import DuplicateHeuristic, NotPermitted
from playbook.heuristic import Heuristic, Status, compose, with_confidence, with_entry, with_text
from playbook.ids import id_of
from playbook.plain import literal, plain

if TYPE_CHECKING:
    from datetime import date

__all__ = [
    "add",
    "demote",
    "demote_label",
    "merge",
    "promote",
    "retire",
    "revise",
    "set_confidence",
]


def _words(heuristic: str, text: str) -> str:
    words = plain(text)
    if not words:
        raise NotPermitted(heuristic, "a heuristic needs a text that can be seen")
    return words


def _fresh(playbook: Playbook, heuristic: str | None) -> tuple[str, str]:
    """An id that is free, and the bullet the document uses."""
    heuristic = heuristic or id_of(next_number(playbook))
    if find(playbook, heuristic):
        raise DuplicateHeuristic(heuristic, "is in the playbook already")
    return heuristic, playbook.heuristics[0].head.raw[0] if playbook.heuristics else "-"


def add(
    playbook: Playbook,
    text: str,
    grounds: Grounds,
    *,
    heuristic: str | None = None,
    tags: tuple[str, ...] = (),
    since: date | None = None,
    confidence: float = CANDIDATE,
    evidence: str = "",
) -> Amendment:
    """A new candidate, at confidence 0.35 unless told; the next free id unless one is given. `evidence` stands beside it."""
    heuristic, bullet = _fresh(playbook, heuristic)
    words = _words(heuristic, text)
    line = compose(
        heuristic,
        confidence,
        words,
        status="candidate",
        tags=tags,
        since=since,
        bullet=bullet,
        evidence=evidence,
    )
    return Amendment("add", heuristic, None, line, grounds)


def demote_label(
    playbook: Playbook,
    label: str,
    text: str,
    grounds: Grounds,
    *,
    heuristic: str | None = None,
    confidence: float = CANDIDATE,
    since: date | None = None,
    evidence: str = "",
) -> Amendment:
    """Demote a label that no heuristic claims: it enters the playbook as a demoted one, so that the no is written down."""
    heuristic, bullet = _fresh(playbook, heuristic)
    tags = () if heuristic == label else (label,)
    words = _words(heuristic, text)
    line = compose(
        heuristic,
        confidence,
        words,
        status="demoted",
        tags=tags,
        since=since,
        bullet=bullet,
        evidence=evidence,
    )
    return Amendment("demote", label, None, line, grounds)


def revise(
    playbook: Playbook, heuristic: str, text: str, grounds: Grounds, *, since: date | None = None
) -> Amendment:
    """Other words for a heuristic; `since`, when given, is the day from which its evidence counts anew."""
    current = standing(playbook, heuristic)
    new = with_text(current.head, _words(heuristic, text))
    if since:
        new = _with(new, "since", since.isoformat())
    return Amendment("revise", heuristic, current.head.raw, new, grounds)


def set_confidence(playbook: Playbook, heuristic: str, confidence: float, grounds: Grounds) -> Amendment:
    """Another confidence, 0 to 1, written to two digits."""
    current = standing(playbook, heuristic)
    return Amendment("set_confidence", heuristic, current.head.raw, _rated(current, confidence), grounds)


def demote(
    playbook: Playbook, heuristic: str, grounds: Grounds, *, confidence: float | None = None
) -> Amendment:
    """Kept, not to be followed; the confidence may move with it."""
    return _restate("demote", standing(playbook, heuristic), "demoted", confidence, grounds)


def promote(
    playbook: Playbook, heuristic: str, grounds: Grounds, *, confidence: float | None = None
) -> Amendment:
    """To be followed; the confidence may move with it."""
    return _restate("promote", standing(playbook, heuristic), "active", confidence, grounds)


def retire(playbook: Playbook, heuristic: str, reason: str, grounds: Grounds) -> Amendment:
    """Moved to `## Retired`, with the reason."""
    current = standing(playbook, heuristic)
    return Amendment("retire", heuristic, current.head.raw, _retired(current, reason), grounds)


def merge(playbook: Playbook, survivor: str, absorbed: str, grounds: Grounds) -> Amendment:
    """The survivor takes over the labels of the absorbed one, which is retired with that reason."""
    first, second = standing(playbook, survivor), standing(playbook, absorbed)
    if first.id == second.id:
        raise NotPermitted(survivor, "cannot be merged with itself")
    tags = tuple(dict.fromkeys((*first.tags, *second.tags)))
    new = (
        _with(first.head.raw, "tags", ", ".join(map(literal, tags))) if tags != first.tags else first.head.raw
    )
    old = f"{first.head.raw}\n{second.head.raw}"
    return Amendment("merge", survivor, old, f"{new}\n{_retired(second, f'merged into {survivor}')}", grounds)


def _with(raw: str, key: str, value: str) -> str:
    return with_entry(parse(raw).heuristics[0].head, key, value)


def _retired(current: Heuristic, reason: str) -> str:
    line = _with(current.head.raw, "status", "retired")
    words = plain(reason)
    return _with(line, "reason", literal(words)) if words else line


def _rated(current: Heuristic, confidence: float) -> str:
    if not 0 <= confidence <= 1:
        raise NotPermitted(current.id, "a confidence lies between 0 and 1")
    return with_confidence(current.head, confidence)


def _restate(
    op: Op, current: Heuristic, status: Status, confidence: float | None, grounds: Grounds
) -> Amendment:
    line = current.head.raw if confidence is None else _rated(current, confidence)
    return Amendment(op, current.id, current.head.raw, _with(line, "status", status), grounds)
