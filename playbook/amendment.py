"""What may be changed in a playbook, item by item: a closed grammar, never a rewrite.

An amendment says which heuristic, the line it was written against and the line it wants, on what evidence, what would
falsify it, and who proposed it. Only the item's head (bullet to braces) is a "line" here; notes below it stay.
`old` is None for a heuristic that is not in the document yet. A merge names two, the survivor above the absorbed one.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from playbook.confidence import CANDIDATE
from playbook.document import Playbook, find, parse
from playbook.errors import DuplicateHeuristic, NotPermitted, ProposalError, UnknownHeuristic
from playbook.heuristic import Heuristic, Status, compose, with_confidence, with_entry, with_text
from playbook.plain import literal, plain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

__all__ = [
    "OPS",
    "Amendment",
    "Grounds",
    "Op",
    "Origin",
    "add",
    "demote",
    "demote_label",
    "from_json",
    "merge",
    "next_id",
    "promote",
    "retire",
    "revise",
    "set_confidence",
    "standing",
    "to_json",
]

Op = Literal["add", "revise", "set_confidence", "demote", "promote", "retire", "merge"]
Origin = Literal["audit", "model"]
OPS: tuple[Op, ...] = get_args(Op)

_MENTION = re.compile(r"\bH-([0-9]{1,6})\b")


@dataclass(frozen=True, slots=True)
class Grounds:
    """Why: the evidence, what would falsify the amendment, and who proposed it (`audit` is code, `model` words)."""

    evidence: Mapping[str, Any] = field(default_factory=dict)
    falsified_by: str = ""
    origin: Origin = "audit"


@dataclass(frozen=True, slots=True)
class Amendment:
    """One change to one heuristic (a merge: two), with its grounds."""

    op: Op
    heuristic: str
    old: str | None
    new: str
    grounds: Grounds

    @property
    def id(self) -> str:
        """Hash of what is proposed, whatever the evidence: a no stays a no while citations trickle in.

        So figures are left out (of `set_confidence` only the direction counts), and the number a new heuristic gets.
        """
        content = json.dumps([self.op, *_content(self)], ensure_ascii=True)
        return hashlib.sha256(content.encode("ascii")).hexdigest()[:16]

    @property
    def resolved(self) -> int:
        """How many resolved citations it rests on."""
        evidence = self.grounds.evidence
        count = evidence.get("resolved", evidence.get("its_resolved"))
        return min(count, 10**9 - 1) if isinstance(count, int) and count > 0 else 0


def _content(amendment: Amendment) -> list[str]:
    new = parse(amendment.new).heuristics
    if amendment.old is None or not new:
        is_add = amendment.op == "add" and bool(new)
        return [new[0].text, *new[0].tags] if is_add else [amendment.heuristic]
    old = parse(amendment.old).heuristics
    content = [amendment.heuristic, *(with_confidence(heuristic.head, 0) for heuristic in old)]
    if amendment.op == "revise":
        content.append(new[0].text)
    if amendment.op == "set_confidence" and old:
        content.append("up" if (new[0].confidence or 0) > (old[0].confidence or 0) else "down")
    return content


def to_json(amendment: Amendment) -> dict[str, Any]:
    """The proposal as the contract shows it."""
    return {
        "id": amendment.id,
        "op": amendment.op,
        "heuristic": amendment.heuristic,
        "old": amendment.old,
        "new": amendment.new,
        "evidence": dict(amendment.grounds.evidence),
        "falsified_by": amendment.grounds.falsified_by,
        "origin": amendment.grounds.origin,
    }


def from_json(proposal: object) -> Amendment:
    """Read a proposal back; the id is computed, never believed. Raises ProposalError."""
    if not isinstance(proposal, dict):
        raise ProposalError("a proposal is an object")
    known_fields = {"id", "op", "heuristic", "old", "new", "evidence", "falsified_by", "origin"}
    if unknown := sorted(map(str, proposal.keys() - known_fields)):
        raise ProposalError(f"unknown field {plain(unknown[0], 40)!r} in a proposal")
    fields: dict[str, Any] = {"old": None, "evidence": {}, "falsified_by": "", "origin": "audit"} | proposal
    for name in ("op", "heuristic", "new", "falsified_by", "origin"):
        if not isinstance(fields.get(name), str):
            raise ProposalError(f"a proposal's {name} is a text")
    if fields["op"] not in OPS:
        raise ProposalError(f"unknown operation {plain(fields['op'], 40)!r}; known are {', '.join(OPS)}")
    if fields["origin"] not in get_args(Origin):
        raise ProposalError(f"unknown origin {plain(fields['origin'], 40)!r}; known are audit and model")
    if not isinstance(fields["old"], str | None) or not isinstance(fields["evidence"], dict):
        raise ProposalError("a proposal's old is a text or null, its evidence an object")
    grounds = Grounds(fields["evidence"], fields["falsified_by"], fields["origin"])
    return Amendment(fields["op"], fields["heuristic"], fields["old"], fields["new"], grounds)


def standing(playbook: Playbook, heuristic: str) -> Heuristic:
    """The one heuristic of this id. Raises UnknownHeuristic, or DuplicateHeuristic when there are several."""
    matches = [rule for rule in playbook.heuristics if rule.id == heuristic]
    if not matches:
        raise UnknownHeuristic(plain(heuristic, 60), "is not in the playbook")
    if len(matches) > 1:
        raise DuplicateHeuristic(
            heuristic, "stands on lines " + " and ".join(str(rule.line) for rule in matches)
        )
    return matches[0]


def next_id(playbook: Playbook) -> str:
    """The first id above every one the text mentions, so that a deleted rule's number is not used again."""
    return f"H-{max((int(number) for number in _MENTION.findall(playbook.text)), default=0) + 1}"


def _words(heuristic: str, text: str) -> str:
    words = plain(text)
    if not words:
        raise NotPermitted(heuristic, "a heuristic needs a text that can be seen")
    return words


def _fresh(playbook: Playbook, heuristic: str | None) -> tuple[str, str]:
    """An id that is free, and the bullet the document uses."""
    heuristic = heuristic or next_id(playbook)
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
) -> Amendment:
    """A new candidate, at confidence 0.35; the next free id unless one is given."""
    heuristic, bullet = _fresh(playbook, heuristic)
    words = _words(heuristic, text)
    line = compose(heuristic, CANDIDATE, words, status="candidate", tags=tags, since=since, bullet=bullet)
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
) -> Amendment:
    """Demote a label that no heuristic claims: it enters the playbook as a demoted one, so that the no is written down."""
    heuristic, bullet = _fresh(playbook, heuristic)
    tags = () if heuristic == label else (label,)
    words = _words(heuristic, text)
    line = compose(heuristic, confidence, words, status="demoted", tags=tags, since=since, bullet=bullet)
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
