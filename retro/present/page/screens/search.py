"""What was found of a text, and one proposal whole. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playbook.amendment import to_json
from retro.figures import count
from retro.present.page.amendments import describe_change, evidence_in_words
from retro.present.page.blocks import (
    Cell,
    Column,
    Figure,
    FigureList,
    Headline,
    Notes,
    Page,
    Prose,
    Section,
    Table,
    TableRow,
)
from retro.present.references import AgentReference, PositionReference, ProposalReference, ReviewReference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playbook import Amendment
    from retro.present.references import Reference
    from retro.report.overviews import SearchResult

__all__ = ["proposal_page", "search_page"]


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


def proposal_page(agent: str, state: str, where: str, amendment: Amendment, currency: str) -> Page:
    """One proposed change: what stands now, what would, on what evidence, and what would prove it wrong."""
    change, name = describe_change(amendment)
    facts = (
        Figure("State", state),
        Figure("Agent", agent, ref=AgentReference(agent)),
        Figure("Where", where or "nowhere yet"),
        Figure("Proposed by", amendment.grounds.origin),
    )
    told = (("Now", amendment.old), ("Then", amendment.new), ("Wrong if", amendment.grounds.falsified_by))
    lines = tuple(Prose(text, label) for label, text in told if text)
    evidence = FigureList((Figure("Evidence", "", evidence_in_words(to_json(amendment), currency)),))
    return Page(
        Headline("Proposal", name, amendment.id, change.capitalize(), "", "plain", facts),
        (Section("change", "The change", (*lines, evidence)),),
    )
