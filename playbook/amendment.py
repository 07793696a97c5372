"""What may be changed in a playbook, item by item: a closed grammar, never a rewrite.

An amendment says which heuristic, the line it was written against and the line it wants, on what evidence, what would
falsify it, and who proposed it. Only the item's head (bullet to braces) is a "line" here; notes below it stay.
`old` is None for a heuristic that is not in the document yet. A merge names two, the survivor above the absorbed one.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from playbook.document import parse
from playbook.errors import ProposalError
from playbook.heuristic import with_confidence
from playbook.plain import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from playbook.heuristic import Heuristic

__all__ = [
    "OPS",
    "Amendment",
    "Grounds",
    "Op",
    "Origin",
    "from_json",
    "to_json",
]

Op = Literal["add", "revise", "set_confidence", "demote", "promote", "retire", "merge"]
Origin = Literal["audit", "model"]
OPS: tuple[Op, ...] = get_args(Op)


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
    def before(self) -> tuple[Heuristic, ...]:
        """The heuristics as they stood when it was written; none where it brings a new one."""
        return parse(self.old or "").heuristics

    @property
    def after(self) -> tuple[Heuristic, ...]:
        """The heuristics as it wants them: one, of a merge two; none where its line does not read as one."""
        return parse(self.new).heuristics

    @property
    def subject(self) -> str:
        """The id of what it is about: of a label that becomes a heuristic, the id it gets."""
        after = self.after
        return after[0].id if after and not self.before else self.heuristic

    @property
    def touched(self) -> frozenset[str]:
        """Every name it speaks of: the heuristic or label, and the ids of its lines."""
        return frozenset({self.heuristic, *(heuristic.id for heuristic in self.after)})

    @property
    def resolved(self) -> int:
        """How many resolved citations it rests on."""
        evidence = self.grounds.evidence
        count = evidence.get("resolved", evidence.get("its_resolved"))
        return min(count, 10**9 - 1) if isinstance(count, int) and count > 0 else 0


def _content(amendment: Amendment) -> list[str]:
    new = amendment.after
    if amendment.old is None or not new:
        is_add = amendment.op == "add" and bool(new)
        return [new[0].text, *new[0].tags] if is_add else [amendment.heuristic]
    old = amendment.before
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
