"""Of what the evidence justifies, what may be put before the owner now: nothing twice, and no no forgotten. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import playbook
from playbook.document import next_number
from playbook.errors import AmendmentError
from playbook.ids import id_of
from playbook.proposal import TEN_TO_ONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from playbook import Amendment, Playbook
    from retro.store.proposals import Proposal
    from retro.store.pull_requests import RequestRecord

__all__ = ["allowed", "choose", "prompt_of"]


def choose(
    book: Playbook,
    justified: Sequence[Amendment],
    proposals: Sequence[Proposal],
    live: Sequence[RequestRecord],
    branch: str,
) -> list[Amendment]:
    """Of what is justified, what may be proposed on a branch: not under review elsewhere, and no no forgotten.

    New heuristics get numbers that no open request uses; all of it applies, one after the other.
    """
    elsewhere = {record.branch for record in live if record.branch != branch and record.state != "planned"}
    wanted = {amendment.id: amendment for amendment in _permitted(justified, proposals, elsewhere)}
    used_ids = {
        heuristic.id
        for proposal in proposals
        if proposal.branch in elsewhere and proposal.state == "open"
        for heuristic in proposal.amendment.after
    }
    chosen = []
    for amendment in _numbered(book, wanted.values(), used_ids):
        try:
            book = playbook.parse(playbook.apply(book, [amendment]))
        except AmendmentError:
            continue
        chosen.append(amendment)
    return chosen


def allowed(amendments: Iterable[Amendment], proposals: Sequence[Proposal]) -> list[Amendment]:
    """Those that nobody said no to, or whose E has grown tenfold since; what is under review may be told again."""
    return list(_permitted(amendments, proposals, set()))


def _permitted(
    amendments: Iterable[Amendment], proposals: Sequence[Proposal], elsewhere: set[str]
) -> Iterator[Amendment]:
    answered: dict[str, Proposal] = {}
    # what nobody saw comes first, so that it hides no answer
    for proposal in sorted(proposals, key=lambda proposal: proposal.state != "proposed"):
        for key in (proposal.id, prompt_of(proposal.amendment)):
            if key:
                answered[key] = proposal
    for amendment in amendments:
        answers = answered.get(amendment.id), answered.get(prompt_of(amendment) or "")
        if all(_may(amendment, answer, elsewhere) for answer in answers):
            yield amendment


def prompt_of(amendment: Amendment) -> str | None:
    """What made a model word a candidate: words change from week to week, and a no must not depend on them."""
    prompt = amendment.grounds.evidence.get("prompted_by")
    return f"model:{prompt}" if amendment.grounds.origin == "model" else None


def _may(amendment: Amendment, answer: Proposal | None, elsewhere: set[str]) -> bool:
    """Whether an amendment may be proposed in face of what was answered to it, or to the same prompt, before."""
    if answer is None or answer.state == "proposed":
        return True
    if answer.state == "open":
        return answer.branch not in elsewhere
    is_further = amendment.op == "set_confidence" and answer.amendment.new != amendment.new
    if answer.state != "rejected" and is_further:  # merged: the same way once more
        return True
    return _outgrows(amendment, answer)


def _outgrows(amendment: Amendment, answer: Proposal) -> bool:
    """Whether the evidence is a fresh 10 to 1 since a no; of what is not bet on, twice as many citations."""
    now, then = (each.grounds.evidence.get("e") for each in (amendment, answer.amendment))
    if not isinstance(now, int | float):
        return amendment.resolved >= max(2 * answer.resolved, 1)
    return now >= TEN_TO_ONE * (max(then, 1.0) if isinstance(then, int | float) else 1.0)


def _numbered(book: Playbook, wanted: Iterable[Amendment], used_ids: set[str]) -> Iterator[Amendment]:
    used_ids = used_ids | {heuristic.id for heuristic in book.heuristics}
    first = next_number(book)
    for amendment in wanted:
        new = amendment.after
        if amendment.old is not None or not new:
            yield amendment
            continue
        name = new[0].id
        cited = amendment.grounds.origin == "audit" and not new[0].tags  # then the agent itself uses this id
        if name in used_ids and not cited:
            while id_of(first) in used_ids:
                first += 1
            yield _renamed(amendment, name, id_of(first))
            name = id_of(first)
        else:
            yield amendment
        used_ids.add(name)


def _renamed(amendment: Amendment, old: str, new: str) -> Amendment:
    heuristic = new if amendment.heuristic == old else amendment.heuristic
    return replace(amendment, new=amendment.new.replace(old, new, 1), heuristic=heuristic)
