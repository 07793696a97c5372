"""`retro validate recall`: does the memory help? It prints what it finds, also when it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from retro.surface.cli.context import call, instant
from retro.surface.cli.memory import AgentName, experience_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.advice.backtest import Approach, Difference

__all__ = ["add_to"]

_FIGURES = ("net_pnl", "profit_factor", "sharpe", "max_drawdown", "calmar", "mean_stake")
_SHARES = ("net_pnl", "max_drawdown", "mean_stake", "recall_precision", "alike_precision")

validate_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Does it help? A replay without look-ahead."
)


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.add_typer(validate_app, name="validate")


@validate_app.command("recall")
def validate_recall(
    split: Annotated[
        str, typer.Option("--split", metavar="DATE", help="trades entered from then on are sized")
    ],
    agent: AgentName = None,
) -> None:
    """Replay a history in time order: fixed size, simple, recency and memory Kelly. Prints what it finds, whatever it is.

    Example: retro validate recall --agent sample --split 2026-02-01
    """
    from retro.app.questions import recall
    from retro.app.questions.document import document_of
    from retro.figures import count
    from retro.periods import format_instant

    experience = experience_of()
    question = recall.ValidationQuestion(experience.agent(agent), instant(split, "--split"))
    validation = recall.validate(experience, question)
    if call.json:
        call.out_json(document_of(validation))
        return
    call.out(
        f"{count(validation.trades, 'trade')} from {format_instant(validation.split_at)} on;"
        f" {validation.known_before} known before"
    )
    call.out("Stakes are shares of the starting capital put at one R; nothing is compounded.")
    _print_approaches(validation.approaches, validation.trades)
    _print_differences(validation.differences)
    for share, words in (
        (validation.precision, "the best recalled (they lean to winners)"),
        (validation.precision_alike, "the most alike"),
        (validation.precision_recent, "the latest"),
    ):
        if share is not None:
            call.out(f"  of five memories, {words}: {share:.1%} turned out with the sign of the trade")
    for reason in validation.reasons.values():
        call.out(f"  {reason}")
    call.out(validation.verdict.replace("_", " "))


def _print_approaches(rows: Sequence[Approach], trades: int) -> None:
    from retro.present.page.blocks import Cell, Column
    from retro.surface.cli.screen import print_table

    names = ("Sizing", "Net PnL", "Profit factor", "Sharpe", "Max drawdown", "Calmar", "Mean stake", "Sized")
    columns = [Column(name, right=name != "Sizing") for name in names]
    cells = [
        [
            Cell(row.name.replace("_", " "), "strong"),
            *(Cell(_metric_text(name, getattr(row, name))) for name in _FIGURES),
            Cell(f"{trades - row.unknown} of {trades}"),
        ]
        for row in rows
    ]
    print_table(columns, cells)


def _metric_text(metric: str, value: float | None, sign: str = "") -> str:
    if value is None:
        return "-"
    return f"{value:{sign}.2%}" if metric in _SHARES else f"{value:{sign}.2f}"


def _print_differences(rows: Sequence[Difference]) -> None:
    from retro.present.page.blocks import Cell, Column
    from retro.surface.cli.screen import print_table

    columns = [
        Column("Memory less", right=False),
        Column("in", right=False),
        Column("is"),
        Column("95 % interval", right=False),
    ]
    cells = []
    for row in rows:
        metric, interval = row.metric, row.interval
        within = (
            "undefined too often"
            if interval is None
            else " to ".join(_metric_text(metric, end, "+") for end in interval)
        )
        cells.append(
            [
                Cell(row.against.replace("_", " ")),
                Cell(metric.replace("_", " ")),
                Cell(_metric_text(metric, row.value, "+")),
                Cell(within),
            ]
        )
    print_table(columns, cells)
