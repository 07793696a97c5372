"""`retro tiers`: what the tiers of inference were worth, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.surface.cli.context import call
from retro.surface.cli.memory import AgentName, AsOf, instant_of

if TYPE_CHECKING:
    import typer

    from retro.report.evaluators.tiers import TierReport

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("tiers")(tiers)


def tiers(agent: AgentName = None, as_of: AsOf = None) -> None:
    """How often each tier of inference was right, for what price, and which questions another tier could take.

    A prediction has the tier of the decision it names; costs of inference name theirs. Nothing is changed by it.

    Example: retro tiers --agent sample
    """
    from retro.app.questions.evaluators.tiers import TierQuestion
    from retro.app.questions.evaluators.tiers import tiers as tiers_of

    record = call.agent(agent)
    settings = call.settings(record)
    report = tiers_of(TierQuestion(call.store, record.name, settings, settings.tiers, instant_of(as_of)))
    if call.json:
        call.out_json(report.model_dump(mode="json"))
    elif report.rows:
        _print(report, settings.base_currency)
    else:
        call.say(f"{report.reasons['rows']}; docs/journal.md says how to tell of one")


def _print(report: TierReport, currency: str) -> None:
    from retro.figures import DASH, percent
    from retro.present.page.blocks import Cell, Column, tone_of
    from retro.safe import plain_text
    from retro.surface.cli.screen import print_sentence, print_table

    columns = [
        Column("Category", right=False, cut=12),
        Column("Tier", right=False),
        Column("n"),
        Column("Right"),
        Column("Without"),
        Column("Gain"),
        Column("Each costs"),
        Column("Gain per 1"),
    ]

    def figure(value: float | None) -> Cell:
        return Cell(DASH if value is None else f"{value:.3g}")

    cells = [
        [
            Cell(plain_text(row.category), "strong"),
            Cell(row.tier),
            Cell(f"{row.n:,}"),
            Cell(percent(row.accuracy)),
            Cell(f"{percent(row.baseline)} ({row.baseline_n:,})"),
            Cell(f"{row.gain * 100:+.1f}", tone_of(row.gain)),
            figure(row.cost_per_prediction),
            figure(row.effectiveness),
        ]
        for row in report.rows
    ]
    note = (
        f"Without: what costs nothing gets right (of how many). Gain: points beyond it. Costs in {currency}."
        " Hard questions go to the higher tier: this compares what was asked, not the models."
    )
    print_table(columns, cells, note)
    for advice in report.recommendation:
        within = "" if advice.difficulty is None else f" ({advice.difficulty})"
        reason = advice.reason.partition("; hard questions")[0]
        print_sentence(f"{advice.category}{within}: {advice.kind}. {reason}.")
