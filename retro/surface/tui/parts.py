"""A list that is longer than a screen, read part by part: what was read lately, and where each part begins. Pure.

However far one goes, only a few parts are in memory; of the others the address is, so that they can be read again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from retro.present.text.tables import heading_lines, row_lines, widest_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.blocks import Column, Table, TableRow
    from retro.present.references import Reference
    from retro.present.widths import Line

__all__ = ["ListParts"]

_IN_MEMORY: Final = 16
"""Parts of a hundred rows: several screens on either side of what is looked at."""


class ListParts:
    """The parts of one list, from the address of its first one on.

    `rows` is how many rows were read so far, `complete` whether that is all of them. Columns are as wide as the widest
    cell read so far asks for, so that a row does not jump when its neighbours change.
    """

    def __init__(self, address: str) -> None:
        self._addresses = [address]
        self._starts = [0]
        self._memory: OrderedDict[int, tuple[TableRow, ...]] = OrderedDict()
        self._columns: tuple[Column, ...] = ()
        self._widest: list[int] = []
        self.rows = 0

    @property
    def complete(self) -> bool:
        """Whether the last part was read."""
        return len(self._starts) > len(self._addresses)

    def store(self, part: int, table: Table, following: str) -> None:
        """Put down what a part holds, and the address of the part that follows ("" after the last)."""
        self._memory[part] = table.rows
        self._memory.move_to_end(part)
        while len(self._memory) > _IN_MEMORY:
            self._memory.popitem(last=False)
        if part == len(self._starts) - 1:
            self.rows += len(table.rows)
            self._starts.append(self.rows)
            if following:
                self._addresses.append(following)
        if len(table.columns) > len(self._columns):
            self._columns = table.columns
        widest = widest_cells(table.columns, table.rows)
        self._widest += [0] * (len(widest) - len(self._widest))
        self._widest = [max(pair) for pair in zip(self._widest, _filled(widest, self._widest), strict=True)]

    def wanted(self, first: int, last: int) -> tuple[int, str] | None:
        """The next part to read so that rows `first` to `last` can be drawn, and its address; None: they can."""
        for part in range(self._part_of(max(0, first)), self._part_of(max(0, last)) + 1):
            if part < len(self._addresses) and part not in self._memory:
                return part, self._addresses[part]
        return None

    def heading(self, width: int) -> list[Line]:
        """The titles of the columns."""
        return heading_lines(self._columns, self._widest, width) if self._columns else []

    def line(self, index: int, width: int) -> Line:
        """A row as a line; empty while its part is read again."""
        row = self._row(index)
        return () if row is None else row_lines(self._columns, self._widest, [row], width)[0]

    def reference(self, index: int) -> Reference | None:
        """What a row leads to: the first of its cells that leads anywhere."""
        row = self._row(index)
        return None if row is None else next((cell.ref for cell in row.cells if cell.ref is not None), None)

    def _row(self, index: int) -> TableRow | None:
        part = self._part_of(index)
        rows = self._memory.get(part)
        return (
            None
            if rows is None or index - self._starts[part] >= len(rows)
            else rows[index - self._starts[part]]
        )

    def _part_of(self, index: int) -> int:
        """The part a row lies in; of rows beyond the last that was read, the part that follows it."""
        return bisect_right(self._starts, index) - 1


def _filled(widths: Sequence[int], like: Sequence[int]) -> list[int]:
    """The widths, with 0 for columns that this part has not."""
    return [*widths, *[0] * (len(like) - len(widths))]
