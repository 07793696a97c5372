"""How much of a list is asked for, and what came of it: every list of ours is read part by part.

A part is read in a transaction of its own, so that nobody who writes waits for a slow reader; what was read last says
where the next part begins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from retro.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["EVERYTHING", "ListBounds", "ListPart", "number_of", "part_of", "rows_of"]

T = TypeVar("T")

_CHUNK: Final = 1000
_LONGEST_NUMBER: Final = 19  # what a database takes as an integer


@dataclass(frozen=True, slots=True)
class ListBounds:
    """At most `limit` rows (None: all) of those that follow the one that `after` names (None: from the first on).

    `newest`: in the other order, the newest first.
    """

    limit: int | None = None
    after: str | None = None
    newest: bool = False

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"limit: {self.limit} is no number of rows; 1 is the least")
        if self.after is not None and self.after.encode("utf-8", "replace").decode() != self.after:
            raise UsageError(f"after: {self.after!a} is no text that a database could hold")

    @property
    def with_one_more(self) -> int:
        """The rows to read, one beyond the limit: whether it is there says whether anything follows."""
        return _CHUNK + 1 if self.limit is None else self.limit + 1


EVERYTHING: Final = ListBounds()
"""The whole list, from its first row on."""


class ListPart(NamedTuple, Generic[T]):
    """Rows, and the cursor after which the following ones come; None: there are none."""

    rows: tuple[T, ...]
    next: str | None


def number_of(cursor: str | None) -> int | None:
    """A cursor that is a row's number; `UsageError` says so where it is none."""
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < _LONGEST_NUMBER):
        raise UsageError(f"after: {cursor!r} is no number of this list; the line under a list names the next")
    return int(cursor)


def part_of(rows: Sequence[T], bounds: ListBounds, cursor_of: Callable[[T], str]) -> ListPart[T]:
    """What was read `with_one_more`, as a part."""
    part = tuple(rows[: bounds.with_one_more - 1])
    return ListPart(part, cursor_of(part[-1]) if len(rows) > len(part) else None)


def rows_of(read: Callable[[ListBounds], ListPart[T]], bounds: ListBounds) -> Iterator[T]:
    """Every row within the bounds, read in parts: as much memory as one part takes."""
    room = bounds.limit
    while room is None or room > 0:
        size = _CHUNK if room is None else min(room, _CHUNK)
        rows, following = read(replace(bounds, limit=size))
        yield from rows
        if following is None:
            return
        room = None if room is None else room - len(rows)
        bounds = replace(bounds, after=following)
