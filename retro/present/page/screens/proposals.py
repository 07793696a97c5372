"""Proposed changes of playbooks: all of them with what became of each, and one whole. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
    page_of_blocks,
)
from retro.present.references import AgentReference, ProposalReference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playbook import Amendment
    from retro.present.page.blocks import Block

__all__ = ["ProposalLine", "proposal_page", "proposals_page"]


class ProposalLine(NamedTuple):
    """A proposal as it is listed: whose, its id and state, where it is asked ("": nowhere yet), and what it changes."""

    agent: str
    id: str
    state: str
    where: str
    amendment: Amendment


def proposals_page(rows: Sequence[ProposalLine], agent: str | None) -> Page:
    """Proposed changes in the order given; beneath, where each is asked and what would prove it wrong, whole."""
    columns = (
        Column("Proposal", right=False, cut=16),
        Column("Agent", right=False, cut=10),
        Column("State", right=False),
        Column("Change", right=False, cut=16),
    )
    table = Table.of(columns, map(_cells, rows))
    blocks: tuple[Block, ...] = (Notes(("Nothing is proposed.",), tone="faint"),)
    if rows:
        blocks = (table, Notes(tuple(note for row in rows for note in _grounds(row))))
    result = count(len(rows), "proposal")
    return page_of_blocks("Proposals", "Proposals", agent or "all agents", result, blocks)


def _cells(row: ProposalLine) -> tuple[Cell, ...]:
    change, name = describe_change(row.amendment)
    return (
        Cell(row.id, "strong", ProposalReference(row.agent, row.id)),
        Cell(row.agent, ref=AgentReference(row.agent)),
        Cell(row.state),
        Cell(f"{name}: {change}"),
    )


def _grounds(row: ProposalLine) -> tuple[str, ...]:
    falsified_by = row.amendment.grounds.falsified_by
    wrong = f"{row.id} is wrong if {falsified_by}" if falsified_by else ""
    return tuple(note for note in (row.where, wrong) if note)


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
