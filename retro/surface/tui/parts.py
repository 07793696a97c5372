"""A list that is longer than a screen, read part by part: what was read lately, and where each part begins. Pure.

However far one goes, only a few parts are in memory; of the others the address is, so that they can be read again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from itertools import groupby
from typing import TYPE_CHECKING, Final

from retro.present.text.tables import heading_lines, row_lines, widest_cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from retro.present.page.blocks import Column, Table, TableRow
    from retro.present.references import Reference
    from retro.present.widths import Line

__all__ = ["ListParts"]

_IN_MEMORY: Final = 16
"""Parts of a hundred rows: several screens on either side of what is looked at."""
_DRAWN: Final = 500
"""Lines that are kept as they were drawn: many a key moves the place and no row."""


class ListParts:
    """The parts of one list, from the address of its first one on, and from that of its `last` one up.

    `total` is how many rows the whole list had when it was begun. Parts that follow the first have numbers from 0 on,
    those from the end -1 and less. Columns are as wide as the widest cell read so far asks for, so that a row does not
    jump when its neighbours change.
    """

    def __init__(self, address: str, last: str = "", total: int = 0) -> None:
        self._addresses = [address]
        self._starts = [0]
        self._from_end = [last] if last else []
        self._ends = [0]
        self._total = total
        self._memory: OrderedDict[int, tuple[TableRow, ...]] = OrderedDict()
        self._columns: tuple[Column, ...] = ()
        self._widest: list[int] = []
        self._drawn: dict[tuple[int, int], Line] = {}

    @property
    def rows(self) -> int:
        """How many rows there are as far as that is known: those read from the start, or all where the end was read."""
        head = self._starts[-1]
        return max(head, self._total) if self._has_end else head

    @property
    def complete(self) -> bool:
        """Whether the last row is known."""
        return self._is_whole or self._has_end

    @property
    def end(self) -> tuple[int, str] | None:
        """The last part and its address, where it was not read; None: the last row is known, or nobody says where it is."""
        return (-1, self._from_end[0]) if self._from_end and not self.complete else None

    @property
    def _has_end(self) -> bool:
        return len(self._ends) > 1 and not self._is_whole

    @property
    def _is_whole(self) -> bool:
        """Whether all was read from the start."""
        return len(self._starts) > len(self._addresses)

    def store(self, part: int, table: Table, following: str) -> None:
        """Put down what a part holds, and the address of the part that follows (from the end: of that above; "" after the last)."""
        self._memory[part] = table.rows
        self._memory.move_to_end(part)
        while len(self._memory) > _IN_MEMORY:
            self._memory.popitem(last=False)
        addresses, bounds, number = (
            (self._addresses, self._starts, part) if part >= 0 else (self._from_end, self._ends, -1 - part)
        )
        if number == len(bounds) - 1:
            bounds.append(bounds[-1] + len(table.rows))
            if following:
                addresses.append(following)
        if len(table.columns) > len(self._columns):
            self._columns = table.columns
        widest = widest_cells(table.columns, table.rows)
        self._widest += [0] * (len(widest) - len(self._widest))
        self._widest = [max(pair) for pair in zip(self._widest, _filled(widest, self._widest), strict=True)]
        self._drawn.clear()

    def wanted(self, first: int, last: int) -> tuple[int, str] | None:
        """The next part to read so that rows `first` to `last` can be drawn, and its address; None: they can."""
        most = self.rows - 1 if self._has_end else self.rows
        for part in self._parts_of(min(max(0, first), most), min(max(0, last), most)):
            addresses, number = (self._addresses, part) if part >= 0 else (self._from_end, -1 - part)
            if number < len(addresses) and part not in self._memory:
                return part, addresses[number]
        return None

    def _parts_of(self, first: int, last: int) -> Iterator[int]:
        """The parts that rows lie in, in order; of rows between what was read from either side the nearer side's next."""
        return (part for part, _ in groupby(map(self._part_of, range(first, last + 1))))

    def heading(self, width: int) -> list[Line]:
        """The titles of the columns."""
        return heading_lines(self._columns, self._widest, width) if self._columns else []

    def line(self, index: int, width: int) -> Line:
        """A row as a line; empty while its part is read again."""
        drawn = self._drawn.get((index, width))
        if drawn is not None:
            return drawn
        row = self._row(index)
        if row is None:
            return ()
        if len(self._drawn) >= _DRAWN:
            self._drawn.clear()
        self._drawn[index, width] = drawn = row_lines(self._columns, self._widest, [row], width)[0]
        return drawn

    def reference(self, index: int) -> Reference | None:
        """What a row leads to: the first of its cells that leads anywhere."""
        row = self._row(index)
        return None if row is None else next((cell.ref for cell in row.cells if cell.ref is not None), None)

    def _row(self, index: int) -> TableRow | None:
        part = self._part_of(index)
        rows = self._memory.get(part)
        if rows is None:
            return None
        start = self._starts[part] if part >= 0 else self._total - self._ends[-part]
        return rows[index - start] if 0 <= index - start < len(rows) else None

    def _part_of(self, index: int) -> int:
        """The part a row lies in; of one that was not read the next part of the side it is nearer to."""
        head, below = self._starts[-1], self._total - index
        if index < head or not self._has_end:
            return bisect_right(self._starts, index) - 1
        if below <= self._ends[-1]:
            return -bisect_left(self._ends, below)
        is_nearer_the_end = index - head >= below - self._ends[-1] and len(self._ends) <= len(self._from_end)
        return -len(self._ends) if is_nearer_the_end else len(self._starts) - 1


def _filled(widths: Sequence[int], like: Sequence[int]) -> list[int]:
    """The widths, with 0 for columns that this part has not."""
    return [*widths, *[0] * (len(like) - len(widths))]
