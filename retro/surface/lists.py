"""`retro agents`, `positions`, `faults`: what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from retro.errors import UsageError
from retro.surface.context import call

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["add_to", "show_faults", "table"]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.command("agents")(agents)
    parent.command("positions")(positions)
    parent.command("faults")(faults)


def table(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> str:
    """Rows as aligned text; numbers to the right, an absent value as a dash."""
    from retro.safe import plain_text

    cells = [[plain_text(str("-" if row[c] is None else row[c])) for c in columns] for row in rows]
    widths = [max(len(c), *(len(line[i]) for line in cells)) for i, c in enumerate(columns)]
    numeric = [all(isinstance(row[c], int | float) or row[c] is None for row in rows) for c in columns]

    def line(values: Sequence[str]) -> str:
        parts = [v.rjust(w) if n else v.ljust(w) for v, w, n in zip(values, widths, numeric, strict=True)]
        return "  ".join(parts).rstrip()

    return "\n".join([line(columns), *map(line, cells)])


def agents() -> None:
    """List the agents and what is known of them.

    Example: retro agents --json
    """
    from retro.pipeline.queries import list_agents

    rows = list_agents(call.store, call.settings)
    if call.json:
        call.out_json(rows)
    elif not rows:
        call.say("no agents yet; start with: retro ingest journal FILE, or retro ingest freqtrade DB")
    else:
        call.out(
            table(
                rows, ["agent", "first_event", "last_event", "events", "positions", "open", "base_currency"]
            )
        )


def positions(
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="A", help="needed when there are several")
    ] = None,
    form: Annotated[str, typer.Option("--format", metavar="text|csv|json")] = "text",
) -> None:
    """List an agent's positions with what they made.

    Example: retro positions --format csv > positions.csv
    """
    from retro.pipeline.queries import list_positions

    form = "json" if call.json else form
    if form not in {"text", "csv", "json"}:
        raise UsageError("--format takes text, csv or json")
    known = call.agent(agent)
    rows = list_positions(call.store, known, call.settings(known))
    if form == "json":
        call.out_json(rows)
    elif form == "csv":
        call.out(_csv(rows))
    elif not rows:
        call.say(f"agent {known.name} has no positions yet")
    else:
        shown = [
            {**row, **{k: f"{row[k]:,.2f}" for k in ("final_pnl", "vs_inaction") if row[k] is not None}}
            for row in rows
        ]
        call.out(
            table(
                shown,
                [
                    "position_id",
                    "kind",
                    "instrument",
                    "side",
                    "entry_at",
                    "exit_at",
                    "final_pnl",
                    "vs_inaction",
                    "flags",
                ],
            )
        )


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    import csv
    import io

    from retro.safe import plain_text

    out = io.StringIO()
    if not rows:
        return ""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0].keys())
    for row in rows:
        writer.writerow([_csv_cell(plain_text(v) if isinstance(v, str) else v) for v in row.values()])
    return out.getvalue()


def _csv_cell(value: Any) -> Any:
    """A spreadsheet would run a text that starts like a formula; a quote keeps it a text."""
    return f"'{value}" if isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t", "\r"} else value


def faults() -> None:
    """List foreign rows that could not be used, and why.

    Example: retro faults --json
    """
    show_faults()


def show_faults() -> None:
    """Print the kept faults."""
    from retro.pipeline.queries import list_faults

    rows = list_faults(call.store)
    if call.json:
        call.out_json(rows)
    elif not rows:
        call.say("no faults: everything that was ingested could be used")
    else:
        for row in rows:
            place = row["where"] if row["line"] is None else f"{row['where']}:{row['line']}"
            call.out(f"{place}: {row['reason']}")
