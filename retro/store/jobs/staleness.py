"""What arrived after a review's figures were read, and the look at it that loses nothing of what comes meanwhile.

Each reason is noted twice. `facts` and `marks`: something arrived, and nobody has looked. `checking_facts` and
`checking_marks`: a worker is looking at it now. The second pair is needed because neither simple way is right:

* If taking the review cleared the reasons, a worker that died would take them with it, and the review would stand
  as done although its period has changed.
* If finishing it cleared them, what arrived between the reading of the facts and the finish would be cleared unseen.

So to take moves the first pair into the second (beside what a worker that died was checking), and to finish clears the
second alone: whatever arrived meanwhile stands in the first, and the review is looked at once more. A review that goes
on from a checkpoint reads nothing anew: what arrived since it was made stays in the first, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

__all__ = ["Staleness", "checked", "checking", "stale"]

_SHIFT: Final = 2
_ARRIVED: Final = 0b0011
_CHECKING: Final = _ARRIVED << _SHIFT


class Staleness(NamedTuple):
    """Why a review has to be looked at again; the column `reviews.late` holds it as an integer of four bits.

    The fields stand in the order of the bits. 0 is a review that nothing has touched.
    """

    facts: bool = False
    marks: bool = False
    checking_facts: bool = False
    checking_marks: bool = False

    @classmethod
    def decode(cls, bits: int) -> Staleness:
        """From the integer of the column."""
        return cls(*(bool(bits >> place & 1) for place in range(len(cls._fields))))

    def encode(self) -> int:
        """The integer of the column."""
        return sum(flag << place for place, flag in enumerate(self))

    @property
    def checks_facts_alone(self) -> bool:
        """Whether nothing but facts is being checked; a digest of the facts then answers whether anything changed."""
        return self.checking_facts and not self.checking_marks


# the three steps, as the database takes them: of two at once neither overwrites the other's flag


def stale(column: ColumnElement[int], arrived: Staleness) -> ColumnElement[int]:
    """Something arrived: noted beside what already is."""
    return column.bitwise_or(arrived.encode())


def checking(column: ColumnElement[int]) -> ColumnElement[int]:
    """A worker takes the review: what arrived is being checked, and so is still what a dead worker was checking."""
    return column.bitwise_or(column.bitwise_and(_ARRIVED).bitwise_lshift(_SHIFT)).bitwise_and(_CHECKING)


def checked(column: ColumnElement[int]) -> ColumnElement[int]:
    """The review is finished: what was being checked is answered for, what arrived meanwhile stays."""
    return column.bitwise_and(_ARRIVED)
