"""What a source computed itself beside our figures, as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from retro.figures import DASH, count, moment, quantity
from retro.present.page.blocks import Cell, Column, Notes, Table, page_of_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.blocks import Block, Page

__all__ = ["CheckLine", "checks_page"]


class CheckLine(NamedTuple):
    """One figure: whose it is, what it is of, what was stated `at` an instant, ours, and whether rounding explains it.

    `within` is None where ours is, for a `reason`.
    """

    agent: str
    what: str
    of: str
    at: str
    stated: float
    ours: float | None
    apart: float | None
    within: bool | None
    reason: str


_WORDS = {True: Cell("agrees", "up"), False: Cell("differs", "down"), None: Cell("no figure", "warn")}


def checks_page(lines: Sequence[CheckLine], tallies: Sequence[str], *, several: bool) -> Page:
    """Figures of the sources, a line each, then how much of everything agrees; of `several` agents with their names."""
    columns = [
        Column("Agent", right=False, cut=16, spare=2),
        Column("What", right=False),
        Column("Of", right=False, cut=14),
        Column("At (UTC)", right=False, spare=1),
        Column("Stated"),
        Column("Ours"),
        Column("Apart"),
        Column("", right=False),
    ]
    cells = [
        [
            Cell(line.agent),
            Cell(line.what),
            Cell(line.of or DASH, "strong"),
            Cell(moment(line.at)),
            *map(_figure, (line.stated, line.ours, line.apart)),
            _WORDS[line.within],
        ]
        for line in lines
    ]
    if not several:
        columns, cells = columns[1:], [row[1:] for row in cells]
    reasons = sorted({line.reason for line in lines if line.reason})
    note = "; ".join(f"no figure: {reason}" for reason in reasons[:3])
    blocks: list[Block] = [Table.of(columns, cells, note)] if lines else []
    if tallies:
        blocks.append(Notes(tuple(tallies)))
    names = sorted({line.agent for line in lines})
    title = names[0] if len(names) == 1 else "Sources"
    subtitle = "what sources computed themselves, beside ours"
    return page_of_blocks("Checks", title, subtitle, count(len(lines), "figure"), blocks)


def _figure(value: float | None) -> Cell:
    return Cell(DASH if value is None else quantity(value))
