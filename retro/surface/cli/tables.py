"""`retro map FILE`: a first mapping for a table nobody knows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from retro.surface.cli.context import call

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("map")(draft_map)


def draft_map(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", readable=False, help="CSV, JSON, JSON Lines, SQLite, XML or XLSX"),
    ],
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="NAME", help="of a database: the table; default: the likeliest"),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option("--zone", metavar="Europe/Paris", help="of times without one, to show rows as events"),
    ] = None,
) -> None:
    """Write a first mapping for a table, show three rows as events, and list words without a meaning.

    Example: retro map trades.csv
    """
    from retro.ingest.table.draft import draft_of, preview
    from retro.journal import quote
    from retro.safe import plain_text

    draft = draft_of(file, table)
    batch = preview(file, draft, zone, time.time_ns() // 1000)
    if call.json:
        call.out_json(
            {
                "mapping": draft.text,
                "events": [row.body for row in batch.rows],
                "faults": [{"line": fault.line, "reason": fault.reason} for fault in batch.faults],
                "words": [
                    {"column": word.column, "word": word.word, "rows": word.rows} for word in draft.words
                ],
                "unused": list(draft.unused),
                "shipped": list(draft.shipped),
            }
        )
        return
    call.out(draft.text)
    call.say("")
    if draft.shipped:
        call.say(
            f"its columns are those of {draft.shipped[0]}: {call.command('ingest', 'table', str(file))} reads it as it is"
        )
    call.say("the first three rows, as events:")
    for row in batch.rows:
        call.say(f"  {plain_text(row.body)}")
    for fault in batch.faults:
        call.say(f"  row {fault.line}: {plain_text(fault.reason)}")
    for word in draft.words:
        call.say(
            f"no meaning yet: {quote(word.word)} in {quote(word.column)} ({word.rows:,} rows); add it to its map"
        )
    if draft.unused:
        call.say(f"not used: {', '.join(map(quote, draft.unused[:20]))}")
