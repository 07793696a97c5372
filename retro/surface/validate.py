"""`retro validate recall`: does the memory help? It prints what it finds, also when it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from retro.surface.context import call
from retro.surface.memory import AgentName, experience_of
from retro.surface.words import instant

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["add_to"]

_PRECISION = (
    ("precision", "the best recalled"),
    ("precision_alike", "the most alike"),
    ("precision_recent", "the latest"),
)

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
    experience = experience_of()
    found = experience.validate(experience.agent(agent), instant(split, "--split"))
    if call.json:
        call.out_json(found)
        return
    call.out(f"{found['trades']} trades from {found['split_at']} on; {found['known_before']} known before")
    _print_approaches(found["approaches"])
    for one in found["differences"]:
        if one["value"] is not None and one["interval"] is not None:
            low, high = one["interval"]
            call.out(
                f"  memory - {one['against']}, {one['metric'].replace('_', ' ')}:"
                f" {one['value']:+.4g}  (95 %: {low:+.4g} to {high:+.4g})"
            )
    for name, words in _PRECISION:
        if found[name] is not None:
            call.out(f"  of five memories, {words}: {found[name]:.1%} turned out with the sign of the trade")
    call.out(found["verdict"])


def _print_approaches(rows: Sequence[dict[str, Any]]) -> None:
    from retro.deliver.blocks import Cell, Column
    from retro.surface.screen import print_table

    names = ("net_pnl", "profit_factor", "sharpe", "max_drawdown", "calmar", "mean_stake")
    columns = [Column("Sizing", right=False), *(Column(name.replace("_", " ")) for name in names)]
    cells = [
        [
            Cell(row["name"].replace("_", " "), "strong"),
            *(Cell("-" if row[name] is None else f"{row[name]:.4g}") for name in names),
        ]
        for row in rows
    ]
    print_table(columns, cells)
