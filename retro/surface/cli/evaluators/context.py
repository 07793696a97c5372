"""`retro attribution`: what was in front of an agent when it decided well, and when it did not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.surface.cli.context import call
from retro.surface.cli.evaluators.rows import answer_rows
from retro.surface.cli.memory import AgentName, AsOf, instant_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer

    from retro.report.evaluators.context import ContextItem

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("attribution")(attribution)


def attribution(agent: AgentName = None, as_of: AsOf = None) -> None:
    """What was in front of the agent when it decided well.

    Each name among the `context_items` of its decisions: how they turned out with it, and without.

    Example: retro attribution --agent sample
    """
    from retro.app.questions.evaluators.context import AttributionQuestion
    from retro.app.questions.evaluators.context import attribution as attribution_of

    record = call.agent(agent)
    decay = call.config.retrospective.attribution_decay
    question = AttributionQuestion(call.store, record.name, call.settings(record), decay, instant_of(as_of))
    rows = attribution_of(question)
    answer_rows(
        rows,
        _print,
        "no decision with context_items has turned out yet; docs/journal.md says how to tell of them",
    )


def _print(rows: Sequence[ContextItem]) -> None:
    from retro.figures import DASH, ratio
    from retro.present.page.blocks import Cell, Column, tone_of
    from retro.safe import plain_text
    from retro.surface.cli.screen import print_table

    columns = [
        Column("Item", right=False, cut=14),
        Column("Seen"),
        Column("Weight"),
        Column("Value"),
        Column("Recall"),
        Column("Lift"),
        Column("q"),
        Column("Last", right=False),
    ]
    cells = [
        [
            Cell(plain_text(row.item), "strong"),
            Cell(f"{row.appearances:,}"),
            Cell(f"{row.weight:.1f}"),
            Cell(f"{row.value:+.2f}", tone_of(row.value)),
            Cell(f"x{row.multiplier:.2f}"),
            Cell(DASH if row.lift is None else f"{row.lift:+.2f}"),
            Cell(ratio(row.q, 3)),
            Cell(row.last_at[:10]),
        ]
        for row in rows
    ]
    note = (
        "Value: how decisions with it turned out, -1 to 1, newer ones weighing more. Lift: mean with it less mean"
        " without; q: by chance, over all items. Presence is not cause: what is there when it is easy looks good."
    )
    print_table(columns, cells, note)
