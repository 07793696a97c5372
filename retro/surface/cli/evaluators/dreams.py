"""`retro dreams`: the positions that felt otherwise at first than they turned out, for going through again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from retro.surface.cli.context import call
from retro.surface.cli.evaluators.rows import answer_rows
from retro.surface.cli.memory import AgentName, AsOf, instant_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.report.evaluators.dreams import Dream

__all__ = ["add_to"]

dreams_app = typer.Typer(
    invoke_without_command=True, rich_markup_mode=None, help="What is most worth going through again."
)


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.add_typer(dreams_app, name="dreams")


@dreams_app.callback()
def dreams(
    context: typer.Context,
    limit: Annotated[int, typer.Option("-n", metavar="N", help="at most so many")] = 50,
    agent: AgentName = None,
    as_of: AsOf = None,
) -> None:
    """Positions whose first hours said another thing than their end: what is most worth going through again.

    Example: retro dreams -n 10 --agent sample
    """
    if context.invoked_subcommand is not None:
        return
    from retro.app.questions.evaluators.dreams import DreamQuestion
    from retro.app.questions.evaluators.dreams import dreams as dreams_of

    record = call.agent(agent)
    settings = call.settings(record)
    rows = dreams_of(DreamQuestion(call.store, record.name, settings, limit, instant_of(as_of)))
    answer_rows(
        rows,
        lambda rows: _print(rows, settings.base_currency),
        "no closed position with an entry decision turned out otherwise than it began",
    )


@dreams_app.command("done")
def done(
    position: Annotated[str, typer.Argument(metavar="ID", help="the position that was gone through")],
    agent: AgentName = None,
) -> None:
    """Note that a position was gone through once more: it counts 0.85 as much from now on.

    Example: retro dreams done t-17 --agent sample
    """
    from retro.app.questions.evaluators.dreams import mark_replayed
    from retro.figures import count
    from retro.safe import plain_text

    record = call.agent(agent)
    replays = mark_replayed(call.store, record.name, call.settings(record), position, time.time_ns() // 1000)
    if call.json:
        call.out_json({"agent": record.name, "position": position, "replays": replays})
    else:
        call.out(plain_text(f"{position} was replayed {count(replays, 'time')}"))


def _print(rows: Sequence[Dream], currency: str) -> None:
    from retro.figures import DASH, money_of, percent, ratio
    from retro.present.page.blocks import Cell, Column, tone_of
    from retro.safe import plain_text
    from retro.surface.cli.screen import print_table

    figures = [amount for row in rows for amount in (row.immediate, row.retrospective)]
    money = money_of(currency, figures)
    columns = [
        Column("Position", right=False, cut=10),
        Column("Entered", right=False),
        Column("At first"),
        Column("In the end"),
        Column("Turn", spare=2),
        Column("Done", spare=3),
        Column("Better", right=False),
        Column("By", spare=1),
        Column("p"),
    ]

    def first(row: Dream) -> str:
        if row.immediate_from == "valence":
            return "felt good" if row.immediate > 0 else "felt bad"
        return f"{money.signed(row.immediate)} {row.immediate_from}"

    cells = [
        [
            Cell(plain_text(row.position), "strong"),
            Cell(row.at[:10]),
            Cell(first(row)),
            Cell(money.signed(row.retrospective), tone_of(row.retrospective)),
            Cell(percent(row.reversal)),
            Cell(f"{row.replays:,}"),
            Cell(DASH if row.counterfactual is None else row.counterfactual.rule),
            Cell(money.signed(None if row.counterfactual is None else row.counterfactual.difference)),
            Cell(ratio(None if row.counterfactual is None else row.counterfactual.p_max)),
        ]
        for row in rows
    ]
    note = (
        f"{currency}. In the end: against doing nothing. Turn: how far apart both are, of the entry's size."
        " Better: the best of 24 ways to leave, by what it changes over all positions like it together; p: luck would do as well. It is hindsight. --json tells context and beliefs."
    )
    print_table(columns, cells, note)
