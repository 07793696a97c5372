"""What can be wrong with a playbook: faults are values, refusals are exceptions.

A document is never refused: whatever it says, it parses, and what is wrong with it is a list of `PlaybookFault`.
An amendment that cannot be made is refused, by the tree below.

    PlaybookError
    |- ProposalError          a proposal that is not one: wrong shape, wrong type, unknown operation
    `- AmendmentError         an amendment that does not fit this document
       |- UnknownHeuristic    the document has no such id
       |- DuplicateHeuristic  the id stands there twice, or an added one exists already
       |- StaleLine           the old line is no longer there
       `- NotPermitted        it would change more than its operation may
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "AmendmentError",
    "DuplicateHeuristic",
    "NotPermitted",
    "PlaybookError",
    "PlaybookFault",
    "ProposalError",
    "StaleLine",
    "UnknownHeuristic",
]


@dataclass(frozen=True, slots=True, order=True)
class PlaybookFault:
    """One thing wrong with a document: where (lines count from 1), what, and what to do about it."""

    line: int
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}; {self.remedy}"


class PlaybookError(Exception):
    """Anything this package refuses to do."""


class ProposalError(PlaybookError):
    """A proposal does not have the shape of one."""


class AmendmentError(PlaybookError):
    """An amendment does not fit the document it is meant for."""

    def __init__(self, heuristic: str, reason: str) -> None:
        super().__init__(f"{heuristic}: {reason}")
        self.heuristic = heuristic
        self.reason = reason


class UnknownHeuristic(AmendmentError):  # noqa: N818 - reads as what it says where it is caught
    """The document holds no heuristic of this id."""


class DuplicateHeuristic(AmendmentError):  # noqa: N818 - as above
    """The id is taken, or stands in the document more than once."""


class StaleLine(AmendmentError):  # noqa: N818 - as above
    """The line the amendment was written against has changed since."""


class NotPermitted(AmendmentError):  # noqa: N818 - as above
    """The amendment would change something its operation may not touch."""
