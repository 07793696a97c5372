"""`retro export`, `import`: one agent from a database to another, or all agents as files for questions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from retro.errors import UsageError
from retro.surface.cli.context import call
from retro.surface.cli.operator.agents import folders

__all__ = ["add_to"]

_SHOWN_EACH = 1_000
"""Agents between two words of progress."""


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.command("export")(export)
    parent.command("import")(import_)


def export(
    agent: Annotated[str | None, typer.Argument(metavar="AGENT", help="as `retro agents` lists it")] = None,
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="a folder that is not there yet")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="DIR|s3://...", help="all agents as Parquet; an earlier one is brought up to date"
        ),
    ] = None,
) -> None:
    """Write an agent into a folder, or with --to all agents as Parquet, for questions to a fleet.

    An agent: facts, marks, reviews, memory, records, proposals as JSON Lines with a manifest of digests, which
    `retro import` takes in (docs/operating.md). All: facts, marks, outcomes and reviews by bucket and quarter
    (docs/fleet.md). No secret, no letter and no address goes out.

    Example: retro export my-agent my-agent-export
    """
    if to is not None:
        if agent is not None:
            raise UsageError(
                "`retro export AGENT DIR` moves one agent, `retro export --to DIR` tells of all: use one"
            )
        _export_all(to)
    elif agent is None or folder is None:
        raise UsageError("say which agent goes into which folder, or --to DIR for all agents as Parquet")
    else:
        _export_one(agent, folder)


def _export_one(agent: str, folder: Path) -> None:
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


def _export_all(to: str) -> None:
    from retro.app.estate.fleet.export import export_fleet
    from retro.secret import find_secrets

    export = export_fleet(call.store, call.settings, to, find_secrets(os.environ), _progress)
    place = to.partition("?")[0]
    if call.json:
        rows = {table: export.rows[table] for table in sorted(export.rows)}
        counts = {"files": export.files, "bytes": export.bytes}
        call.out_json(
            {"to": place, "rows": rows, **counts, "written": export.written, "removed": export.removed}
        )
    else:
        listed = ", ".join(f"{count:,} {table}" for table, count in sorted(export.rows.items()))
        call.out(
            f"{place}: {listed or 'nothing'}; {export.files:,} files, {export.written:,} written,"
            f" {export.removed:,} removed"
        )


def _progress(done: int, of: int) -> None:
    if done % _SHOWN_EACH == 0:
        call.say(f"{done:,} of {of:,} agents")


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
