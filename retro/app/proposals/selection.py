"""Of what the evidence justifies, what may be put before the owner now: nothing twice, and no no forgotten. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import playbook
from playbook.amendment import next_id
from playbook.errors import AmendmentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from playbook import Amendment, Playbook
    from retro.store.proposals import Proposal, RequestRecord

__all__ = ["allowed", "choose", "prompt_of"]


def choose(
    book: Playbook,
    justified: Sequence[Amendment],
    lives: Sequence[Proposal],
    live: Sequence[RequestRecord],
    branch: str,
) -> list[Amendment]:
    """Of what is justified, what may be proposed on a branch: not under review elsewhere, and no no forgotten.

    New heuristics get numbers that no open request uses; all of it applies, one after the other.
    """
    elsewhere = {record.branch for record in live if record.branch != branch and record.state != "planned"}
    wanted = {amendment.id: amendment for amendment in _permitted(justified, lives, elsewhere)}
    used_ids = {
        new.id
        for life in lives
        if life.branch in elsewhere and life.state == "open"
        for new in playbook.parse(life.document["new"]).heuristics
    }
    chosen = []
    for amendment in _numbered(book, wanted.values(), used_ids):
        try:
            book = playbook.parse(playbook.apply(book, [amendment]))
        except AmendmentError:
            continue
        chosen.append(amendment)
    return chosen


def allowed(amendments: Iterable[Amendment], lives: Sequence[Proposal]) -> list[Amendment]:
    """Those that nobody said no to, or whose evidence has doubled since; what is under review may be told again."""
    return list(_permitted(amendments, lives, set()))


def _permitted(
    amendments: Iterable[Amendment], lives: Sequence[Proposal], elsewhere: set[str]
) -> Iterator[Amendment]:
    lives_by_key: dict[str, Proposal] = {}
    for life in sorted(lives, key=lambda life: life.state != "proposed"):  # what nobody saw hides no answer
        for key in (life.id, prompt_of(playbook.from_json(life.document))):
            if key:
                lives_by_key[key] = life
    for amendment in amendments:
        answers = lives_by_key.get(amendment.id), lives_by_key.get(prompt_of(amendment) or "")
        if all(_may(amendment, life, elsewhere) for life in answers):
            yield amendment


def prompt_of(amendment: Amendment) -> str | None:
    """What made a model word a candidate: words change from week to week, and a no must not depend on them."""
    prompt = amendment.grounds.evidence.get("prompted_by")
    return f"model:{prompt}" if amendment.grounds.origin == "model" else None


def _may(amendment: Amendment, life: Proposal | None, elsewhere: set[str]) -> bool:
    if life is None or life.state == "proposed":
        return True
    if life.state == "open":
        return life.branch not in elsewhere
    is_further = amendment.op == "set_confidence" and life.document["new"] != amendment.new
    if life.state != "rejected" and is_further:  # merged: the same way once more
        return True
    # rejected, or taken back after it was merged
    return amendment.resolved >= max(2 * life.resolved, 1)


def _numbered(book: Playbook, wanted: Iterable[Amendment], used_ids: set[str]) -> Iterator[Amendment]:
    used_ids = used_ids | {heuristic.id for heuristic in book.heuristics}
    first = int(next_id(book)[2:])
    for amendment in wanted:
        new = playbook.parse(amendment.new).heuristics
        if amendment.old is not None or not new:
            yield amendment
            continue
        name = new[0].id
        cited = amendment.grounds.origin == "audit" and not new[0].tags  # then the agent itself uses this id
        if name in used_ids and not cited:
            while f"H-{first}" in used_ids:
                first += 1
            yield _renamed(amendment, name, f"H-{first}")
            name = f"H-{first}"
        else:
            yield amendment
        used_ids.add(name)


def _renamed(amendment: Amendment, old: str, new: str) -> Amendment:
    heuristic = new if amendment.heuristic == old else amendment.heuristic
    return replace(amendment, new=amendment.new.replace(old, new, 1), heuristic=heuristic)
