"""A list as a page of its own: what it is of, how many there are, the rows, or why there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.figures import count
from retro.present.page.blocks import (
    Cell,
    Column,
    Figure,
    FigureList,
    Headline,
    Notes,
    Page,
    Section,
    Table,
    TableRow,
)
from retro.present.page.screens.lists import positions_table, reviews_table
from retro.present.references import AgentReference, ProposalReference, ReviewReference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.blocks import Block, Tone
    from retro.present.page.revision import Change
    from retro.report.overviews import PositionOverview, ReviewOverview

__all__ = [
    "absence_page",
    "differences_page",
    "findings_page",
    "positions_page",
    "proposals_page",
    "reviews_page",
]

_FINDING_TONES: dict[str, Tone] = {"ok": "up", "note": "warn", "broken": "down"}


def reviews_page(rows: Sequence[ReviewOverview], total: int, agent: str | None, state: str | None) -> Page:
    """The ledger: reviews that are owed or made, `total` of them in all."""
    whose = f"of {agent}" if agent else "of all agents"
    what = f"{whose}, {state}" if state else whose
    table = reviews_table(rows)
    blocks: tuple[Block, ...] = (table,) if rows else (_nothing("No review follows here."),)
    return _page("Reviews", "Reviews", what, count(total, "review"), "ledger", blocks)


def positions_page(
    rows: Sequence[PositionOverview], total: int, agent: str, currency: str, *, behind: bool
) -> Page:
    """An agent's positions, `total` in all. `behind`: facts have come that the book does not know yet."""
    blocks: list[Block] = (
        [positions_table(rows, currency)] if rows else [_nothing("No position follows here.")]
    )
    if behind:
        blocks.append(
            Notes(
                (
                    "Facts have come since the book was settled: the next knock, or `retro positions`, settles it.",
                )
            )
        )
    return _page(
        "Positions", agent, f"in {currency}, UTC", count(total, "position"), "positions", tuple(blocks)
    )


def proposals_page(rows: Sequence[tuple[str, str, str, str]], agent: str | None) -> Page:
    """Proposed changes of playbooks: (agent, id, state, where it stands), in the order given."""
    columns = (
        Column("Proposal", right=False, cut=20),
        Column("Agent", right=False, cut=10),
        Column("State", right=False),
        Column("Where", right=False, cut=10),
    )
    table = Table(
        columns,
        tuple(
            TableRow(
                (
                    Cell(name, "strong", ProposalReference(whose, name)),
                    Cell(whose, ref=AgentReference(whose)),
                    Cell(state),
                    Cell(place),
                )
            )
            for whose, name, state, place in rows
        ),
    )
    blocks: tuple[Block, ...] = (table,) if rows else (_nothing("Nothing is proposed."),)
    return _page(
        "Proposals", "Proposals", agent or "all agents", count(len(rows), "proposal"), "proposals", blocks
    )


def findings_page(findings: Sequence[tuple[str, str, str]], summary: str) -> Page:
    """What works and what does not: (state, name, detail) of each finding, the broken first."""
    ranked = sorted(findings, key=lambda finding: ("broken", "note", "ok").index(finding[0]))
    rows = tuple(Figure(name, state, detail, _FINDING_TONES[state]) for state, name, detail in ranked)
    return _page(
        "Service", "Service", "what works, and what does not", summary, "findings", (FigureList(rows),)
    )


def differences_page(before: str, after: str, changes: Sequence[Change]) -> Page:
    """What differs in a reader's eyes between two reviews, by their ids."""
    columns = (Column("What", right=False, cut=20), Column("Before", cut=12), Column("After", cut=12))
    table = Table(
        columns,
        tuple(TableRow((Cell(c.label, "strong"), Cell(c.before), Cell(c.after))) for c in changes),
    )
    rows = (
        Figure("Before", before, ref=ReviewReference(before)),
        Figure("After", after, ref=ReviewReference(after)),
    )
    blocks: tuple[Block, ...] = (FigureList(rows), table if changes else _nothing("No figure differs."))
    return _page("Difference", "Two reviews", "", count(len(changes), "figure"), "differences", blocks)


def absence_page(title: str, why: str, commands: Sequence[str] = ()) -> Page:
    """A screen that has nothing to show: why, and what to type."""
    blocks = (Notes(tuple(commands)),) if commands else ()
    return Page(
        Headline(kicker="Nothing here", title=title, subtitle="", result=why, why="", tone="plain"),
        (Section("absence", "What to do", blocks),) if blocks else (),
    )


def _nothing(sentence: str) -> Notes:
    return Notes((sentence,), tone="faint")


def _page(kicker: str, title: str, subtitle: str, result: str, key: str, blocks: tuple[Block, ...]) -> Page:
    return Page(
        Headline(kicker=kicker, title=title, subtitle=subtitle, result=result, why="", tone="plain"),
        (Section(key, kicker, blocks),),
    )
