"""What was found of a text. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.figures import count
from retro.present.page.blocks import (
    Cell,
    Column,
    Headline,
    Notes,
    Page,
    Section,
    Table,
    TableRow,
)
from retro.present.references import AgentReference, PositionReference, ProposalReference, ReviewReference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.references import Reference
    from retro.report.overviews import SearchResult

__all__ = ["search_page"]


def search_page(text: str, results: Sequence[SearchResult]) -> Page:
    """Everything whose name holds a text; "": nothing was asked yet."""
    columns = (
        Column("What", right=False),
        Column("Name", right=False, cut=24),
        Column("Agent", right=False, cut=10),
        Column("", right=False, cut=10),
    )
    table = Table(
        columns,
        tuple(
            TableRow(
                (Cell(row.kind), Cell(row.name, "strong", _leads(row)), Cell(row.agent), Cell(row.detail))
            )
            for row in results
        ),
    )
    block = (
        table if results else Notes(("No agent, review, position or proposal is called so.",), tone="faint")
    )
    return Page(
        Headline("Search", text or "Search", "", count(len(results), "result") if text else "", "", "plain"),
        (Section("results", "Results", (block,)),) if text else (),
    )


def _leads(row: SearchResult) -> Reference:
    match row.kind:
        case "agent":
            return AgentReference(row.name)
        case "review":
            return ReviewReference(row.name)
        case "proposal":
            return ProposalReference(row.agent, row.name)
    return PositionReference(row.agent, row.name)
