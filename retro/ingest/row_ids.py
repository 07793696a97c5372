"""Names of rows that have none of their own: what they hold, and the how-many-eth such row of the file it is.

Never the number of a line: exports overlap, and grow at either end.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["RowIds"]


class RowIds:
    """Gives the rows of one file their ids, in file order; `before` counts those that came earlier, by their digest."""

    def __init__(self, before: Mapping[str, int] | None = None) -> None:
        self.occurrences: Counter[str] = Counter(before or {})

    def of(self, cells: Iterable[str]) -> str:
        """16 hexadecimal digits of the cells; the second equal row of a file has `-2` behind them."""
        digest = hashlib.sha256("\x1f".join(cells).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self.occurrences[digest] += 1
        occurrence = self.occurrences[digest]
        return digest if occurrence == 1 else f"{digest}-{occurrence}"
