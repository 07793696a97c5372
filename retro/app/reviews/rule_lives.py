"""The lives of an agent's rules as merged proposals tell them, of a book that is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.evaluate.meta.rule_lives import lives_by_proposals
from retro.store import proposals

if TYPE_CHECKING:
    from retro.app.settlement.book import SettledBook
    from retro.evaluate.meta.rule_lives import Birthdays, RuleLives

__all__ = ["merged_lives"]

_MERGED: Final = frozenset({"merged", "validated", "refuted", "undecided"})


def merged_lives(book: SettledBook, birthdays: Birthdays, now: int) -> RuleLives:
    """What the playbook and the proposals merged by an instant say of its rules."""
    merged = [
        (proposal.known_until, proposal.amendment)
        for proposal in proposals.stored(book.conn, book.name)
        if proposal.state in _MERGED and proposal.known_until <= now
    ]
    return lives_by_proposals(book.settings.playbook, merged, birthdays)
