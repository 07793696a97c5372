"""`retro playbook`: lint, format and audit PLAYBOOK.md."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from retro.surface.context import call

__all__ = ["add_to", "app"]

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="PLAYBOOK.md: rules that change only with evidence."
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="a PLAYBOOK.md")]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.add_typer(app, name="playbook")


@app.command("lint")
def lint(file: File) -> None:
    """Check a playbook; faults name their line, exit 1.

    Example: retro playbook lint PLAYBOOK.md
    """
    from retro.pipeline.playbook import read_playbook

    book = read_playbook(file)
    rows = [{"where": str(file), "line": fault.line, "reason": fault.reason} for fault in book.faults]
    if call.json:
        call.out_json({"heuristics": len(book.heuristics), "faults": rows})
    else:
        for row in rows:
            call.out(f"{row['where']}:{row['line']}: {row['reason']}")
        if not rows:
            call.say(f"{file}: {len(book.heuristics)} heuristics, no faults")
    if rows:
        call.code = 1


@app.command("format")
def show(file: File) -> None:
    """Print the parsed document again, byte for byte.

    Example: retro playbook format PLAYBOOK.md | diff - PLAYBOOK.md
    """
    from retro.pipeline.playbook import read_playbook

    sys.stdout.flush()
    sys.stdout.buffer.write(bytes(read_playbook(file)))
    sys.stdout.buffer.flush()


@app.command("audit")
def audit(
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="A", help="needed when there are several")
    ] = None,
) -> None:
    """Audit every cited heuristic over the agent's whole life.

    Example: retro playbook audit --agent sample --json
    """
    from retro.pipeline.review import audit_life

    known = call.agent(agent)
    rows = audit_life(call.store, known, call.settings(known))
    if call.json:
        call.out_json([row.model_dump(mode="json") for row in rows])
        return
    from retro.deliver.text import heuristics_table

    call.out(heuristics_table(rows, known.name))
