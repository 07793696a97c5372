"""`retro shadows`: strategies that run beside the real one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.surface.cli.context import call
from retro.surface.cli.evaluators.rows import answer_rows
from retro.surface.cli.memory import AgentName, AsOf, instant_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer

    from retro.report.evaluators.shadows import ShadowRow

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("shadows")(shadows)


def shadows(agent: AgentName = None, as_of: AsOf = None) -> None:
    """What-if rules run forward beside the real trades: shadows.

    Those of [[shadow]] tables from their first day on, and those an agent tells of; each is judged after its days, beside
    the real result of the same days, and never applied.

    Example: retro shadows --agent sample
    """
    from retro.app.questions.evaluators.shadows import ShadowQuestion
    from retro.app.questions.evaluators.shadows import shadows as rows_of

    record = call.agent(agent)
    settings = call.settings(record)
    rows = rows_of(ShadowQuestion(call.store, record.name, settings, instant_of(as_of)))
    answer_rows(
        rows,
        lambda rows: _print(rows, settings.base_currency),
        "no shadow runs: write a [[shadow]] table, or tell `shadow` events (docs/journal.md)",
    )


def _print(rows: Sequence[ShadowRow], currency: str) -> None:
    from retro.figures import DASH, money_of, percent
    from retro.present.page.blocks import Cell, Column, tone_of
    from retro.safe import plain_text
    from retro.surface.cli.screen import print_table

    money = money_of(currency, [amount for row in rows for amount in (row.real, row.shadow)])
    columns = [
        Column("Shadow", right=False, cut=12),
        Column("Rule", right=False, cut=10),
        Column("Days"),
        Column("Real"),
        Column("Shadow"),
        Column("Better"),
        Column("Verdict", right=False, cut=12),
    ]
    cells = [
        [
            Cell(plain_text(row.name), "strong"),
            Cell(DASH if row.rule is None else plain_text(row.rule)),
            Cell(f"{row.paired}/{row.days}"),
            Cell(money.signed(row.real)),
            Cell(money.signed(row.shadow)),
            Cell(percent(row.outperformance, signed=True), tone_of(row.outperformance)),
            Cell(row.verdict.replace("_", " ")),
        ]
        for row in rows
    ]
    missing = [
        f"{plain_text(row.name)}: {row.reasons['verdict']}." for row in rows if "verdict" in row.reasons
    ]
    note = " ".join(
        [
            f"{currency}. Days: with a difference, of those it has run. Better: than the real result, as a share of its size.",
            *missing,
            "Nothing of this is applied.",
        ]
    )
    print_table(columns, cells, note)
