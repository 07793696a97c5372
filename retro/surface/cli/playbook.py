"""`retro playbook`: lint, format and audit PLAYBOOK.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retro.surface.cli.context import call
from retro.surface.cli.screen import print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.report import HeuristicReport

__all__ = ["add_to", "app"]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="PLAYBOOK.md: rules that change only with evidence.",
    epilog="Example: retro playbook lint PLAYBOOK.md",
)

File = Annotated[Path, typer.Argument(metavar="FILE", readable=False, help="a PLAYBOOK.md")]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.add_typer(app, name="playbook")


@app.command("lint")
def lint(file: File) -> None:
    """Check a playbook; faults name their line, exit 1.

    Example: retro playbook lint PLAYBOOK.md
    """
    from retro.app.proposals.files import read_playbook
    from retro.figures import count

    book = read_playbook(file)
    rows = [{"where": str(file), "line": fault.line, "reason": fault.reason} for fault in book.faults]
    if call.json:
        call.out_json({"heuristics": len(book.heuristics), "faults": rows})
    else:
        for row in rows:
            call.out(f"{row['where']}:{row['line']}: {row['reason']}")
        if not rows:
            call.say(f"{file}: {count(len(book.heuristics), 'heuristic')}, no faults")
    if rows:
        call.code = 1


@app.command("format")
def show(file: File) -> None:
    """Print the parsed document again, byte for byte.

    Example: retro playbook format PLAYBOOK.md | diff - PLAYBOOK.md
    """
    from retro.app.proposals.files import read_playbook

    call.out_bytes(bytes(read_playbook(file)))


@app.command("audit")
def audit(
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="A", help="needed when there are several")
    ] = None,
) -> None:
    """Audit every cited heuristic over the agent's whole life.

    Example: retro playbook audit --agent sample --json
    """
    from retro.app.settlement.audit import audit_life
    from retro.app.settlement.settle import settled_book

    agent_record = call.agent(agent)
    settings = call.settings(agent_record)
    with settled_book(call.store, agent_record.name, settings) as book:
        rows = audit_life(book)
    if call.json:
        call.out_json([row.model_dump(mode="json") for row in rows])
        return
    if not rows:
        call.say(
            f"agent {agent_record.name} has cited nothing, and its playbook has no rule that could have been"
        )
        return
    _print_audit(rows, settings.base_currency)


def _verdict(kind: str) -> str:
    """A verdict as short as its column, so that none is cut."""
    from retro.present.page.labels import VERDICTS

    return VERDICTS[kind].lower().replace("insufficient", "little")


def _print_audit(rows: Sequence[HeuristicReport], currency: str) -> None:
    from retro.figures import DASH, interval, money_of, percent, ratio
    from retro.present.page.blocks import Cell, Column
    from retro.present.page.labels import verdict_tone

    money = money_of(currency, [row.avg_pnl_per_citation for row in rows])
    columns = [
        Column("Cited", right=False, cut=18),
        Column("Role", right=False),
        Column("Verdict", right=False),
        Column("n"),
        Column(f"Average {currency}"),
        Column("Won", spare=1),
        Column("95 %", right=False),
        Column("q", spare=2),
        Column("Evidence", right=False),
    ]
    cells = [
        [
            Cell(row.heuristic_id, "strong"),
            Cell(row.role),
            Cell(_verdict(row.recommendation.kind), verdict_tone(row.recommendation.kind)),
            Cell(f"{row.evaluated_count:,}"),
            Cell(money.signed(row.avg_pnl_per_citation)),
            Cell(percent(row.win_rate)),
            Cell(DASH if row.interval is None else interval(*row.interval)),
            Cell(ratio(row.q_value)),
            Cell(DASH if row.recommendation.kind == "insufficient_data" else row.evidence),
        ]
        for row in rows
    ]
    print_table(
        columns,
        cells,
        "Verdict: what the thresholds say; evidence: how sure that is. An exit's average is loss avoided, or gain missed.",
    )
