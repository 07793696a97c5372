"""`retro playbook`: lint, format and audit PLAYBOOK.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retro.surface.cli.context import call
from retro.surface.cli.memory import AgentName, AsOf, instant_of
from retro.surface.cli.screen import print_table, show_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.questions.audit import AuditedLife, Ripeness
    from retro.evaluate.audit.bets import WeekLook

__all__ = ["add_to", "app"]

_UNITS = {"usd": "", "r": " in R", "bps": " in bps of notional"}

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
    agent: AgentName = None,
    as_of: AsOf = None,
    history: Annotated[
        bool, typer.Option("--history", help="every complete week of each, as it stood at that week's end")
    ] = False,
) -> None:
    """Audit every cited heuristic over the agent's whole life.

    Example: retro playbook audit --agent sample --json
    """
    from retro.app.questions.audit import audited, row_document

    agent_record = call.agent(agent)
    settings = call.settings(agent_record)
    life = audited(call.store, agent_record, settings, as_of=instant_of(as_of), history=history)
    if call.json:
        documents = zip(life.rows, life.weeks if history else [None] * len(life.rows), strict=True)
        call.out_json([row_document(row, weeks) for row, weeks in documents])
        return
    if not life.rows:
        call.say(
            f"agent {agent_record.name} has cited nothing, and its playbook has no rule that could have been"
        )
        return
    if history:
        _print_history(life)
    else:
        from retro.present.page.screens.lists import audit_table

        show_table(audit_table(agent_record.name, life.rows, settings.base_currency))


@app.command("ripening")
def ripening(agent: AgentName = None, as_of: AsOf = None) -> None:
    """Show when each heuristic can be judged, at the rate at which it holds something.

    Example: retro playbook ripening --agent sample
    """
    from retro.app.questions.audit import ripening as ripening_of
    from retro.app.questions.document import documents_of

    agent_record = call.agent(agent)
    rows = ripening_of(call.store, agent_record, call.settings(agent_record), as_of=instant_of(as_of))
    if call.json:
        call.out_json(documents_of(rows))
    elif not rows:
        call.say(f"agent {agent_record.name} has cited nothing that could be judged")
    else:
        _print_ripening(rows)


def _print_history(life: AuditedLife) -> None:
    from retro.figures import odds
    from retro.periods import week_name
    from retro.present.page.blocks import Cell, Column
    from retro.present.page.labels import verdict_tone
    from retro.present.page.screens.lists import short_verdict
    from retro.safe import plain_text

    columns = [
        Column("Week", right=False),
        Column("Outcomes"),
        Column("Marked"),
        Column("Against it"),
        Column("For it"),
        Column("Evidence", right=False),
        Column("Verdict", right=False),
    ]
    for row, weeks in zip(life.rows, life.weeks, strict=True):
        if not weeks:
            continue
        call.out(plain_text(f"{row.heuristic_id} ({row.role}), marked money{_UNITS[row.threshold_unit]}"))
        _print_odds(weeks)
        cells = [
            [
                Cell(week_name(week.week)),
                Cell(f"{week.n:,}"),
                Cell(f"{week.x:+,.2f}"),
                Cell(odds(week.e_against)),
                Cell(odds(week.e_for)),
                Cell(week.grade),
                Cell(short_verdict(week.kind), verdict_tone(week.kind)),
            ]
            for week in weeks
        ]
        print_table(columns, cells)


def _print_odds(weeks: Sequence[WeekLook]) -> None:
    """Both bets as lines of signs, with what they are now."""
    from retro.figures import count, odds
    from retro.present.text.drawings import LEVELS_OF_ODDS, odds_line

    bets = [(week.e_against, week.e_for) for week in weeks]
    paths = [
        (against, in_favour) for against, in_favour in bets if against is not None and in_favour is not None
    ]
    if not paths:
        return
    for side, values in zip(("against it", "for it"), zip(*paths, strict=True), strict=True):
        signs, step = odds_line(values, 52)
        call.out(f"  {side:<10} {signs}  {odds(values[-1])}")
    call.out(f"  {LEVELS_OF_ODDS}; {count(step, 'week')} a sign")


def _print_ripening(rows: Sequence[Ripeness]) -> None:
    from datetime import date

    from retro.figures import DASH, count, month_text
    from retro.present.page.blocks import Cell, Column

    columns = [
        Column("Cited", right=False, cut=18),
        Column("Role", right=False),
        Column("Weeks bet on"),
        Column("Weeks to go"),
        Column("About", right=False),
        Column("Stopped working", right=False),
    ]
    cells = []
    for row in rows:
        stopped = row.stopped_working
        alarm = "no" if stopped is not None else DASH
        if stopped is not None and stopped["alarm"]:
            alarm = f"since {stopped['since']}"
        cells.append(
            [
                Cell(row.heuristic, "strong"),
                Cell(row.role),
                Cell(f"{row.bets:,}"),
                Cell(DASH if row.weeks_to_verdict is None else f"{row.weeks_to_verdict:,}"),
                Cell(DASH if row.date is None else month_text(date.fromisoformat(row.date))),
                Cell(alarm),
            ]
        )
    note = f"Weeks to go: until 10 to 1, were its average just the threshold. {count(len(rows), 'row')}."
    print_table(columns, cells, note)
    _print_unripe(rows)


def _print_unripe(rows: Sequence[Ripeness]) -> None:
    """Why rows have no date, those of one reason together, and what would shorten the wait."""
    from retro.figures import DASH
    from retro.present.widths import wrap
    from retro.safe import plain_text

    names: dict[str, list[str]] = {}
    for row in rows:
        if row.weeks_to_verdict is None:
            why = row.reasons.get("weeks_to_verdict", "not known")
            names.setdefault(why, []).append(f"{row.heuristic} ({row.role})")
    for why, cited in names.items():
        for i, text in enumerate(wrap(plain_text(f"{why}: {', '.join(cited)}"), 76)):
            call.out(f"    {text}" if i else f"  {DASH} {text}")
    if names:
        call.out("  Citing a rule more often shortens its wait; judging in R may, too.")
