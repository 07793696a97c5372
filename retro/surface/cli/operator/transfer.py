"""`retro export`, `import`: one agent from a database to another."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from retro.surface.cli.context import call
from retro.surface.cli.operator.agents import folders

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.command("export")(export)
    parent.command("import")(import_)


def export(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="as `retro agents` lists it")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a folder that is not there yet")],
) -> None:
    """Write an agent into a folder: facts, marks, reviews, memory, records, proposals.

    JSON Lines with a manifest of digests (docs/operating.md). No secret, no letter and no address goes out.

    Example: retro export my-agent my-agent-export
    """
    from retro.app.estate.archive import export_agent
    from retro.secret import find_secrets

    secrets = find_secrets(os.environ)
    manifest = export_agent(call.store, call.config, folders(), agent, folder, secrets)
    if call.json:
        files = {name: {"sha256": f.sha256, "lines": f.lines} for name, f in manifest.files.items()}
        call.out_json({"agent": agent, "folder": str(folder), "format": manifest.format, "files": files})
    else:
        lines = sum(file.lines for file in manifest.files.values())
        call.out(
            f"{folder}: {len(manifest.files)} files, {lines:,} lines; `retro import {folder}` takes it in"
        )


def import_(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="what `retro export` wrote")],
) -> None:
    """Take in an exported agent, all of it or nothing; an agent of that name must not be there.

    Example: retro import my-agent-export
    """
    from retro.app.estate.arrival import import_agent

    arrival = import_agent(call.store, folders(), folder)
    if call.json:
        call.out_json({"agent": arrival.agent, "rows": arrival.rows, "shared_marks": arrival.shared_marks})
    else:
        rows = sum(arrival.rows.values())
        call.out(f"{arrival.agent}: {rows:,} rows; the next knock, or whoever asks first, settles its book")
