"""`retro playbook propose` and `apply`: amendments from the audit, as a diff or as data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from retro.surface.context import call

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into `retro playbook`."""
    parent.command("propose")(propose)
    parent.command("apply")(apply)


def propose(
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="A", help="needed when there are several")
    ] = None,
) -> None:
    """Show what the audit justifies changing in the playbook. Printed as a diff; nothing is changed.

    Example: retro playbook propose --agent sample > playbook.patch
    """
    import playbook
    from retro.pipeline import proposals

    known = call.agent(agent)
    book, amendments = proposals.propose(call.store, known, call.settings(known))
    if call.json:
        call.out_json([playbook.to_json(amendment) for amendment in amendments])
        return
    changed = proposals.amended_text(book, amendments)
    diff = playbook.diff(str(book), changed)
    if diff:
        call.out(diff)
    else:
        call.say("the evidence justifies no change")


def apply(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a PLAYBOOK.md")],
    proposals_file: Annotated[Path, typer.Argument(metavar="PROPOSALS.json", help="from propose --json")],
) -> None:
    """Print the playbook with proposals applied. The file stays as it is.

    Example: retro playbook apply PLAYBOOK.md proposals.json > amended.md
    """
    from retro.pipeline import proposals
    from retro.pipeline.playbook import read_playbook

    book = read_playbook(file)
    text = proposals.amended_text(book, proposals.read_proposals(proposals_file))
    call.out_bytes(text.encode("utf-8", "surrogateescape"))
